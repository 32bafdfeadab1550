"""The problem both engines solve: objectives and constraints of designs, in one evaluation."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from codesign.constraints import Assessment, Constraint
from codesign.designs import Designs
from codesign.errors import CodesignError, UsageError
from codesign.model.arrays import FloatArray
from codesign.objectives import Objective
from codesign.prediction import Prediction, Scenario, predict
from codesign.search.space import DesignSpace

TIE = 1e-9
"""Relative difference of objectives below which fewer draft tokens decide."""


@dataclass(frozen=True)
class Evaluation:
    """Objectives and constraints of designs; arrays broadcast to the designs' shape.

    Parameters
    ----------
    prediction : Prediction
    objectives : dict of str to ndarray
    assessments : dict of str to Assessment
    """

    prediction: Prediction
    objectives: dict[str, FloatArray]
    assessments: dict[str, Assessment]

    @property
    def designs(self) -> Designs:
        """The designs evaluated."""
        return self.prediction.designs

    @cached_property
    def violations(self) -> dict[str, NDArray[np.bool_]]:
        """Where each constraint is violated."""
        return {name: each.violation > 0 for name, each in self.assessments.items()}

    @cached_property
    def violated(self) -> NDArray[np.int8]:
        """How many constraints each design violates."""
        total = np.zeros((1,) * len(self.designs.shape), dtype=np.int8)
        for mask in sorted(self.violations.values(), key=np.size):
            total = total + mask
        return np.broadcast_to(total, self.designs.shape)


@dataclass(frozen=True)
class Problem:
    """One search problem.

    Parameters
    ----------
    space : DesignSpace
    objectives : tuple of Objective
        The first one decides.
    constraints : tuple of Constraint
    reference : Prediction
        The reference with its own best draft length.
    """

    space: DesignSpace
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    reference: Prediction

    @classmethod
    def of(
        cls,
        space: DesignSpace,
        objectives: tuple[Objective, ...],
        constraints: tuple[Constraint, ...],
    ) -> Self:
        """Put a problem together, with the reference's best draft length by the first objective."""
        reference = best_reference(space, objectives[0])
        return cls(space, objectives, constraints, reference)

    @property
    def scenario(self) -> Scenario:
        """What is held fixed."""
        return self.space.scenario

    def evaluate(self, designs: Designs) -> Evaluation:
        """Evaluate any number of designs.

        Raises
        ------
        UsageError
            If an objective or constraint of the user's own fails or returns nonsense.
        """
        prediction = predict(designs, self.scenario)
        objectives = {
            each.name: _checked(each.name, designs, partial(each.evaluate, prediction))
            for each in self.objectives
        }
        assessments = {each.name: self._assess(each, prediction) for each in self.constraints}
        return Evaluation(prediction, objectives, assessments)

    def _assess(self, constraint: Constraint, prediction: Prediction) -> Assessment:
        found: list[Assessment] = []

        def slack() -> FloatArray:
            found.append(constraint.assess(prediction, self.reference))
            return found[0].slack

        _checked(constraint.name, prediction.designs, slack)
        return found[0]


def merit(objective: Objective, values: FloatArray) -> FloatArray:
    """Return an objective so that larger is better."""
    return values if objective.direction == "maximize" else -values


def best_reference(space: DesignSpace, objective: Objective) -> Prediction:
    """Return the reference with its best draft length on the space's own axis."""
    scenario = space.scenario
    lengths = np.array(space.axes["draft_tokens"], dtype=np.float64)
    every = Designs.of_architecture(scenario.reference, lengths)
    values = np.broadcast_to(objective.evaluate(predict(every, scenario)), every.shape)
    scores = merit(objective, values)
    best = int(np.flatnonzero(scores >= scores.max() - TIE * abs(scores.max()))[0])
    return predict(every.take(best), scenario)


def _checked(name: str, designs: Designs, compute: Callable[[], FloatArray]) -> FloatArray:
    """Run an extension; its faults are the user's to mend, by name."""
    try:
        values = np.asarray(compute(), dtype=np.float64)
        np.broadcast_shapes(values.shape, designs.shape)
    except CodesignError:
        raise
    except Exception as error:
        raise UsageError(f"{name}: {type(error).__name__}: {error}") from error
    if np.any(np.isnan(values) & (designs.top_k <= designs.experts)):
        raise UsageError(f"{name}: returned NaN for some designs")
    return values
