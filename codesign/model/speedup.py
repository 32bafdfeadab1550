"""From times of draft, decode and verify to speedup, latency, throughput and cost."""

from typing import Final

import numpy as np

from codesign.model.acceptance import acceptance_length
from codesign.model.arrays import ArrayLike, FloatArray

SECONDS_PER_HOUR: Final = 3600.0


def cycle_ratio(
    draft_seconds: ArrayLike,
    verify_seconds: ArrayLike,
    overhead_seconds: ArrayLike,
    decode_seconds: ArrayLike,
    draft_tokens: ArrayLike,
    error: ArrayLike = 1.0,
) -> FloatArray:
    """R = (draft + verify + overhead) / decode step; exactly 1 where K = 0, SD being off.

    All times in seconds, broadcasting; `error` is a factor that the whole prediction may be off
    by. MoESD (arXiv 2505.19645), Eq. 4.
    """
    ratio = (draft_seconds + verify_seconds + np.asarray(overhead_seconds)) / decode_seconds
    ratio = ratio * error
    return np.asarray(np.where(np.asarray(draft_tokens) == 0, 1.0, ratio))


def break_even_acceptance(ratio: ArrayLike, draft_tokens: ArrayLike) -> FloatArray:
    """Mean share of drafted tokens that must be accepted for a speedup of 1: (R - 1)/K.

    Above 1 SD never pays; 0 where K = 0.

    Examples
    --------
    One drafted token, 21 ms to decode and propose, 35 ms to verify (atlas issue 346):

    >>> round(float(break_even_acceptance(35 / 21, 1)), 3)
    0.667
    """
    drafted = np.asarray(draft_tokens, dtype=np.float64)
    excess = np.asarray(ratio) - 1.0
    return np.asarray(np.where(drafted > 0, excess / np.maximum(drafted, 1.0), 0.0))


def request_spread(
    survival: ArrayLike, draft_tokens: ArrayLike, request_tokens: float
) -> FloatArray:
    """Relative standard deviation of the cycles a request takes, by renewal theory [-].

    Parameters
    ----------
    survival : array_like, shape (..., positions)
        Probability that a draft survives to each position [-].
    draft_tokens : array_like of int
        K [token].
    request_tokens : float
        Tokens the request generates [token].

    Notes
    -----
    A cycle emits 1 + X tokens, E X = sum S_i, E X^2 = sum (2i - 1) S_i. Over n tokens the number
    of cycles has mean n/AL and variance n Var / AL^3 (Cox 1962), hence sd/mean =
    sqrt(Var / (AL n)). Positions are taken to be accepted independently from cycle to cycle.
    """
    curve = np.asarray(survival, dtype=np.float64)
    odd = 2.0 * np.arange(1, curve.shape[-1] + 1) - 1.0
    mean = acceptance_length(curve, draft_tokens)
    square = acceptance_length(curve * odd, draft_tokens) - 1.0
    variance = np.maximum(square - (mean - 1.0) ** 2, 0.0)
    return np.asarray(np.sqrt(variance / (mean * request_tokens)))


def cost_per_million_tokens(
    price_per_gpu_hour: ArrayLike, tokens_per_s_per_gpu: ArrayLike
) -> FloatArray:
    """USD per million generated tokens.

    Parameters
    ----------
    price_per_gpu_hour : array_like
        [USD/h].
    tokens_per_s_per_gpu : array_like
        [token/s].
    """
    return np.asarray(price_per_gpu_hour / SECONDS_PER_HOUR / tokens_per_s_per_gpu * 1e6)
