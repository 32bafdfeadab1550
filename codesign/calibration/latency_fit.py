"""Fit the constants of the step time to measured points: bounded, robust, in relative error."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from codesign.calibration.identifiability import NOISE, Choice, identifiable
from codesign.calibration.latency_points import LatencyPoint
from codesign.calibration.step_coordinates import Coordinates, Setting
from codesign.model.arrays import FloatArray
from codesign.replica import Replica

ROBUST: Final = 2.5
"""Residuals beyond so many standard deviations lose weight."""

ON_LIMIT: Final = 1e-3
"""Closer to a limit, in prior spreads, a constant is on it: the solver stays just inside."""

INSIDE: Final = 0.1
"""How far from a limit the search starts, in prior spreads: on it, it would not leave."""


@dataclass(frozen=True)
class ConstantsFit:
    """Fitted constants.

    Parameters
    ----------
    coordinates : Coordinates
    choice : Choice
    at : ndarray
        Coordinates of all constants; those not fitted are at their prior.
    errors : ndarray, shape (fitted,)
        Standard errors of the fitted coordinates.
    correlations : ndarray, shape (fitted, fitted)
    residuals : ndarray, shape (points,)
        Predicted over measured time, minus 1.
    left_out : ndarray, shape (points,)
        The same, under a fit without the point.
    """

    coordinates: Coordinates
    choice: Choice
    at: FloatArray
    errors: FloatArray
    correlations: FloatArray
    residuals: FloatArray
    left_out: FloatArray

    @property
    def rms(self) -> float:
        """Root mean square relative residual [-]."""
        return float(np.sqrt(np.mean(self.residuals**2)))

    @property
    def left_out_rms(self) -> float:
        """Root mean square relative error at points that the fit has not seen [-]."""
        return float(np.sqrt(np.mean(self.left_out**2)))

    @property
    def replica(self) -> Replica:
        """The replica with the fitted constants."""
        return self.coordinates.replica(self.at, self.choice.fitted)

    def value(self, position: int) -> float:
        """Return a fitted constant [SI]."""
        index = self.choice.fitted[position]
        at = float(self.at[index])
        if self.on_limit(position):
            at = min(
                (limits[index] for limits in self.coordinates.bounds()), key=lambda x: abs(x - at)
            )
        return self.coordinates.value(index, float(at))

    def standard_error(self, position: int) -> float | None:
        """Return the standard error of a fitted constant [SI]; nothing where it is on a limit."""
        constant = self.coordinates.constants[self.choice.fitted[position]]
        error = float(self.errors[position])
        if self.on_limit(position) or not np.isfinite(error):
            return None
        return error * (constant.si if constant.additive else self.value(position))

    def surprise(self, position: int) -> float:
        """How many prior spreads a fitted constant lies off its prior [-]."""
        index = self.choice.fitted[position]
        coordinates = self.coordinates
        return float(abs(self.at[index] - coordinates.start[index]) / coordinates.spread[index])

    def on_limit(self, position: int) -> bool:
        """Whether a fitted constant ended on one of its limits."""
        return bool(_on_limit(self.coordinates, self.choice.fitted, self.at)[position])


def fit_constants(setting: Setting, points: Sequence[LatencyPoint]) -> ConstantsFit:
    """Fit the constants that the points determine.

    Parameters
    ----------
    setting : Setting
    points : sequence of LatencyPoint
        Each with batch size, draft tokens and context, and a step time.

    Notes
    -----
    Bounded least squares (trust region) on predicted / measured - 1 with the soft-L1 loss, its
    scale set from the median residual. Standard errors are those of an M-estimator: the mean
    squared influence over the squared mean of its slope, times the inverse of J'J.
    """
    coordinates = Coordinates(setting, points)
    choice = identifiable(coordinates)
    at, scale = _robust(coordinates, choice.fitted)
    residuals = coordinates.residuals(at, choice.fitted)
    slopes = coordinates.jacobian(at, choice.fitted)
    free = ~_on_limit(coordinates, choice.fitted, at)
    errors, correlations = _errors(slopes, residuals, scale, free)
    moved = tuple(index for index, f in zip(choice.fitted, free, strict=True) if f)
    left_out = _leave_one_out(coordinates, choice.fitted, moved, at, slopes[:, free], scale)
    return ConstantsFit(coordinates, choice, at, errors, correlations, residuals, left_out)


def _robust(coordinates: Coordinates, fitted: tuple[int, ...]) -> tuple[FloatArray, float]:
    """Solve, estimate the scatter from the median residual, and solve again with that scale."""
    at, scale = coordinates.start, 2 * NOISE
    count = coordinates.measured.size
    for _ in range(2):
        at = _solve(coordinates, fitted, at, ROBUST * scale)
        typical = float(np.median(np.abs(coordinates.residuals(at, fitted))))
        scale = max(1.4826 * typical * np.sqrt(count / max(count - len(fitted), 1)), 1e-6)
    return at, scale


def _solve(
    coordinates: Coordinates, fitted: tuple[int, ...], start: FloatArray, width: float
) -> FloatArray:
    if not fitted:
        return start
    chosen = list(fitted)
    low, high = (limits[chosen] for limits in coordinates.bounds())
    inside = INSIDE * coordinates.spread[chosen]

    def everywhere(x: FloatArray) -> FloatArray:
        at = start.copy()
        at[chosen] = x
        return at

    def errors(x: FloatArray) -> FloatArray:
        return coordinates.residuals(everywhere(x), fitted)

    def slopes(x: FloatArray) -> FloatArray:
        return coordinates.jacobian(everywhere(x), fitted)

    found = least_squares(
        errors,
        np.clip(start[chosen], low + inside, high - inside),
        jac=slopes,
        bounds=(low, high),
        x_scale=coordinates.spread[chosen],
        loss="soft_l1",
        f_scale=width,
        xtol=1e-7,
        ftol=1e-7,
    )
    return everywhere(found.x)


def _on_limit(
    coordinates: Coordinates, fitted: tuple[int, ...], at: FloatArray
) -> NDArray[np.bool_]:
    chosen = list(fitted)
    low, high = (limits[chosen] for limits in coordinates.bounds())
    near = ON_LIMIT * coordinates.spread[chosen]
    return np.asarray((at[chosen] - low < near) | (high - at[chosen] < near))


def _errors(
    slopes: FloatArray, residuals: FloatArray, scale: float, free: NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Standard errors and correlations of an M-estimator with the soft-L1 loss.

    Those of constants on a limit are nan, and the others' are theirs with it held there.
    """
    count, fitted = slopes.shape
    errors, correlations = np.full(fitted, np.nan), np.full((fitted, fitted), np.nan)
    freedom = count - int(free.sum())
    if freedom < 1 or not free.any():
        return errors, correlations
    squared = 1 + (residuals / (ROBUST * scale)) ** 2
    influence, slope = residuals / np.sqrt(squared), squared**-1.5
    variance = float(np.sum(influence**2)) / freedom / float(np.mean(slope)) ** 2
    inverse = np.linalg.pinv(slopes[:, free].T @ slopes[:, free])
    size = np.sqrt(np.diag(inverse))
    errors[free] = np.sqrt(variance) * size
    # Not from the covariance: it vanishes where the points are met exactly.
    correlations[np.ix_(free, free)] = inverse / np.outer(size, size)
    return errors, correlations


def _leave_one_out(
    coordinates: Coordinates,
    fitted: tuple[int, ...],
    moved: tuple[int, ...],
    at: FloatArray,
    slopes: FloatArray,
    scale: float,
) -> FloatArray:
    """Error at each point of a fit that has not seen it: one Gauss-Newton step from the fit.

    Constants on a limit stay there.
    """
    residuals = coordinates.residuals(at, fitted)
    weights = 1 / np.sqrt(1 + (residuals / (ROBUST * scale)) ** 2)
    low, high = coordinates.bounds()
    left_out = residuals.copy()
    for index in range(residuals.size) if moved else ():
        kept = np.delete(np.arange(residuals.size), index)
        weighted = slopes[kept].T * weights[kept]
        step = np.linalg.pinv(weighted @ slopes[kept]) @ (weighted @ residuals[kept])
        without = at.copy()
        without[list(moved)] -= step
        without = np.clip(without, low, high)
        left_out[index] = coordinates.residuals(without, fitted)[index]
    return left_out
