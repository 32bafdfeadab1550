"""A dense decoder of a given size, for a draft of which only that is known."""

from typing import Final

import numpy as np

from codesign.errors import UsageError
from codesign.spec.architecture import Architecture, DenseFeedForward
from codesign.spec.attention import GroupedQueryAttention

FEWEST, MOST = 1e6, 1e13
HEAD_DIM: Final = 128
KV_HEADS: Final = 4
FFN_RATIO: Final = 3.5
LAYERS_AT: Final = (24.0, 0.5e9, 0.2)
"""Layers of a model of so many parameters, and the power they grow with: Qwen2-0.5B has 24,
Llama-3.1-8B 32 (here 42), Qwen2.5-72B 80 (here 65)."""


def dense_of_size(written: str, target: Architecture) -> Architecture | None:
    """Return a dense model of so many parameters with the target's vocabulary and formats.

    Parameters
    ----------
    written : str
        A number of parameters, such as ``9e9``; anything else is a name, and None is returned.
    target : Architecture
        Whose tokens it drafts.

    Raises
    ------
    UsageError
        If the number is no size of a model.
    """
    try:
        wanted = float(written)
    except ValueError:
        return None
    if not FEWEST <= wanted <= MOST:
        raise UsageError(
            f"a draft model of {written} parameters: give {FEWEST:.0e} to {MOST:.0e}, such as 9e9"
        )
    first, at, power = LAYERS_AT
    layers = max(1, round(first * (wanted / at) ** power))
    hidden = _hidden_size(wanted, layers, target.vocab_size)
    heads = max(hidden // HEAD_DIM, 1)
    shared = KV_HEADS if heads % KV_HEADS == 0 else 1
    return Architecture(
        name=f"dense model of {wanted:.3g} parameters",
        family="llama",
        source="no checkpoint: a dense decoder of the size asked for, with usual proportions",
        hidden_size=hidden,
        layers=layers,
        vocab_size=target.vocab_size,
        tied_embeddings=True,
        attention=(
            GroupedQueryAttention(layers=layers, heads=heads, kv_heads=shared, head_dim=HEAD_DIM),
        ),
        dense=(DenseFeedForward(layers=layers, width=round(FFN_RATIO * hidden)),),
        precision=target.precision,
    )


def _hidden_size(parameters: float, layers: int, vocabulary: int) -> int:
    """Solve layers (2 h² + 2 h kv + 3 (3.5 h) h) + vocabulary h = parameters, in whole heads."""
    square = layers * (2.0 + 3.0 * FFN_RATIO)
    linear = layers * 2.0 * KV_HEADS * HEAD_DIM + vocabulary
    hidden = (np.sqrt(linear**2 + 4.0 * square * parameters) - linear) / (2.0 * square)
    return max(round(float(hidden) / HEAD_DIM), 1) * HEAD_DIM
