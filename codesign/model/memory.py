"""Memory one GPU of a replica needs."""

from typing import Final

import numpy as np

from codesign.model.arrays import ArrayLike, FloatArray

WORKSPACE_BYTES: Final = 2.0**30
WORKSPACE_BYTES_PER_ACTIVATION: Final = 32.0


def workspace_bytes(tokens: ArrayLike, hidden_size: int) -> FloatArray:
    """Activations and engine workspace: 1 GiB + 32 bytes per token and hidden element [B]."""
    return np.asarray(WORKSPACE_BYTES + WORKSPACE_BYTES_PER_ACTIVATION * hidden_size * tokens)


def cache_bytes(
    sequences: ArrayLike,
    cached_tokens: ArrayLike,
    elements_per_token: float,
    state_elements: float,
    bytes_per_element: float,
) -> FloatArray:
    """Key-value cache and recurrent state on one GPU, of all layers of one kind [B].

    Parameters
    ----------
    sequences, cached_tokens : array_like
        Sequences on this GPU, tokens each keeps (a window keeps no more than itself).
    elements_per_token, state_elements : float
        On this GPU [element].
    bytes_per_element : float
        [B].
    """
    per_sequence = cached_tokens * np.asarray(elements_per_token) + state_elements
    return np.asarray(sequences * per_sequence * bytes_per_element)
