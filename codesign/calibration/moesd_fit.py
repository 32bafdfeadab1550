"""Fit MoESD's ten-parameter form to the points that the step-time constants were fitted to."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from codesign.calibration.latency_points import LatencyPoint
from codesign.model.arrays import FloatArray
from codesign.model.moesd import MoesdParameters, cycle_seconds, target_seconds

TARGET_ONLY: Final = ("bias", "dense", "experts", "expert_tokens", "ridge_share", "growth")
ALL: Final = tuple(MoesdParameters.__slots__)
RIDGE_SHARES: Final = (0.05, 2.0)
GROWTHS: Final = (1.0 + 1e-6, 1.1)


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
    def __init__(
        self, points: Sequence[LatencyPoint], experts: int, top_k: int, ridge_tokens: float
    ) -> None:
        self.shape = (experts, top_k, ridge_tokens)
        self.measured = np.array([point.seconds for point in points])
        self.batch = np.array([point.batch_size for point in points], dtype=np.float64)
        drafted = np.array([point.draft_tokens for point in points], dtype=np.float64)
        self.cycle = np.array([point.meaning == "cycle" for point in points]) & (drafted > 0)
        self.tokens = self.batch * (drafted + 1)
        self.drafted = drafted
        self.names = ALL if self.cycle.any() else TARGET_ONLY

    def parameters(self, x: FloatArray) -> MoesdParameters:
        """Times are fitted in units of the mean measured time."""
        unit = float(self.measured.mean())
        given = dict(zip(self.names, x.tolist(), strict=True))
        plain = ("ridge_share", "growth")
        values = {n: given.get(n, 0.0) * (1.0 if n in plain else unit) for n in ALL}
        return MoesdParameters(**values)

    def residuals(self, x: FloatArray) -> FloatArray:
        parameters = self.parameters(x)
        target = target_seconds(parameters, self.tokens, *self.shape)
        cycle = cycle_seconds(parameters, self.batch, self.drafted, *self.shape)
        return np.asarray(np.where(self.cycle, cycle, target) / self.measured - 1)

    def solve(self, rows: NDArray[np.intp], start: FloatArray) -> FloatArray:
        low = [RIDGE_SHARES[0] if n == "ridge_share" else GROWTHS[0] if n == "growth" else 0.0
               for n in self.names]  # fmt: skip
        high = [RIDGE_SHARES[1] if n == "ridge_share" else GROWTHS[1] if n == "growth" else np.inf
                for n in self.names]  # fmt: skip
        found = least_squares(lambda x: self.residuals(x)[rows], start, bounds=(low, high))
        return np.asarray(found.x)


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
    count = len(points)
    if count < len(problem.names) + 2:
        return None
    typical = {"bias": 0.3, "dense": 0.1, "experts": 0.5 / experts, "expert_tokens": 0.05,
               "ridge_share": 0.5, "growth": 1.001}  # fmt: skip
    every = np.arange(count)
    starts = [np.array([typical.get(n, 0.02) for n in problem.names])]
    starts.append(np.where(np.array(problem.names) == "growth", 1.02, starts[0]))
    found = [problem.solve(every, start) for start in starts]
    best = min(found, key=lambda x: float(np.sum(problem.residuals(x) ** 2)))
    left_out = np.array(
        [problem.residuals(problem.solve(np.delete(every, i), best))[i] for i in range(count)]
    )
    return MoesdFit(
        problem.parameters(best), len(problem.names), problem.residuals(best), left_out
    )


def rows_of(parameters: MoesdParameters) -> list[list[str | float]]:
    """Name, value and unit of each number."""
    plain = ("ridge_share", "growth")
    return [
        [name, value if name in plain else value * 1e3, "-" if name in plain else "ms"]
        for name, value in zip(ALL, astuple(parameters), strict=True)
    ]
