"""Parameter counts that a design changes: functions of arrays that broadcast.

Counts are exact while they stay below 2**53, whether the arrays hold integers or floats.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


def expert_parameters(
    input_width: ArrayLike,
    expert_width: ArrayLike,
    matrices: ArrayLike = 3,
    bias: ArrayLike = 0,
) -> NDArray[Any]:
    """Parameters of one expert, or of one dense feed-forward layer.

    Parameters
    ----------
    input_width, expert_width : array_like
        Width of its input and output, and of its intermediate activation [element].
    matrices : array_like
        3 with a gate (gate, up, down), 2 without (up, down).
    bias : array_like
        1 where every projection has a bias, 0 where none has.

    Returns
    -------
    ndarray
        Parameters [element].

    Examples
    --------
    One expert of gpt-oss (2880 x 2880, with biases):

    >>> int(expert_parameters(2880, 2880, bias=1))
    24891840
    """
    inputs, widths, count = np.asarray(input_width), np.asarray(expert_width), np.asarray(matrices)
    biases = np.asarray(bias) * ((count - 1) * widths + inputs)
    result: NDArray[Any] = np.asarray(count * inputs * widths + biases)
    return result


def routed_parameters(
    moe_layers: ArrayLike,
    experts: ArrayLike,
    input_width: ArrayLike,
    expert_width: ArrayLike,
    matrices: ArrayLike = 3,
    bias: ArrayLike = 0,
) -> NDArray[Any]:
    """Parameters of all routed experts of all MoE layers [element].

    Parameters
    ----------
    moe_layers, experts : array_like
        MoE layers, and routed experts per layer.
    input_width, expert_width, matrices, bias : array_like
        As in `expert_parameters`; `input_width` is the latent width where the model has one.

    Examples
    --------
    Mixtral-8x7B:

    >>> int(routed_parameters(32, 8, 4096, 14336))
    45097156608
    """
    one = expert_parameters(input_width, expert_width, matrices, bias)
    result: NDArray[Any] = np.asarray(np.asarray(moe_layers) * np.asarray(experts) * one)
    return result


def shared_parameters(
    moe_layers: ArrayLike,
    shared_experts: ArrayLike,
    hidden_size: ArrayLike,
    shared_width: ArrayLike,
    matrices: ArrayLike = 3,
    bias: ArrayLike = 0,
) -> NDArray[Any]:
    """Parameters of all shared experts of all MoE layers, without their gates [element].

    Parameters
    ----------
    moe_layers, shared_experts : array_like
        MoE layers, and shared experts per layer.
    hidden_size, shared_width : array_like
        Model width, and intermediate width of one shared expert [element].
    matrices, bias : array_like
        As in `expert_parameters`.
    """
    return routed_parameters(moe_layers, shared_experts, hidden_size, shared_width, matrices, bias)


def router_parameters(
    moe_layers: ArrayLike,
    experts: ArrayLike,
    hidden_size: ArrayLike,
    bias: ArrayLike = 0,
    shared_gate: ArrayLike = 0,
) -> NDArray[Any]:
    """Parameters of the routers and of the gates of shared experts [element].

    Parameters
    ----------
    moe_layers, experts, hidden_size : array_like
        MoE layers, routed experts per layer, model width.
    bias : array_like
        1 where a router has one trained bias per expert; buffers do not count.
    shared_gate : array_like
        1 where a sigmoid gate of one output scales the shared experts.
    """
    inputs, count = np.asarray(hidden_size), np.asarray(experts)
    one = (inputs + np.asarray(bias)) * count + np.asarray(shared_gate) * inputs
    result: NDArray[Any] = np.asarray(np.asarray(moe_layers) * one)
    return result


def active_parameters(
    total: ArrayLike, routed: ArrayLike, experts: ArrayLike, top_k: ArrayLike
) -> NDArray[Any]:
    """Parameters that one token passes through, both embeddings included [element].

    Parameters
    ----------
    total, routed : array_like
        All parameters, and those of the routed experts [element].
    experts, top_k : array_like
        Routed experts per layer, and experts per token.

    Notes
    -----
    total - routed (1 - k/N); `routed` is a multiple of N, so the result is exact.

    Examples
    --------
    Mixtral-8x7B:

    >>> int(active_parameters(46702792704, 45097156608, 8, 2))
    12879925248
    """
    count = np.asarray(experts)
    idle = np.asarray(routed) // count * (count - np.asarray(top_k))
    result: NDArray[Any] = np.asarray(np.asarray(total) - idle)
    return result
