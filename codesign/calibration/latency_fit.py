"""Fit the constants of the step time to measured points, in relative error.

The forward pass and the draft are called, not copied: time is a sum in which each constant has a
term of its own, and the term of one is what a replica costs on which everything else is free.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from codesign.calibration.latency_points import LatencyPoint
from codesign.calibration.step_constants import Constant, constants_of, free_of_charge
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


class Terms:
    """The time of points as a sum of one term per constant.

    Parameters
    ----------
    setting : Setting
    points : sequence of LatencyPoint
        With batch size, draft tokens and context.
    """

    def __init__(self, setting: Setting, points: Sequence[LatencyPoint]) -> None:
        self.setting = setting
        self.constants = constants_of(setting.replica)
        self.measured = np.array([point.seconds for point in points])
        free = free_of_charge(setting.replica)
        # One unit of an additive constant, whose prior may be zero, else the prior.
        self._reference = np.array([c.si if c.additive else c.prior for c in self.constants])
        self.shares: FloatArray = np.stack(
            [
                setting.seconds(points, constant.put(free, at))
                for constant, at in zip(self.constants, self._reference, strict=True)
            ],
            axis=1,
        ) / self.measured[:, None]  # fmt: skip

    @cached_property
    def start(self) -> FloatArray:
        """Coordinates of the priors: logarithm of value / prior, or the value in its unit."""
        return np.array([c.prior / c.si if c.additive else 0.0 for c in self.constants])

    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """Coordinates of the limits."""
        low = [c.low / c.si if c.additive else np.log(c.low / c.prior) for c in self.constants]
        high = [c.high / c.si if c.additive else np.log(c.high / c.prior) for c in self.constants]
        return np.array(low), np.array(high)

    def spread(self) -> FloatArray:
        """Standard deviation of each coordinate before the fit."""
        return np.array([c.spread / c.si if c.additive else c.spread for c in self.constants])

    def factors(self, at: FloatArray) -> FloatArray:
        """What multiplies each term."""
        return np.array(
            [
                x if c.additive else np.exp(-x if c.rate else x)
                for c, x in zip(self.constants, at, strict=True)
            ]
        )

    def residuals(self, at: FloatArray) -> FloatArray:
        """Predicted over measured time, minus 1."""
        return np.asarray(self.shares @ self.factors(at) - 1.0)

    def jacobian(self, at: FloatArray) -> FloatArray:
        """Derivatives of the residuals, shape (points, constants)."""
        slope = np.array(
            [
                1.0 if c.additive else (-1.0 if c.rate else 1.0) * factor
                for c, factor in zip(self.constants, self.factors(at), strict=True)
            ]
        )
        return np.asarray(self.shares * slope)

    def value(self, index: int, at: float) -> float:
        """Return a constant's value [SI]."""
        constant = self.constants[index]
        return at * constant.si if constant.additive else constant.prior * float(np.exp(at))


@dataclass(frozen=True)
class Choice:
    """Which constants a set of points can tell, and why not the others."""

    fitted: tuple[int, ...]
    reasons: dict[int, str]


