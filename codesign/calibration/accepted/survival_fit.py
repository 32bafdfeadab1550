"""One constant rate, a rate that decays, and the nearest monotone curve."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import brentq, least_squares, nnls

from codesign.model.acceptance import acceptance_length, constant_survival, decay_survival
from codesign.model.arrays import FloatArray

SMALLEST: Final = 1e-4
_ITERATIONS: Final = 60
_FIRM: Final = 1e4
"""Weight that makes probabilities add up to 1."""


@dataclass(frozen=True)
class Rates:
    """Fitted rates with their errors.

    Parameters
    ----------
    values : ndarray
        The rate; or the first rate and its ratio [-].
    covariance : ndarray, optional
        Absent where the data cannot say.
    """

    values: FloatArray
    covariance: FloatArray | None

    @property
    def errors(self) -> FloatArray | None:
        """Standard errors."""
        return None if self.covariance is None else np.asarray(np.sqrt(np.diag(self.covariance)))


def constant_rate(survival: FloatArray, drafts: float | None, scatter: float = 1.0) -> Rates:
    """Fit one conditional rate to survival by position.

    Parameters
    ----------
    survival : ndarray, shape (positions,)
        Unconditional [-].
    drafts : float, optional
        Cycles behind it; the error is not known without.
    scatter : float
        By which intervals scatter more than independent drafts.

    Notes
    -----
    Maximum likelihood: position i is tried as often as position i-1 was accepted.
    """
    trials = np.concatenate([[1.0], survival[:-1]])
    rate = float(np.clip(survival.sum() / trials.sum(), SMALLEST, 1.0 - SMALLEST))
    if drafts is None:
        return Rates(np.array([rate]), None)
    variance = rate * (1.0 - rate) / (drafts * trials.sum()) * scatter**2
    return Rates(np.array([rate]), np.array([[variance]]))


def decaying_rate(survival: FloatArray, drafts: float | None, scatter: float = 1.0) -> Rates:
    """Fit a conditional rate first·ratio^(i-1) to two or more positions.

    Notes
    -----
    Maximum likelihood by Fisher scoring; `constant_rate` has the arguments.
    """
    trials = np.concatenate([[1.0], survival[:-1]])
    tried = trials > 0
    seen = survival[tried] / trials[tried]
    power = np.arange(survival.size, dtype=np.float64)[tried]
    values = np.array([np.clip(seen[0], SMALLEST, 1 - SMALLEST), 1.0 - 1e-3])
    for _ in range(_ITERATIONS):
        rate, slope = _decay(values, power)
        weight = trials[tried] / (rate * (1.0 - rate))
        information = slope.T @ (weight[:, None] * slope)
        step = np.linalg.lstsq(information, slope.T @ (weight * (seen - rate)), rcond=None)[0]
        values = np.clip(values + np.clip(step, -0.2, 0.2), SMALLEST, [1.0 - SMALLEST, 1.0])
    if drafts is None:
        return Rates(values, None)
    return Rates(values, np.asarray(np.linalg.pinv(information * drafts)) * scatter**2)


def _decay(values: FloatArray, power: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rates by position, and their slopes in the first rate and the ratio."""
    first, ratio = values
    rate = np.clip(first * ratio**power, SMALLEST, 1.0 - SMALLEST)
    slope = np.column_stack([ratio**power, first * power * ratio ** np.maximum(power - 1.0, 0.0)])
    return rate, slope


def monotone_survival(
    draft_tokens: FloatArray, length: FloatArray, weight: FloatArray
) -> FloatArray:
    """Non-increasing survival in [0, 1] whose acceptance lengths come nearest to measured ones.

    Parameters
    ----------
    draft_tokens, length, weight : ndarray, shape (runs,)
        K, acceptance length and weight of each run: [token], [token], [-].

    Returns
    -------
    ndarray, shape (largest K,)
        Survival by position [-].

    Notes
    -----
    Least squares over the probabilities t_j of accepting exactly j of many drafted tokens:
    AL(K) - 1 = Σ_j t_j min(j, K), t_j >= 0 and Σ t_j = 1.
    """
    count = np.arange(int(draft_tokens.max()) + 1)
    design = np.minimum(count, draft_tokens[:, None]) * np.sqrt(weight)[:, None]
    wanted = (length - 1.0) * np.sqrt(weight)
    exactly, _ = nnls(np.vstack([design, np.full(count.size, _FIRM)]), np.append(wanted, _FIRM))
    exactly = exactly / exactly.sum()
    return np.asarray(np.clip(exactly[::-1].cumsum()[::-1][1:], 0.0, 1.0))


def rates_from_lengths(draft_tokens: FloatArray, length: FloatArray) -> tuple[Rates, Rates]:
    """Fit one constant and one decaying rate to acceptance lengths at several K.

    Returns
    -------
    constant, decaying : Rates
        Errors from the scatter about the fit.
    """
    order = draft_tokens.astype(np.intp)
    most = int(order.max())

    def constant(values: FloatArray) -> FloatArray:
        curve = constant_survival(values[0], most)
        return acceptance_length(curve, order) - length

    def decaying(values: FloatArray) -> FloatArray:
        curve = decay_survival(values[0], values[1], most)
        return acceptance_length(curve, order) - length

    limits = (SMALLEST, 1.0 - SMALLEST)
    return (
        _least(constant, [0.7], ([limits[0]], [limits[1]])),
        _least(decaying, [0.75, 0.96], ([limits[0]] * 2, [limits[1], 1.0])),
    )


def _least(
    residual: Callable[[FloatArray], FloatArray],
    start: list[float],
    bounds: tuple[list[float], list[float]],
) -> Rates:
    fit = least_squares(residual, start, bounds=bounds)
    degrees = fit.fun.size - fit.x.size
    if degrees < 1:
        return Rates(np.asarray(fit.x), None)
    slope = np.asarray(fit.jac, dtype=np.float64)
    covariance = np.linalg.pinv(slope.T @ slope) * (fit.fun @ fit.fun) / degrees
    return Rates(np.asarray(fit.x), np.asarray(covariance))


def first_rate_of_length(draft_tokens: int, length: float, ratio: float) -> float:
    """First rate at which a known decay gives one measured acceptance length [-]."""

    def miss(first: float) -> float:
        curve = decay_survival(first, ratio, draft_tokens)
        return float(acceptance_length(curve, draft_tokens)) - length

    low, high = SMALLEST, 1.0 - SMALLEST
    if miss(high) <= 0:
        return high
    return low if miss(low) >= 0 else float(brentq(miss, low, high))
