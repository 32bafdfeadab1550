"""One row of an ablation: choose its design, read its figures, take terms out."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np

from codesign.ablation.cases import Case
from codesign.ablation.mechanisms import weigh
from codesign.ablation.terms import without
from codesign.constraints import make_constraints
from codesign.designs import Designs
from codesign.errors import InfeasibleError, UsageError
from codesign.figure import find_figure
from codesign.objectives import make_objective
from codesign.prediction import Prediction, predict
from codesign.records import Record, plain
from codesign.resolve import build_scenario
from codesign.scenario import Scenario
from codesign.search.enumerate import enumerate_space
from codesign.search.problem import Problem, best_reference
from codesign.search.space import DesignSpace
from codesign.spec.ablation import Ablation, TermName
from codesign.spec.study import FURTHER_AXES, Study
from codesign.uncertainty.draws import Draws, draw_scenarios
from codesign.verdict import infeasible

MOST_DESIGNS: Final = 5_000_000
"""Largest space that a row enumerates; a larger one is fixed on some axes, or its design held."""


@dataclass(frozen=True)
class Plan:
    """What all rows have in common; it travels to worker processes.

    Parameters
    ----------
    ablation : Ablation
    folder : Path, optional
        What paths of objectives and constraints are relative to.
    held : Designs, optional
        The design of every row, where it is held.
    """

    ablation: Ablation
    folder: Path | None = None
    held: Designs | None = None


def evaluate_case(plan: Plan, case: Case) -> Record:
    """Return one row of an ablation, as plain data.

    An infeasible row has no design, and its ``status`` says why.
    """
    setting = Setting(plan, case.study)
    row: Record = {"variant": case.name, "settings": case.settings, "status": "ok"}
    nothing: Record = {"designs": None, "feasible": None, "mechanisms": [], "terms": []}
    try:
        design, compared = setting.choose()
    except InfeasibleError as error:
        status = str(error).partition("\n")[0]
        return row | {"status": status, "design": None, "figures": None} | nothing
    prediction = predict(design, setting.scenario)
    figures = {name: plain(read_figure(prediction, name)) for name in plan.ablation.figures}
    row |= {"design": design.rows()[0], "figures": figures} | nothing | compared
    if plan.ablation.terms:
        row |= weigh(plan.ablation.terms, lambda removed: setting.value_without(design, removed))
    return row


def read_figure(prediction: Prediction, name: str) -> float:
    """Return one figure of a single design, over the workload mix."""
    values = prediction.value(find_figure(Prediction, name).name)
    return float(np.reshape(values, -1)[0])


class Setting:
    """The study of one row, and the ways to find a design in it.

    Parameters
    ----------
    plan : Plan
    study : Study
    """

    def __init__(self, plan: Plan, study: Study) -> None:
        self._plan, self._study = plan, study
        self.scenario = build_scenario(study)

    @cached_property
    def _draws(self) -> Draws:
        return draw_scenarios(self._study, self.scenario)

    def choose(self) -> tuple[Designs, Record]:
        """Return the design of the row, and how many it was compared with.

        Raises
        ------
        InfeasibleError
            If no design meets every constraint.
        """
        if self._plan.held is not None:
            return self._plan.held, {}
        if self._plan.ablation.design == "reference":
            return self._reference(), {}
        return self.optimum()

    def value_without(self, design: Designs, removed: tuple[TermName, ...]) -> float:
        """Return the first figure with some terms taken out.

        The design is the row's own, unless it is optimised again without the terms.

        Raises
        ------
        UsageError
            If nothing is left that takes time.
        """
        name = self._plan.ablation.figures[0]
        if removed and self._plan.ablation.design == "reoptimise":
            design, _ = self.optimum(removed)
        with np.errstate(all="ignore"):
            number = read_figure(predict(design, without(self.scenario, removed)), name)
        if not np.isfinite(number):
            raise UsageError(
                f"ablation: without {', '.join(removed)} {name} is not a number, for nothing is "
                "left that takes time; leave one of these terms in"
            )
        return number

    def _reference(self) -> Designs:
        """The reference with its best draft length of the study's axis; it may be dense."""
        lengths = DesignSpace({"draft_tokens": self._study.space.draft_tokens}, self.scenario)
        objective = make_objective(self._study.objectives[0], self._plan.folder)
        return best_reference(lengths, objective, self._draws).designs

    def optimum(self, removed: tuple[TermName, ...] = ()) -> tuple[Designs, Record]:
        """Return the certified optimum, with some terms taken out of it and of every draw.

        Raises
        ------
        UsageError
            If the space is too large to enumerate in every row, or has axes beyond the designs'.
        InfeasibleError
            If no design meets every constraint.
        """
        for axis in FURTHER_AXES:
            if getattr(self._study.space, axis):
                raise UsageError(f"ablation: rows do not search {axis}; make it a factor instead")
        problem = self._problem(lambda scenario: without(scenario, removed))
        if problem.space.size > MOST_DESIGNS:
            raise UsageError(
                f"ablation: {problem.space.size:,} designs are too many to enumerate in every row "
                f"(at most {MOST_DESIGNS:,}); give fewer values per axis, or hold the design"
            )
        found = enumerate_space(problem, problem.objectives[:1])
        best = found.best.winner()
        if best is None:
            raise infeasible(problem, found)
        return best, {"designs": found.designs, "feasible": found.feasible}

    def _problem(self, change: Callable[[Scenario], Scenario]) -> Problem:
        study, folder = self._study, self._plan.folder
        drawn = tuple(change(scenario) for scenario in self._draws.scenarios)
        return Problem.of(
            DesignSpace.of(study.space, change(self.scenario)),
            tuple(make_objective(choice, folder) for choice in study.objectives),
            tuple(make_constraints(study.constraints, folder)),
            replace(self._draws, scenarios=drawn),
        )
