"""What a design must meet: the contract of a constraint, the generic bound, and the registry.

To add one, put a file with one subclass of `Constraint` into ``constraints/``, or name its path in
the study. A limit on a figure of the prediction needs no file: write ``FIGURE<=VALUE``.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from codesign.errors import NAME, UsageError, did_you_mean, field
from codesign.figure import find_figure
from codesign.model.arrays import FloatArray
from codesign.prediction import FIGURES, Prediction
from codesign.registry import Registry, extend_with_checkout
from codesign.spec.study import DEFAULT_CONSTRAINTS, Bound, ConstraintChoice
from codesign.units import parse_quantity

__all__ = ["Assessment", "Constraint", "constraint_class", "list_constraints", "make_constraints"]


TOLERANCE: Final = 1e-9


@dataclass(frozen=True)
class Assessment:
    """How designs stand against one constraint; arrays broadcast to the designs.

    Parameters
    ----------
    value, limit, slack : ndarray
        In the constraint's unit; a design is feasible where slack >= 0.
    """

    value: FloatArray
    limit: FloatArray
    slack: FloatArray

    @property
    def violation(self) -> FloatArray:
        """Shortfall relative to the limit, at most 0 where feasible.

        A shortfall of a billionth counts as none, so that the reference, compared with itself,
        meets its own limits whatever the order of summation.
        """
        scale = np.where(self.limit != 0, np.abs(self.limit), 1.0)
        shortfall = -self.slack / scale
        return np.where(np.abs(shortfall) <= TOLERANCE, 0.0, shortfall)


class Constraint(ABC):
    """A condition on designs."""

    name: str
    unit: str

    @abstractmethod
    def assess(self, prediction: Prediction, reference: Prediction) -> Assessment:
        """Assess every design.

        Parameters
        ----------
        prediction : Prediction
            Of the designs.
        reference : Prediction
            Of the reference alone, with its own best draft length.
        """

    def explain(self, prediction: Prediction) -> str:
        """Say what it is that a single design violates, where value and limit do not tell."""
        return ""

    def natural_step(self, assessment: Assessment) -> FloatArray | None:
        """Return by how much it would be loosened to see what it costs, in its unit.

        10 % of the limit unless a constraint knows better; None where loosening means nothing.
        """
        return 0.1 * np.abs(assessment.limit)


def at_most(value: FloatArray, limit: FloatArray | float) -> Assessment:
    """Assess ``value <= limit``."""
    ceiling = np.asarray(limit, dtype=np.float64)
    return Assessment(value, ceiling, ceiling - value)


def at_least(value: FloatArray, limit: FloatArray | float) -> Assessment:
    """Assess ``value >= limit``."""
    floor = np.asarray(limit, dtype=np.float64)
    return Assessment(value, floor, value - floor)


DIMENSIONS: Final = {"s": "time", "B": "size", "parameter": "count"}
"""Figures whose limits are written with a unit."""


class _FigureBound(Constraint):
    """Limits of one figure, absolute or relative to the reference's."""

    def __init__(self, name: str, figure_name: str, bound: Bound) -> None:
        figure = find_figure(Prediction, figure_name)
        self.name, self.unit = name, figure.unit
        self._figure = figure.name
        if bound.at_least is None and bound.at_most is None:
            raise UsageError(f"constraint {name}: give at_least or at_most")
        with field("at_least"):
            self._at_least = self._limit(bound.at_least)
        with field("at_most"):
            self._at_most = self._limit(bound.at_most)

    def _limit(self, written: float | str | None) -> tuple[float, bool] | None:
        """Return the number and whether it multiplies the reference's figure."""
        if written is None:
            return None
        text = str(written).strip()
        relative = text.endswith("x")
        try:
            if self.unit in DIMENSIONS and not relative:
                return parse_quantity(written, DIMENSIONS[self.unit]), False
            number = float(text.removesuffix("x"))
        except ValueError as error:
            reason = str(error) if self.unit in DIMENSIONS and not relative else "not a number"
            raise UsageError(f"constraint {self.name}: {reason} ({text!r})") from None
        if not math.isfinite(number):
            raise UsageError(f"constraint {self.name}: must be finite ({text!r})")
        return number, relative

    def assess(self, prediction: Prediction, reference: Prediction) -> Assessment:
        value, own = prediction.value(self._figure), reference.value(self._figure)
        sides = []
        for limit, compare in ((self._at_least, at_least), (self._at_most, at_most)):
            if limit is not None:
                number, relative = limit
                sides.append(compare(value, number * own.reshape(-1)[0] if relative else number))
        if len(sides) == 1:
            return sides[0]
        lower, upper = sides
        nearer = lower.slack < upper.slack
        return Assessment(
            value,
            np.where(nearer, lower.limit, upper.limit),
            np.minimum(lower.slack, upper.slack),
        )


extend_with_checkout(__path__, "constraints")
_REGISTRY: Registry[Constraint] = Registry(Constraint, "codesign.constraints", "constraint")


def constraint_class(name: str) -> type[Constraint]:
    """Return the class of one constraint by its name.

    Raises
    ------
    UsageError
        If there is none.
    """
    return _REGISTRY.kind(name)


def list_constraints() -> list[str]:
    """Return the names of the constraints that have a file or an entry point."""
    return _REGISTRY.names()


def make_constraints(
    choices: Mapping[str, ConstraintChoice], folder: Path | None = None
) -> list[Constraint]:
    """Return the constraints of a study: the defaults, changed by its own.

    Raises
    ------
    UsageError
        If a name, an option or a limit is not understood.
    """
    made: list[Constraint] = []
    for name, choice in (DEFAULT_CONSTRAINTS | dict(choices)).items():
        if choice is not False:
            with field("constraints", name):
                made += _make(name, choice, folder)
    return made


def _make(name: str, choice: ConstraintChoice, folder: Path | None) -> list[Constraint]:
    if name.endswith(".py") or name in _REGISTRY.names():
        return _registered(name, choice, folder)
    if isinstance(choice, Bound):
        return [_FigureBound(name, name, choice)]
    if choice is True and name in DEFAULT_CONSTRAINTS:
        return _make(name, DEFAULT_CONSTRAINTS[name], folder)
    figures = _figure_names()
    if name in figures:
        for option in choice if isinstance(choice, dict) else ():
            if option not in Bound.model_fields:
                hint = did_you_mean(option, Bound.model_fields)
                with field(option, NAME):
                    raise UsageError(f"constraint {name}: unknown option {option!r}{hint}")
        raise UsageError(f"constraint {name}: give at_least or at_most, or false to remove it")
    hint = did_you_mean(name, [*_REGISTRY.names(), *figures])
    with field(NAME):
        raise UsageError(f"unknown constraint {name!r}{hint}; see 'codesign list constraints'")


def _figure_names() -> list[str]:
    return [*FIGURES, *(figure.alias for figure in FIGURES.values() if figure.alias)]


def _registered(name: str, choice: ConstraintChoice, folder: Path | None) -> list[Constraint]:
    """A constraint that has a file, and the limits set on the figure of the same name.

    Limits come on top: ``top_k<=8`` leaves what guards against a small top_k in place.
    """
    options = choice.to_data() if isinstance(choice, Bound) else choice
    options = options if isinstance(options, dict) else {}
    limits = Bound.model_fields if name in _figure_names() else ()
    sides = {side: options[side] for side in limits if side in options}
    rest = {option: value for option, value in options.items() if option not in sides}
    made = [_REGISTRY.make(name, rest, folder)]
    if sides:
        made.append(_FigureBound(f"{name}_limit", name, Bound.from_data(sides)))
    return made
