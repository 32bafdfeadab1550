"""Measured step times, and what the model predicts for them as a function of its constants.

The forward pass and the draft are called, not copied; slopes come from calling them again with one
constant a little larger.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

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
        return np.asarray(seconds / self.measured - 1.0)

    def jacobian(self, at: FloatArray, indices: Sequence[int]) -> FloatArray:
        """Derivatives of the residuals by some coordinates, shape (points, indices)."""
        here = self.residuals(at, indices)
        columns = []
        for index in indices:
            moved = at.copy()
            moved[index] += DIFFERENCE
            columns.append((self.residuals(moved, indices) - here) / DIFFERENCE)
        return np.stack(columns, axis=1) if columns else np.zeros((here.size, 0))


def predicted_points(
    setting: Setting, points: Sequence[LatencyPoint], replica: Replica
) -> list[LatencyPoint]:
    """Return points timed as the model predicts on a replica."""
    seconds = setting.seconds(points, replica)
    return [replace(p, seconds=float(t)) for p, t in zip(points, seconds, strict=True)]