def identifiable(terms: Terms) -> Choice:
    """Choose the constants that the points determine, by how much they move the points.

    Pivoted elimination on the Jacobian scaled by prior spreads: the constant with the largest
    effect that those already chosen cannot imitate comes next, as long as all chosen ones keep an
    expected standard error below `INFORMATIVE` of their spread and correlations below `ALIKE`.
    Decided before the fit from loads and priors alone, so the choice does not follow the noise.
    """
    scaled = terms.jacobian(terms.start) * terms.spread() / NOISE
    most = max(1, terms.measured.size // POINTS_PER_CONSTANT)
    chosen: list[int] = []
    reasons: dict[int, str] = {}
    for _ in range(scaled.shape[1]):
        left = [j for j in range(scaled.shape[1]) if j not in chosen and j not in reasons]
        if not left:
            break
        effects = {j: float(np.linalg.norm(_beyond(scaled, chosen, j))) for j in left}
        best = max(left, key=lambda j: effects[j])
        reason = _refusal(terms, scaled, chosen, best, most)
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
    terms: Terms, scaled: FloatArray, chosen: list[int], candidate: int, most: int
) -> str | None:
    """Why a candidate cannot be fitted beside the chosen ones, nothing if it can."""
    alone = float(np.linalg.norm(scaled[:, candidate]))
    if alone == 0:
        return "costs no time at these points"
    if alone < 1 / INFORMATIVE:
        return f"moves these points by {_percent(alone * NOISE / np.sqrt(len(scaled)))} at most"
    if len(chosen) >= most:
        return f"{len(scaled)} points determine {most} constants at most"
    names = [terms.constants[j].name for j in chosen]
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
    terms : Terms
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
    at_limit : tuple of int
        Constants that ended on a limit, whose error is therefore unknown.
    """

    terms: Terms
    choice: Choice
    at: FloatArray
    errors: FloatArray
    correlations: FloatArray
    residuals: FloatArray
    left_out: FloatArray
    at_limit: tuple[int, ...]

    @property
    def rms(self) -> float:
        """Root mean square relative residual [-]."""
        return float(np.sqrt(np.mean(self.residuals**2)))

    @property
    def left_out_rms(self) -> float:
        """Root mean square relative error of points that the fit has not seen [-]."""
        return float(np.sqrt(np.mean(self.left_out**2)))

    def replica(self) -> Replica:
        """Return the replica with the fitted constants."""
        replica = self.terms.setting.replica
        for index in self.choice.fitted:
            value = self.terms.value(index, float(self.at[index]))
            replica = self.terms.constants[index].put(replica, value)
        return replica

    def standard_error(self, position: int) -> float | None:
        """Standard error of a fitted constant [SI]; nothing where it ended on a limit."""
        index = self.choice.fitted[position]
        if index in self.at_limit or not np.isfinite(self.errors[position]):
            return None
        constant, error = self.terms.constants[index], float(self.errors[position])
        if constant.additive:
            return error * constant.si
        return error * self.terms.value(index, float(self.at[index]))


def fit_constants(setting: Setting, points: Sequence[LatencyPoint]) -> ConstantsFit:
    """Fit the constants that the points determine.

    Parameters
    ----------
    setting : Setting
    points : sequence of LatencyPoint
        Each with batch size, draft tokens and context, and a step time.

    Notes
    -----
    Bounded least squares (trust region) on predicted / measured - 1 with the soft-L1 loss. Standard
    errors are those of an M-estimator: the mean of the squared influence over the squared mean of
    its slope, times the inverse of J'J.
    """
    terms = Terms(setting, points)
    choice = identifiable(terms)
    fitted = list(choice.fitted)
    every = np.arange(terms.measured.size)
    at, scale = _robust(terms, fitted, every, terms.start)
    residuals = terms.residuals(at)
    errors, correlations = _errors(terms, fitted, at, residuals, scale)
    return ConstantsFit(
        terms, choice, at, errors, correlations, residuals,
        _leave_one_out(terms, fitted, at, scale), _at_limit(terms, fitted, at),
    )  # fmt: skip


def _robust(
    terms: Terms, fitted: list[int], rows: NDArray[np.intp], start: FloatArray
) -> tuple[FloatArray, float]:
    """Solve, estimate the scatter from the median residual, and solve again with that scale."""
    at, scale = start, 2 * NOISE
    for _ in range(3):
        at = _solve(terms, fitted, rows, at, ROBUST * scale)
        residuals = terms.residuals(at)[rows]
        freedom = max(rows.size - len(fitted), 1)
        scale = 1.4826 * float(np.median(np.abs(residuals))) * np.sqrt(rows.size / freedom)
        scale = max(scale, 1e-6)
    return at, scale


def _solve(
    terms: Terms, fitted: list[int], rows: NDArray[np.intp], start: FloatArray, width: float
) -> FloatArray:
    if not fitted:
        return start
    low, high = terms.bounds()

    def full(x: FloatArray) -> FloatArray:
        at = start.copy()
        at[fitted] = x
        return at

    first = np.clip(start[fitted], low[fitted] + 1e-9, high[fitted] - 1e-9)
    found = least_squares(
        lambda x: terms.residuals(full(x))[rows],
        first,
        jac=lambda x: terms.jacobian(full(x))[np.ix_(rows, fitted)],
        bounds=(low[fitted], high[fitted]),
        x_scale=terms.spread()[fitted],
        loss="soft_l1",
        f_scale=width,
    )
    return full(found.x)


def _errors(
    terms: Terms, fitted: list[int], at: FloatArray, residuals: FloatArray, scale: float
) -> tuple[FloatArray, FloatArray]:
    """Standard errors and correlations of an M-estimator with the soft-L1 loss."""
    if not fitted:
        return np.zeros(0), np.zeros((0, 0))
    squared = 1 + (residuals / (ROBUST * scale)) ** 2
    influence, slope = residuals / np.sqrt(squared), squared**-1.5
    freedom = residuals.size - len(fitted)
    jacobian = terms.jacobian(at)[:, fitted]
    if freedom < 1:
        return np.full(len(fitted), np.nan), np.eye(len(fitted))
    variance = float(np.sum(influence**2)) / freedom / float(np.mean(slope)) ** 2
    covariance = variance * np.linalg.pinv(jacobian.T @ jacobian)
    errors = np.sqrt(np.diag(covariance))
    return errors, np.asarray(covariance / np.outer(errors, errors))


def _leave_one_out(
    terms: Terms, fitted: list[int], at: FloatArray, scale: float
) -> FloatArray:
    """Error at each point of a fit that has not seen it."""
    count = terms.measured.size
    left_out = np.empty(count)
    for index in range(count):
        rows = np.delete(np.arange(count), index)
        without = _solve(terms, fitted, rows, at, ROBUST * scale) if rows.size else terms.start
        left_out[index] = terms.residuals(without)[index]
    return left_out


def _at_limit(terms: Terms, fitted: list[int], at: FloatArray) -> tuple[int, ...]:
    low, high = terms.bounds()
    return tuple(j for j in fitted if at[j] - low[j] < 1e-6 or high[j] - at[j] < 1e-6)


def with_noise(
    setting: Setting, points: Sequence[LatencyPoint], replica: Replica, noise: FloatArray
) -> list[LatencyPoint]:
    """Return points timed as the model predicts on a replica, times 1 + noise: synthetic data."""
    seconds = setting.seconds(points, replica) * (1 + noise)
    return [replace(p, seconds=float(t)) for p, t in zip(points, seconds, strict=True)]
