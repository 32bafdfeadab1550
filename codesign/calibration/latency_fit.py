"""Fit the constants of the step time to measured points, in relative error.

The forward pass and the draft are called, not copied; slopes come from calling them again with one
constant a little larger.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from codesign.calibration.latency_points import LatencyPoint
from codesign.calibration.step_constants import constants_of
from codesign.designs import Designs
from codesign.draft_model import Drafting
from codesign.forward_pass import ForwardPass
from codesign.model.arrays import FloatArray
from codesign.model.roofline import total_seconds
from codesign.model.routing import RouterParameters
from codesign.replica import Replica
from codesign.spec.architecture import Architecture

NOISE: Final = 0.02
"""Relative scatter of step times that is expected before any is seen."""

INFORMATIVE: Final = 0.5
"""A constant is fitted if its expected standard error is below this share of its prior spread."""

ALIKE: Final = 0.95
"""Two constants whose expected errors correlate more are not told apart."""

ROBUST: Final = 2.5
"""Residuals beyond so many standard deviations lose weight."""

POINTS_PER_CONSTANT: Final = 2

INSIDE: Final = 0.1
"""How far from a limit the search starts, in prior spreads: on it, it would not leave."""

DIFFERENCE: Final = 1e-6
"""Step of a coordinate, for slopes."""


@dataclass(frozen=True)
class Setting:
    """What the points were measured on.

    Parameters
    ----------
    model : Architecture
    replica : Replica
        With the constants before the fit.
    router : RouterParameters
    drafting : Drafting
        What was run to draft.
    """

    model: Architecture
    replica: Replica
    router: RouterParameters
    drafting: Drafting

    def seconds(self, points: Sequence[LatencyPoint], replica: Replica) -> FloatArray:
        """Return the time of each point on a replica, as the model predicts it [s]."""
        total = np.zeros(len(points))
        for context in sorted({_context(point) for point in points}):
            rows = [i for i, point in enumerate(points) if _context(point) == context]
            total[rows] = self._at_context([points[i] for i in rows], replica, context)
        return total

    def _at_context(
        self, points: Sequence[LatencyPoint], replica: Replica, context: int
    ) -> FloatArray:
        batch = np.array([point.batch_size for point in points], dtype=np.float64)
        drafted = np.array([point.draft_tokens for point in points], dtype=np.float64)
        cycle = np.array([point.meaning == "cycle" for point in points]) & (drafted > 0)
        kernels_only = np.array([point.meaning == "target pass" for point in points])
        designs = Designs.of_architecture(self.model, drafted)
        forward = ForwardPass(
            self.model, designs, replica, self.router, batch, drafted + 1, context
        )
        target = np.broadcast_to(total_seconds(forward.costs()), batch.shape)
        draft = self.drafting.seconds(designs, replica, self.router, batch, context)
        target = target - np.where(kernels_only, replica.host_time, 0.0)
        return np.asarray(target + np.where(cycle, draft + replica.sd_overhead, 0.0))


def _context(point: LatencyPoint) -> int:
    return round(point.context or 0.0)


class Coordinates:
    """Measured points, and their predicted times as a function of the constants' coordinates.

    A coordinate is the logarithm of value / prior, or the value in its unit where it may be zero.

    Parameters
    ----------
    setting : Setting
    points : sequence of LatencyPoint
        With batch size, draft tokens and context.
    """

    def __init__(self, setting: Setting, points: Sequence[LatencyPoint]) -> None:
        self.setting = setting
        self.points = tuple(points)
        self.constants = constants_of(setting.replica)
        self.measured = np.array([point.seconds for point in points])
        self.start = np.array([c.prior / c.si if c.additive else 0.0 for c in self.constants])
        self.spread = np.array(
            [c.spread / c.si if c.additive else c.spread for c in self.constants]
        )

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Coordinates of the limits."""
        low = [c.low / c.si if c.additive else np.log(c.low / c.prior) for c in self.constants]
        high = [c.high / c.si if c.additive else np.log(c.high / c.prior) for c in self.constants]
        return np.array(low), np.array(high)

    def value(self, index: int, at: float) -> float:
        """Return a constant's value [SI]."""
        constant = self.constants[index]
        return at * constant.si if constant.additive else constant.prior * float(np.exp(at))

    def replica(self, at: FloatArray, indices: Sequence[int]) -> Replica:
        """Return the replica with some constants set, the others at their prior."""
        replica = self.setting.replica
        for index in indices:
            value = self.value(index, float(at[index]))
            replica = self.constants[index].put(replica, value)
        return replica

    def residuals(self, at: FloatArray, indices: Sequence[int]) -> FloatArray:
        """Predicted over measured time, minus 1."""
        seconds = self.setting.seconds(self.points, self.replica(at, indices))
        return seconds / self.measured - 1.0

    def jacobian(self, at: FloatArray, indices: Sequence[int]) -> FloatArray:
        """Derivatives of the residuals by some coordinates, shape (points, indices)."""
        here = self.residuals(at, indices)
        columns = []
        for index in indices:
            moved = at.copy()
            moved[index] += DIFFERENCE
            columns.append((self.residuals(moved, indices) - here) / DIFFERENCE)
        return np.stack(columns, axis=1) if columns else np.zeros((here.size, 0))


