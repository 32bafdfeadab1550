"""How many tokens one draft-verify cycle yields.

AL(K) = 1 + sum_{i<=K} prod_{j<=i} a_j, with a_j the conditional rate at which position j is
accepted; the 1 is the bonus token of the target.
"""

import numpy as np

from codesign.model.arrays import ArrayLike, FloatArray


def constant_survival(rate: ArrayLike, positions: int) -> FloatArray:
    """Survival rate^i of positions 1...`positions`, on a new last axis [-] (Leviathan 2023)."""
    index = np.arange(1, positions + 1)
    return np.asarray(np.asarray(rate, dtype=np.float64)[..., None] ** index)


def decay_survival(first: ArrayLike, ratio: ArrayLike, positions: int) -> FloatArray:
    """Survival where the conditional rate is first * ratio^(i-1), on a new last axis [-].

    Notes
    -----
    docs/accuracy.md sets it beside one constant rate on measured curves, draft lengths left out.
    """
    index = np.arange(positions)
    rates = np.asarray(first)[..., None] * np.asarray(ratio)[..., None] ** index
    return np.asarray(np.cumprod(rates, axis=-1))


def measured_survival(survival: ArrayLike, positions: int) -> FloatArray:
    """Measured survival per position, carried on with its last conditional rate.

    Parameters
    ----------
    survival : array_like, shape (..., measured)
        Unconditional and non-increasing [-].
    positions : int
        Positions wanted.
    """
    known = np.asarray(survival, dtype=np.float64)
    before = known[..., -2] if known.shape[-1] > 1 else np.ones(known.shape[:-1])
    last = np.divide(known[..., -1], before, out=np.zeros_like(before), where=before > 0)
    beyond = np.arange(1, max(positions - known.shape[-1], 0) + 1)
    carried = known[..., -1:] * last[..., None] ** beyond
    return np.concatenate([known, carried], axis=-1)[..., :positions]


def acceptance_length(survival: ArrayLike, draft_tokens: ArrayLike) -> FloatArray:
    """Tokens per cycle, bonus token included.

    Parameters
    ----------
    survival : array_like, shape (..., positions)
        Of each position [-].
    draft_tokens : array_like of int
        K, at most `positions` [token].

    Returns
    -------
    ndarray
        Leading axes of `survival`, then those of `draft_tokens` [token].

    Examples
    --------
    >>> curve = decay_survival(0.7645, 0.965, 8)
    >>> acceptance_length(curve, np.array([0, 1, 3, 8])).round(3)
    array([1.   , 1.764, 2.73 , 3.421])
    """
    curve = np.asarray(survival, dtype=np.float64)
    table = np.concatenate([np.ones((*curve.shape[:-1], 1)), curve], axis=-1).cumsum(axis=-1)
    return np.asarray(table[..., np.asarray(draft_tokens, dtype=np.intp)])
