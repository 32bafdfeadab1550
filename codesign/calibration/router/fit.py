"""Router parameters from unique experts and overlaps, for many replicates at once."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from codesign.calibration.router.expected import (
    LARGEST_CORRELATION,
    LARGEST_SKEW,
    ExpectedRouting,
)
from codesign.model.arrays import FloatArray

FEWEST_SIZES_FOR_SKEW: Final = 3
"""Batch sizes 2, 4 and 8: the skew shows in how the curve of unique experts bends."""

_DECAYS: Final = np.linspace(0.02, 0.98, 49)
_STEP: Final = 1e-4
_ITERATIONS: Final = 25
_SETTLED: Final = 1e-9


@dataclass(frozen=True)
class Popularity:
    """What experts have in common for all tokens; one entry per replicate.

    Parameters
    ----------
    popularity, skew : ndarray, shape (replicates,)
        r_p and g [-].
    """

    popularity: FloatArray
    skew: FloatArray


@dataclass(frozen=True)
class Context:
    """What the tokens of a request have in common; one entry per replicate.

    Parameters
    ----------
    request, recency, decay : ndarray, shape (replicates,)
        r_c, r_a and φ [-].
    """

    request: FloatArray
    recency: FloatArray
    decay: FloatArray


def fit_popularity(
    expected: ExpectedRouting, unique: FloatArray, *, skewed: bool = True
) -> Popularity:
    """Fit r_p, and g if wanted, to unique experts of independent tokens.

    Parameters
    ----------
    expected : ExpectedRouting
    unique : ndarray, shape (replicates, sizes)
        For the numbers of tokens in `expected` [-].
    skewed : bool
        Fit g; it is 0 otherwise.

    Notes
    -----
    Least squares in relative error by damped Gauss-Newton steps in (√r_p, g).
    """
    spread = _start(expected, unique[:, 0])
    skew = np.zeros_like(spread)
    damping = np.full(spread.shape, 1e-4)
    error = _misfit(expected, spread, skew, unique)
    for _ in range(_ITERATIONS):
        slopes = [(_misfit(expected, spread + _STEP, skew, unique) - error) / _STEP]
        if skewed:
            slopes.append((_misfit(expected, spread, skew + _STEP, unique) - error) / _STEP)
        step = _damped_step(np.stack(slopes, axis=-1), error, damping)
        moved = np.clip(spread - step[:, 0], 0.0, np.sqrt(LARGEST_CORRELATION))
        bent = np.clip(skew - step[:, 1], -LARGEST_SKEW, LARGEST_SKEW) if skewed else skew
        tried = _misfit(expected, moved, bent, unique)
        better = (tried**2).sum(axis=1) <= (error**2).sum(axis=1)
        spread, skew = np.where(better, moved, spread), np.where(better, bent, skew)
        error = np.where(better[:, None], tried, error)
        damping = np.where(better, damping / 5, damping * 10)
        if np.abs(step).max() < _SETTLED:
            break
    return Popularity(spread**2, skew)


def _start(expected: ExpectedRouting, unique: FloatArray) -> FloatArray:
    """√r_p without skew from the smallest number of tokens."""
    spread = np.linspace(0.0, np.sqrt(LARGEST_CORRELATION), 60)
    curve = expected.unique(spread**2, np.zeros_like(spread))[:, 0]
    return np.asarray(np.interp(unique, curve[::-1], spread[::-1]))


def _misfit(
    expected: ExpectedRouting, spread: FloatArray, skew: FloatArray, unique: FloatArray
) -> FloatArray:
    return expected.unique(spread**2, skew) / unique - 1.0


def _damped_step(slopes: FloatArray, error: FloatArray, damping: FloatArray) -> FloatArray:
    normal = np.einsum("rbi,rbj->rij", slopes, slopes)
    size = normal.shape[-1]
    scale = np.einsum("rii->ri", normal) + 1e-12
    normal = normal + np.eye(size) * (damping[:, None] * scale)[:, None]
    gradient = np.einsum("rbi,rb->ri", slopes, error)
    return np.asarray(np.linalg.solve(normal, gradient[..., None])[..., 0])


def fit_context(
    correlation: FloatArray,
    popularity: FloatArray,
    weight: FloatArray,
    *,
    decay: float | None = None,
) -> Context:
    """Fit r(lag) = r_p + r_c + r_a·φ^(lag-1) with r_p known.

    Parameters
    ----------
    correlation : ndarray, shape (replicates, lags)
        r(lag) [-].
    popularity : ndarray, shape (replicates,)
        r_p [-].
    weight : ndarray, shape (lags,)
        Of each lag.
    decay : float, optional
        φ where it is not to be fitted [-].

    Notes
    -----
    For each φ of a grid the rest is linear; r_c and r_a are kept non-negative and the variance
    r_p + r_c + r_a/φ within 1. The best φ is refined by a parabola.
    """
    distance = np.arange(1.0, weight.size + 1)
    if decay is not None:
        constant, recency, _ = _linear(correlation, popularity, weight, decay, distance)
        return Context(constant - popularity, recency, np.full(len(popularity), decay))
    errors = np.stack(
        [_linear(correlation, popularity, weight, decay, distance)[2] for decay in _DECAYS], axis=1
    )
    best = errors.argmin(axis=1)
    fitted = _DECAYS[best] + _parabola(errors, best) * (_DECAYS[1] - _DECAYS[0])
    constant, recency, _ = _linear(correlation, popularity, weight, fitted, distance)
    return Context(constant - popularity, recency, fitted)


def _linear(
    correlation: FloatArray,
    popularity: FloatArray,
    weight: FloatArray,
    decay: FloatArray | float,
    distance: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Best constant and recency at given decays, and the weighted squared error."""
    shape = np.broadcast_to(decay, popularity.shape)[:, None] ** (distance - 1.0)
    ones, slope, square = weight.sum(), shape @ weight, shape**2 @ weight
    total, moment = correlation @ weight, (correlation * shape) @ weight
    determinant = np.maximum(ones * square - slope**2, 1e-12)
    recency = np.maximum((ones * moment - slope * total) / determinant, 0.0)
    constant = (total - recency * slope) / ones
    low = constant < popularity
    constant = np.where(low, popularity, np.minimum(constant, LARGEST_CORRELATION))
    recency = np.where(low, np.maximum((moment - constant * slope) / square, 0.0), recency)
    recency = np.minimum(recency, decay * (1.0 - constant))
    residual = correlation - constant[:, None] - recency[:, None] * shape
    return constant, recency, residual**2 @ weight


def _parabola(errors: FloatArray, best: NDArray[np.intp]) -> FloatArray:
    """Offset of the lowest point from the best node, in steps."""
    inner = np.clip(best, 1, errors.shape[1] - 2)
    row = np.arange(len(errors))
    before, here, after = (errors[row, inner + offset] for offset in (-1, 0, 1))
    curvature = before - 2.0 * here + after
    offset = np.where(curvature > 0, (before - after) / np.maximum(2.0 * curvature, 1e-300), 0.0)
    return np.where(best == inner, np.clip(offset, -0.5, 0.5), 0.0)
