"""Components of one forward pass of B sequences with q tokens each, on one GPU of a replica.

Every function returns the `Cost` of all layers of one component. Tokens are those one GPU sees.
"""

from typing import Final

import numpy as np

from codesign.model.arrays import ArrayLike, FloatArray
from codesign.model.roofline import Cost, Kernel, kernel_cost

ACTIVATION_BYTES: Final = 2.0
"""Activations travel in bf16."""

NARROW_EXPONENT: Final = 1.5
"""One for all kernels, see decision 4."""


def narrow_expert_efficiency(width: ArrayLike, narrow_width: ArrayLike) -> FloatArray:
    """Share of the routed kernel's bandwidth that experts of one width per GPU reach.

    Parameters
    ----------
    width : array_like
        Intermediate width of one expert on one GPU [element].
    narrow_width : array_like
        Width that reaches half of it: 48 for H100 vLLM bf16 [element].

    Returns
    -------
    ndarray
        In (0, 1], 1 / (1 + (narrow_width / width)^1.5) [-].

    Notes
    -----
    The documented .84 .75 .58 of peak bandwidth at widths 384, 192 and 96 (Qwen3-30B-A3B over TP 2,
    4, 8 on H100) hold their launch floor too. Below .63 narrow_width the time of an expert rises
    as it gets narrower.

    Examples
    --------
    >>> narrow_expert_efficiency(np.array([768, 384, 192, 96]), 48.0).round(2)
    array([0.98, 0.96, 0.89, 0.74])
    """
    ratio = np.asarray(narrow_width) / np.asarray(width, dtype=np.float64)
    return np.asarray(1 / (1 + ratio**NARROW_EXPONENT))


def routed_experts(
    kernel: Kernel,
    layers: int,
    unique_experts: ArrayLike,
    token_slots: ArrayLike,
    expert_parameters: ArrayLike,
    bytes_per_weight: float,
    width: ArrayLike,
) -> Cost:
    """Fused routed experts of all MoE layers.

    Parameters
    ----------
    kernel : Kernel
    layers : int
        MoE layers.
    unique_experts, token_slots : array_like
        Experts loaded by, and token-expert pairs computed on, the busiest GPU, per layer [-].
    expert_parameters : array_like
        Weights of one expert on one GPU [element].
    bytes_per_weight : float
        [B].
    width : array_like
        Intermediate width of one expert on one GPU [element].
    """
    traffic = unique_experts * (expert_parameters * bytes_per_weight * layers)
    flop = token_slots * (2.0 * layers * expert_parameters)
    if layers == 0:
        return kernel_cost(kernel, 0, 0.0, 0.0)
    narrow = narrow_expert_efficiency(width, kernel.narrow_width)
    return kernel_cost(kernel, layers, traffic / narrow, flop)


def dense_gemm(
    kernel: Kernel,
    launches: ArrayLike,
    tokens: ArrayLike,
    parameters: ArrayLike,
    bytes_per_weight: float,
    activations: ArrayLike,
) -> Cost:
    """Dense matrix products, of all layers of one component together.

    Parameters
    ----------
    kernel : Kernel
    launches : array_like
        Kernels launched [-].
    tokens : array_like
        Tokens in the pass [token].
    parameters, activations : array_like
        Weights, and elements read and written per token, of all the launches [element].
    bytes_per_weight : float
        [B].
    """
    traffic = parameters * bytes_per_weight + tokens * (activations * ACTIVATION_BYTES)
    return kernel_cost(kernel, launches, traffic, tokens * (2.0 * parameters))


def attention_core(
    kernel: Kernel,
    layers: int,
    sequences: ArrayLike,
    tokens_per_sequence: ArrayLike,
    context: ArrayLike,
    cache_bytes_per_token: float,
    flop_per_cached_token: float,
    state_bytes_per_sequence: float = 0.0,
) -> Cost:
    """Scores and weighted sums against the cache, of all layers of one kind.

    The cache of a sequence is read **once** for all the tokens it verifies: that is why
    verification at long contexts is cheap.

    Parameters
    ----------
    kernel : Kernel
    layers : int
        Layers of this kind.
    sequences, tokens_per_sequence : array_like
        B and q.
    context : array_like
        Cached tokens that one query sees [token].
    cache_bytes_per_token, state_bytes_per_sequence : float
        Of one layer, on one GPU [B]; the recurrent state is read and written.
    flop_per_cached_token : float
        Of one layer and query token, on one GPU [FLOP].
    """
    cached = sequences * context
    traffic = layers * (cached * cache_bytes_per_token + 2.0 * sequences * state_bytes_per_sequence)
    flop = cached * tokens_per_sequence * (layers * flop_per_cached_token)
    return kernel_cost(kernel, layers, traffic, flop)


def elementwise(kernel: Kernel, launches: int, tokens: ArrayLike, hidden_size: int) -> Cost:
    """Norms, rotary embedding, activations and the like: mostly launch floors.

    Each launch reads and writes the hidden state and the residual.
    """
    traffic = launches * tokens * (4.0 * hidden_size * ACTIVATION_BYTES)
    return kernel_cost(kernel, launches, traffic, 0.0)