@dataclass(frozen=True)
class Choice:
    """Which constants a set of points can tell, and why not the others."""

    fitted: tuple[int, ...]
    reasons: dict[int, str]


def identifiable(coordinates: Coordinates) -> Choice:
    """Choose the constants that the points determine, by how much they move the points.

    Pivoted elimination on the Jacobian scaled by prior spreads: the constant with the largest
    effect that those already chosen cannot imitate comes next, as long as all chosen ones keep an
    expected standard error below `INFORMATIVE` of their spread and correlations below `ALIKE`.
    Decided before the fit from loads and priors alone, so the choice does not follow the noise.
    """
    every = range(len(coordinates.constants))
    # Relative to predicted, not to measured times: the noise must have no say.
    predicted = 1 + coordinates.residuals(coordinates.start, every)
    slopes = coordinates.jacobian(coordinates.start, every) / predicted[:, None]
    scaled = slopes * coordinates.spread / NOISE
    most = max(1, coordinates.measured.size // POINTS_PER_CONSTANT)
    chosen: list[int] = []
    reasons: dict[int, str] = {}
    for _ in range(scaled.shape[1]):
        left = [j for j in range(scaled.shape[1]) if j not in chosen and j not in reasons]
        if not left:
            break
        effects = {j: float(np.linalg.norm(_beyond(scaled, chosen, j))) for j in left}
        best = max(left, key=lambda j: effects[j])
        reason = _refusal(coordinates, scaled, chosen, best, most)
        if reason is None:
            chosen.append(best)
        else:
            reasons[best] = reason
    return Choice(tuple(sorted(chosen)), reasons)


def _beyond(scaled: FloatArray, chosen: list[int], candidate: int) -> FloatArray:
    """A column less what the chosen ones can imitate."""
    column = scaled[:, candidate]
    if not chosen:
        return column
    basis, _ = np.linalg.qr(scaled[:, chosen])
    return np.asarray(column - basis @ (basis.T @ column))


def _refusal(
    coordinates: Coordinates, scaled: FloatArray, chosen: list[int], candidate: int, most: int
) -> str | None:
    """Why a candidate cannot be fitted beside the chosen ones, nothing if it can."""
    alone = float(np.linalg.norm(scaled[:, candidate]))
    if alone == 0:
        return "costs no time at these points"
    if alone < 1 / INFORMATIVE:
        return f"moves these points by {_percent(alone * NOISE / np.sqrt(len(scaled)))} at most"
    if len(chosen) >= most:
        return f"{len(scaled)} points determine {most} constants at most"
    names = [coordinates.constants[j].name for j in chosen]
    errors, correlations = _expected(scaled[:, [*chosen, candidate]])
    if errors is None or errors.max() > INFORMATIVE:
        twin = int(np.argmax(np.abs(correlations[-1, :-1]))) if chosen else 0
        return f"cannot be told from {names[twin]} by these points"
    nearest = int(np.argmax(np.abs(correlations[-1, :-1]))) if chosen else 0
    if chosen and abs(correlations[-1, nearest]) > ALIKE:
        return f"cannot be told from {names[nearest]} (correlation {correlations[-1, nearest]:.2f})"
    return None


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 else "less than 0.1%"


def _expected(scaled: FloatArray) -> tuple[FloatArray | None, FloatArray]:
    """Expected standard errors in prior spreads, and correlations; none where singular."""
    information = scaled.T @ scaled
    size = np.sqrt(np.diag(information))
    cosines = information / np.outer(size, size)
    if np.linalg.cond(cosines) > 1e12:
        return None, cosines
    covariance = np.linalg.inv(information)
    errors = np.sqrt(np.diag(covariance))
    return errors, np.asarray(covariance / np.outer(errors, errors))


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
        return self.coordinates.value(index, float(self.at[index]))

    def standard_error(self, position: int) -> float | None:
        """Return the standard error of a fitted constant [SI]; nothing where it is on a limit."""
        constant = self.coordinates.constants[self.choice.fitted[position]]
        error = float(self.errors[position])
        if self.on_limit(position) or not np.isfinite(error):
            return None
        return error * (constant.si if constant.additive else self.value(position))

    def on_limit(self, position: int) -> bool:
        """Whether a fitted constant ended on one of its limits."""
        index = self.choice.fitted[position]
        low, high = self.coordinates.bounds()
        return bool(self.at[index] - low[index] < 1e-6 or high[index] - self.at[index] < 1e-6)


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
    errors, correlations = _errors(slopes, residuals, scale)
    left_out = _leave_one_out(coordinates, choice.fitted, at, slopes, residuals, scale)
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

    found = least_squares(
        lambda x: coordinates.residuals(everywhere(x), fitted),
        np.clip(start[chosen], low + inside, high - inside),
        jac=lambda x: coordinates.jacobian(everywhere(x), fitted),
        bounds=(low, high),
        x_scale=coordinates.spread[chosen],
        loss="soft_l1",
        f_scale=width,
        xtol=1e-7,
        ftol=1e-7,
    )
    return everywhere(found.x)


def _errors(
    slopes: FloatArray, residuals: FloatArray, scale: float
) -> tuple[FloatArray, FloatArray]:
    """Standard errors and correlations of an M-estimator with the soft-L1 loss."""
    count, fitted = slopes.shape
    if count <= fitted or not fitted:
        return np.full(fitted, np.nan), np.eye(fitted)
    squared = 1 + (residuals / (ROBUST * scale)) ** 2
    influence, slope = residuals / np.sqrt(squared), squared**-1.5
    variance = float(np.sum(influence**2)) / (count - fitted) / float(np.mean(slope)) ** 2
    covariance = variance * np.linalg.pinv(slopes.T @ slopes)
    errors = np.sqrt(np.diag(covariance))
    return errors, np.asarray(covariance / np.outer(errors, errors))


def _leave_one_out(
    coordinates: Coordinates,
    fitted: tuple[int, ...],
    at: FloatArray,
    slopes: FloatArray,
    residuals: FloatArray,
    scale: float,
) -> FloatArray:
    """Error at each point of a fit that has not seen it: one Gauss-Newton step from the fit."""
    weights = 1 / np.sqrt(1 + (residuals / (ROBUST * scale)) ** 2)
    low, high = coordinates.bounds()
    left_out = np.empty(residuals.size)
    for index in range(residuals.size):
        kept = np.delete(np.arange(residuals.size), index)
        weighted = slopes[kept].T * weights[kept]
        step = np.linalg.pinv(weighted @ slopes[kept]) @ (weighted @ residuals[kept])
        without = at.copy()
        without[list(fitted)] -= step
        without = np.clip(without, low, high)
        left_out[index] = coordinates.residuals(without, fitted)[index]
    return left_out


def predicted_points(
    setting: Setting, points: Sequence[LatencyPoint], replica: Replica
) -> list[LatencyPoint]:
    """Return points timed as the model predicts on a replica."""
    seconds = setting.seconds(points, replica)
    return [replace(p, seconds=float(t)) for p, t in zip(points, seconds, strict=True)]
