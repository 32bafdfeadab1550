"""The best design and the reference under the same draws: how sure the gain between them is."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from codesign.designs import Designs
from codesign.model.arrays import FloatArray
from codesign.records import Record
from codesign.search.problem import Problem
from codesign.uncertainty.statistics import interval


@dataclass(frozen=True)
class PairedDraws:
    """The first objective of two designs, draw by draw.

    Parameters
    ----------
    problem : Problem
    best : Designs
        A single one; the other is the problem's reference.
    """

    problem: Problem
    best: Designs

    def __len__(self) -> int:
        return len(self.problem.draws)

    @cached_property
    def _pair(self) -> tuple[FloatArray, FloatArray] | None:
        """Draws of the best and of the reference; none where the objective is certain."""
        objective = self.problem.objectives[0]
        own = self.problem.sample(self.best, (objective,)).get(objective.name)
        if own is None:
            return None
        reference = self.problem.reference.designs
        other = self.problem.home.sample(reference, (objective,))[objective.name]
        return own[:, 0], other[:, 0]

    def interval(self) -> Record | None:
        """Return the 5-95 % interval of the objective: best, reference, and gain between them."""
        if self._pair is None:
            return None
        best, reference = self._pair
        return {
            "objective": self.problem.objectives[0].name,
            "draws": len(best),
            "best": list(interval(best)),
            "reference": list(interval(reference)),
            "gain": None if (gain := self.gain()) is None else list(gain[1]),
        }

    def gain(self) -> tuple[float, tuple[float, float]] | None:
        """Return the median paired gain of the best over the reference, and its 5-95 % interval.

        None without draws, and where the reference has nothing to be a share of.
        """
        if self._pair is None or np.any(self._pair[1] == 0):
            return None
        gains = self._pair[0] / self._pair[1] - 1.0
        return float(np.median(gains)), interval(gains)
