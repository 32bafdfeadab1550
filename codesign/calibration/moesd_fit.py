"""Fit MoESD's ten-parameter form to the points that the step-time constants were fitted to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize, nnls

from codesign.calibration.latency_points import LatencyPoint
from codesign.model.arrays import FloatArray
from codesign.model.moesd import MoesdParameters, cycle_seconds, target_seconds

LINEAR: Final = (
    "bias", "dense", "experts", "expert_tokens",
    "draft_bias", "draft_load", "reject_bias", "reject_sequence",
)  # fmt: skip
TARGET_TERMS: Final = 4
"""The first of them, which a pass of the target alone has."""

RIDGE_SHARES: Final = (0.01, 4.0)
GROWTHS_BEYOND_ONE: Final = (1e-6, 0.2)
SHARE_GRID: Final = (0.03, 0.1, 0.3, 1.0)
GROWTH_GRID: Final = (1.0003, 1.001, 1.003, 1.01, 1.03)
EVALUATIONS: Final = 120


@dataclass(frozen=True)
class MoesdFit:
    """MoESD's form, fitted.

    Parameters
    ----------
    parameters : MoesdParameters
    fitted : int
        How many of the ten the points have anything to say about.
    residuals : ndarray, shape (points,)
        Predicted over measured time, minus 1.
    left_out : ndarray, shape (points,)
        The same, under a fit without the point.
    """

    parameters: MoesdParameters
    fitted: int
    residuals: FloatArray
    left_out: FloatArray


class _Problem:
    """Points, and the form as a linear one for every ridge share and growth."""

    def __init__(
        self, points: Sequence[LatencyPoint], experts: int, top_k: int, ridge_tokens: float
    ) -> None:
        self.shape = (experts, top_k, ridge_tokens)
        self.measured = np.array([point.seconds for point in points])
        self.batch = np.array([point.batch_size for point in points], dtype=np.float64)
        self.drafted = np.array([point.draft_tokens for point in points], dtype=np.float64)
        self.cycle = np.array([point.meaning == "cycle" for point in points]) & (self.drafted > 0)
        self.linear = LINEAR if self.cycle.any() else LINEAR[:TARGET_TERMS]

    def seconds(self, parameters: MoesdParameters) -> FloatArray:
        """Time of every point: a cycle, or a pass of the target alone."""
        target = target_seconds(parameters, self.batch * (self.drafted + 1), *self.shape)
        cycle = cycle_seconds(parameters, self.batch, self.drafted, *self.shape)
        return np.asarray(np.where(self.cycle, cycle, target))

    def terms(self, ridge_share: float, growth: float) -> FloatArray:
        """Share of every point's time that one second of each linear number makes."""
        nothing = dict.fromkeys(LINEAR, 0.0) | {"ridge_share": ridge_share, "growth": growth}
        columns = [self.seconds(MoesdParameters(**(nothing | {n: 1.0}))) for n in self.linear]
        return np.asarray(np.stack(columns, axis=1) / self.measured[:, None])

    def solve(self, rows: NDArray[np.intp], shape: tuple[float, float]) -> tuple[float, FloatArray]:
        """Best non-negative linear numbers for some points, and their squared error."""
        terms = self.terms(*shape)[rows]
        size = np.linalg.norm(terms, axis=0)
        found, error = nnls(terms / size, np.ones(rows.size), maxiter=100 * size.size)
        return float(error) ** 2, np.asarray(found / size)

    def fit(
        self, rows: NDArray[np.intp], start: tuple[float, float] | None = None
    ) -> MoesdParameters:
        """Search ridge share and growth, first on a grid; the rest follows from them."""
        if start is None:
            grid = [(share, growth) for share in SHARE_GRID for growth in GROWTH_GRID]
            start = min(grid, key=lambda shape: self.solve(rows, shape)[0])

        def error(x: FloatArray) -> float:
            return self.solve(rows, _shape(x))[0]

        first = np.log([start[0], start[1] - 1.0])
        found = minimize(error, first, method="Nelder-Mead", options={"maxfev": EVALUATIONS})
        shape = _shape(np.asarray(found.x))
        values = dict.fromkeys(LINEAR, 0.0)
        values |= dict(zip(self.linear, self.solve(rows, shape)[1].tolist(), strict=True))
        return MoesdParameters(**values, ridge_share=shape[0], growth=shape[1])


def _shape(x: FloatArray) -> tuple[float, float]:
    """Ridge share and growth from their logarithms (of growth - 1), within limits."""
    share = float(np.clip(np.exp(x[0]), *RIDGE_SHARES))
    return share, 1.0 + float(np.clip(np.exp(x[1]), *GROWTHS_BEYOND_ONE))


def fit_moesd(
    points: Sequence[LatencyPoint], experts: int, top_k: int, ridge_tokens: float
) -> MoesdFit | None:
    """Fit the form; nothing where there are not two points more than parameters.

    Parameters
    ----------
    points : sequence of LatencyPoint
        Each with batch size and draft tokens.
    experts, top_k : int
        N and k [-].
    ridge_tokens : float
        Ridge point of the device: peak FLOP/s over peak B/s [token].
    """
    problem = _Problem(points, experts, top_k, ridge_tokens)
    numbers, count = len(problem.linear) + 2, len(points)
    if count < numbers + 2:
        return None
    every = np.arange(count)
    best = problem.fit(every)
    residuals = problem.seconds(best) / problem.measured - 1
    left_out = np.empty(count)
    for index in range(count):
        without = problem.fit(np.delete(every, index), (best.ridge_share, best.growth))
        left_out[index] = problem.seconds(without)[index] / problem.measured[index] - 1
    return MoesdFit(best, numbers, residuals, left_out)


def rows_of(parameters: MoesdParameters) -> list[list[str | float]]:
    """Name, value and unit of each number."""
    rows: list[list[str | float]] = [
        [name, float(getattr(parameters, name)) * 1e3, "ms"] for name in LINEAR
    ]
    return [*rows, *([name, getattr(parameters, name), "-"] for name in ("ridge_share", "growth"))]
