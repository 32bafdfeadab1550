"""The problem behind a stored result, put together again to draw curves that it does not hold."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from pydantic import ValidationError

from codesign.designs import AXES, Designs
from codesign.errors import CodesignError, UsageError
from codesign.prediction import Prediction, predict
from codesign.records import Record
from codesign.search.problem import Problem
from codesign.spec.study import Study
from codesign.study import make_problem

DRIFT: Final = 1e-6
"""Relative difference from which a recomputed figure is not the stored one."""


@dataclass(frozen=True)
class Rebuilt:
    """A study's problem and the designs of its answer.

    Parameters
    ----------
    problem : Problem
    result : dict
    """

    problem: Problem
    result: Record

    def design(self, role: str) -> Designs:
        """Return ``best``, ``reference`` or ``throughput_best`` as a single design."""
        return _listed([self.result[role]["design"]])

    def front(self) -> Designs | None:
        """Return the designs of the front as a list."""
        rows = [entry["design"] for entry in self.result["front"]]
        return _listed(rows) if rows else None

    def dense_control(self) -> Designs:
        """Return the best design with one expert as wide as all its active ones."""
        best = self.design("best")
        width = (best.top_k + best.shared_experts) * best.expert_width
        return Designs.of(1, 1, 0, best.draft_tokens, width)

    def over_batch_sizes(self, design: Designs, sizes: tuple[int, ...]) -> Prediction:
        """Predict designs at other batch sizes."""
        return predict(design, self.problem.scenario.at(sizes))

    @cached_property
    def drift(self) -> float:
        """Largest relative difference of the best design's figures from the stored ones."""
        stored = self.result["best"]["prediction"]
        again = predict(self.design("best"), self.problem.scenario)
        names = ("sd_speedup", "step_time_verify_s", "total_params", "loss_difference")
        differences: list[float] = []
        for name in names:
            value = float(np.reshape(again.value(name), -1)[0])
            before = float(stored[name])
            differences.append(abs(value - before) / max(abs(before), 1e-12))
        return max(differences)


def _listed(rows: list[dict[str, int]]) -> Designs:
    return Designs.of(**{axis: np.array([row[axis] for row in rows]) for axis in AXES})


def rebuild(result: Record, folder: Path | None = None) -> Rebuilt | str:
    """Put the problem of a result together again.

    Returns
    -------
    Rebuilt or str
        The reason, where files of the study are no longer there or not understood.
    """
    further = [axis for axis in result["best"]["design"] if axis not in AXES]
    if further:
        return f"it searches {', '.join(further)}, and curves are drawn for one value of each only"
    try:
        return Rebuilt(make_problem(_study(result), folder), result)
    except CodesignError as error:
        return str(error)


def _study(result: Record) -> Study:
    try:
        return Study.from_data(result["study"])
    except ValidationError as error:
        raise UsageError(f"its study is not one of this version ({error.error_count()} faults)") \
            from None  # fmt: skip
