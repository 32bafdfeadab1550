"""The problem both engines solve: objectives and constraints of designs, in one evaluation."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from codesign.constraints import Assessment, Constraint
from codesign.designs import Designs
from codesign.errors import UsageError
from codesign.model.arrays import FloatArray
from codesign.objectives import Objective
from codesign.prediction import Prediction, predict
from codesign.registry import contained
from codesign.scenario import Scenario
from codesign.search.space import DesignSpace
from codesign.uncertainty.draws import NO_DRAWS, Draws
from codesign.uncertainty.statistics import statistic

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
    draws : Draws
        Joint draws of what is uncertain; none: the values in use are all there is.
    settings : mapping
        Values of further axes of the study, where it searches what no design can change.
    own : Problem, optional
        The problem at the study's own settings, in which the reference is judged; absent where
        this is it.
    """

    space: DesignSpace
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    reference: Prediction
    draws: Draws = NO_DRAWS
    settings: Mapping[str, int | str] = field(default_factory=dict)
    own: Self | None = None

    @classmethod
    def of(
        cls,
        space: DesignSpace,
        objectives: tuple[Objective, ...],
        constraints: tuple[Constraint, ...],
        draws: Draws = NO_DRAWS,
    ) -> Self:
        """Put a problem together, with the reference's best draft length by the first objective.

        Raises
        ------
        UsageError
            If two objectives, or two constraints, have one name.
        """
        for kind, names in (
            ("objectives", [each.name for each in objectives]),
            ("constraints", [each.name for each in constraints]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise UsageError(f"two {kind} are named {twice[0]!r}; one of them must go")
        reference = best_reference(space, objectives[0], draws)
        return cls(space, objectives, constraints, reference, draws)

    @property
    def home(self) -> Self:
        """The problem in which the reference is judged."""
        return self.own or self

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
        objectives = {each.name: objective_values(each, prediction) for each in self.objectives}
        assessments = {each.name: self._assess(each, prediction) for each in self.constraints}
        return Evaluation(prediction, objectives, assessments)

    def sample(
        self, designs: Designs, objectives: tuple[Objective, ...] | None = None
    ) -> dict[str, FloatArray]:
        """Draw the objectives of a list of designs.

        Returns
        -------
        dict of str to ndarray, shape (draws, designs)
            Of every objective that is uncertain; empty without draws.
        """
        return sample_objectives(designs, objectives or self.objectives, self.draws)

    def objective_values(self, evaluation: Evaluation) -> dict[str, FloatArray]:
        """Return every objective's statistic over the draws, of a list of designs."""
        shape = evaluation.designs.shape
        samples = self.sample(evaluation.designs)
        return {
            each.name: np.broadcast_to(
                expected(each, evaluation.objectives[each.name], samples), shape
            )
            for each in self.objectives
        }

    def _assess(self, constraint: Constraint, prediction: Prediction) -> Assessment:
        name, designs = constraint.name, prediction.designs
        found = contained(name, partial(constraint.assess, prediction, self.reference))
        if not isinstance(found, Assessment):
            raise UsageError(f"{name}: returned {type(found).__name__}, not an Assessment")
        parts = (found.value, found.limit, found.slack)
        return Assessment(*(_numbers(name, designs, part) for part in parts))


def objective_values(objective: Objective, prediction: Prediction) -> FloatArray:
    """Return an objective at the values in use; its faults are the user's to mend, by name.

    Raises
    ------
    UsageError
        If it fails, or returns no finite number per design.
    """
    returned = contained(objective.name, partial(objective.evaluate, prediction))
    return _numbers(objective.name, prediction.designs, returned)


def natural_step(
    constraint: Constraint, assessment: Assessment, designs: Designs
) -> FloatArray | None:
    """Return by how much a constraint is loosened to see what it costs; none: not at all.

    Raises
    ------
    UsageError
        As `objective_values`.
    """
    step = contained(constraint.name, partial(constraint.natural_step, assessment))
    return None if step is None else _numbers(constraint.name, designs, step)


def merit(objective: Objective, values: FloatArray) -> FloatArray:
    """Return an objective so that larger is better."""
    return values if objective.direction == "maximize" else -values


def improvement(score: float, over: float) -> float | None:
    """Return by what share one merit is better than another; none over a merit of zero."""
    return (score - over) / abs(over) if over else None


def sample_objectives(
    designs: Designs, objectives: tuple[Objective, ...], draws: Draws
) -> dict[str, FloatArray]:
    """Draw objectives of designs; every draw is shared by all designs (common random numbers)."""
    uncertain = [each for each in objectives if not each.certain]
    if len(draws) == 0 or not uncertain:
        return {}
    samples = {each.name: np.empty((len(draws), *designs.shape)) for each in uncertain}
    for row, scenario in enumerate(draws.scenarios):
        prediction = predict(designs, scenario)
        for each in uncertain:
            samples[each.name][row] = objective_values(each, prediction)
    return samples


def expected(
    objective: Objective, nominal: FloatArray, samples: dict[str, FloatArray]
) -> FloatArray:
    """Return an objective's statistic over its draws, or its value in use where there are none."""
    if objective.name not in samples:
        return nominal
    larger = objective.direction == "maximize"
    return statistic(objective.statistic, samples[objective.name], larger_is_better=larger)


def best_reference(space: DesignSpace, objective: Objective, draws: Draws = NO_DRAWS) -> Prediction:
    """Return the reference with its best draft length on the space's own axis."""
    scenario = space.scenario
    lengths = np.array(space.axes["draft_tokens"], dtype=np.float64)
    every = Designs.of_architecture(scenario.reference, lengths)
    nominal = np.broadcast_to(objective_values(objective, predict(every, scenario)), every.shape)
    scores = merit(
        objective, expected(objective, nominal, sample_objectives(every, (objective,), draws))
    )
    best = int(np.flatnonzero(scores >= scores.max() - TIE * abs(scores.max()))[0])
    return predict(every.take(best), scenario)


def _numbers(name: str, designs: Designs, returned: object) -> FloatArray:
    """Return what an extension gave as an array, if it is a finite number for every design."""
    try:
        if isinstance(returned, np.ma.MaskedArray):  # what is masked is no number
            returned = returned.filled(np.nan)
        given = np.asarray(returned)
        if given.dtype.kind not in "biuf":
            raise TypeError(f"{type(returned).__name__} of {given.dtype} is none")
        values = given.astype(np.float64)
        np.broadcast_to(values, designs.shape)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{name}: returned no number per design, as Prediction.value does; {error}"
        ) from None
    if not np.all(np.isfinite(values) | (designs.top_k > designs.experts)):
        raise UsageError(f"{name}: returned NaN or infinity for some designs")
    return values
