"""What a search improves: the contract of an objective, and their registry.

To add one, put a file with one subclass of `Objective` into ``objectives/``, or name its path in
the study. A figure of the prediction needs no file: name it.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Literal, get_args

from codesign.errors import UsageError, did_you_mean
from codesign.figure import find_figure
from codesign.model.arrays import FloatArray
from codesign.prediction import FIGURES, Prediction
from codesign.registry import Registry, extend_with_checkout
from codesign.scenario import Scenario
from codesign.spec.study import ObjectiveChoice

__all__ = ["Objective", "list_objectives", "make_objective", "objective_class"]

Direction = Literal["maximize", "minimize"]


class Objective(ABC):
    """One number per design, to be made large or small.

    Attributes
    ----------
    name, direction, unit : str
    statistic : str
        What is taken of the objective over the draws; the study says which.
    certain : bool
        The objective does not depend on what is drawn.
    """

    name: str
    direction: Direction
    unit: str
    statistic: str = "mean"
    certain: bool = False

    @abstractmethod
    def evaluate(self, prediction: Prediction) -> FloatArray:
        """Return the objective of every design.

        Parameters
        ----------
        prediction : Prediction

        Returns
        -------
        ndarray
            Broadcasts to ``prediction.designs.shape``.
        """

    def bound(self, draft_tokens: FloatArray, scenario: Scenario) -> float | None:
        """Return what no design of a scenario can beat, if the objective knows such a number.

        It gives the answer of a search that did not evaluate every design a certified gap.

        Parameters
        ----------
        draft_tokens : ndarray
            The draft lengths that are searched [token].
        scenario : Scenario
        """
        return None


class _FigureObjective(Objective):
    """A figure of the prediction, averaged over the workload mix."""

    def __init__(self, name: str, direction: Direction | None) -> None:
        figure = find_figure(Prediction, name)
        better = direction or figure.better
        if better is None:
            raise UsageError(
                f"objective {name}: say in which direction, {name}:minimize or {name}:maximize"
            )
        self.name, self.direction, self.unit = name, better, figure.unit
        self._figure = figure.name
        self.certain = figure.certain

    def evaluate(self, prediction: Prediction) -> FloatArray:
        return prediction.value(self._figure)


extend_with_checkout(__path__, "objectives")
_REGISTRY: Registry[Objective] = Registry(Objective, "codesign.objectives", "objective")


def objective_class(name: str) -> type[Objective]:
    """Return the class of one objective by its name.

    Raises
    ------
    UsageError
        If there is none.
    """
    return _REGISTRY.kind(name)


def list_objectives() -> list[str]:
    """Return the names of the objectives that have a file or an entry point."""
    return _REGISTRY.names()


def make_objective(choice: ObjectiveChoice, folder: Path | None = None) -> Objective:
    """Return the objective a study names: a registered one, a file, or a figure.

    Raises
    ------
    UsageError
        If there is none of that name, or its direction cannot be told.
    """
    objective = _make(choice, folder)
    objective.statistic = choice.statistic
    return objective


def _make(choice: ObjectiveChoice, folder: Path | None) -> Objective:
    name = choice.name
    if name.endswith(".py") or name in _REGISTRY.names():
        objective = _REGISTRY.make(name, choice.options, folder)
        if objective.direction not in get_args(Direction):
            raise UsageError(f"objective {name}: direction is maximize or minimize, not "
                             f"{objective.direction!r}")  # fmt: skip
        if choice.direction not in (None, objective.direction):
            raise UsageError(f"objective {name} can only be {objective.direction}d")
        return objective
    aliases = [figure.alias for figure in FIGURES.values() if figure.alias]
    if name not in FIGURES and name not in aliases:
        hint = did_you_mean(name, [*_REGISTRY.names(), *FIGURES, *aliases])
        raise UsageError(f"unknown objective {name!r}{hint}; see 'codesign list objectives'")
    if choice.options:
        raise UsageError(f"objective {name}: a figure has no options; it takes direction and "
                         f"statistic, not {', '.join(choice.options)}")  # fmt: skip
    return _FigureObjective(name, choice.direction)
