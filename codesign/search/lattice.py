"""The space as a sampler or a local search sees it: one position on every axis.

Positions are free of each other, so that the joint space has fixed ranges; every combination is a
design.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from codesign.designs import Designs
from codesign.search.variants import Setting, Variants

if TYPE_CHECKING:
    import optuna

Place = tuple[int, ...]
"""A position on every axis."""

Row = tuple[int, ...]
"""A variant, and the values of a design in the order of the space's axes."""


@dataclass(frozen=True)
class Lattice:
    """Positions and the designs they stand for.

    Parameters
    ----------
    variants : Variants

    Notes
    -----
    A range of `top_k` that ended at N would depend on another variable and drop out of a sampler's
    joint model; penalising top_k > experts would waste trials. Instead the position on the axis of
    `top_k` counts the values that the design's N allows, stretched over the whole axis: the
    identity wherever N is at least the largest `top_k`.
    """

    variants: Variants

    @cached_property
    def axes(self) -> dict[str, tuple[Setting, ...]]:
        """Values by axis: those of designs first, without values of N that allow no `top_k`."""
        own = dict(self.variants.own.space.axes)
        own["experts"] = tuple(value for value in own["experts"] if value >= own["top_k"][0])
        return {**own, **self.variants.axes}

    @cached_property
    def shape(self) -> Place:
        """Number of positions on every axis."""
        return tuple(map(len, self.axes.values()))

    def row(self, place: Place) -> Row:
        """Return the design at a position."""
        inner = len(self.variants.own.space.axes)
        values = [axis[at] for axis, at in zip(self.axes.values(), place[:inner], strict=False)]
        names = list(self.variants.own.space.axes)
        top_k = self.axes["top_k"]
        allowed = sum(value <= values[names.index("experts")] for value in top_k)  # type: ignore[operator]
        at = place[names.index("top_k")]
        values[names.index("top_k")] = top_k[at * allowed // len(top_k)]
        further = dict(zip(self.variants.axes, place[inner:], strict=True))
        return (self.variants.index(further), *map(int, values))

    def designs(self, rows: Iterable[Row]) -> Designs:
        """Return designs of one variant as a list."""
        rows = list(rows)
        space = self.variants.problem(rows[0][0]).space
        columns = np.array([row[1:] for row in rows], dtype=np.float64).T
        return space.designs(**dict(zip(space.axes, columns, strict=True)))

    def shown(self, row: Row) -> dict[str, Setting]:
        """Return a design as people read it."""
        [design] = self.designs([row]).rows()
        return {**design, **self.variants.settings(row[0])}

    def suggest(self, trial: "optuna.Trial") -> Place:
        """Ask a trial for a position; ordered axes are integers, not categories."""
        return tuple(self._suggest(trial, axis, values) for axis, values in self.axes.items())

    def place(self, parameters: dict[str, Setting]) -> Place:
        """Return the position that a trial's parameters mean."""
        return tuple(
            0 if len(values) == 1
            else values.index(parameters[axis]) if isinstance(values[0], str)
            else int(parameters[axis])
            for axis, values in self.axes.items()
        )  # fmt: skip

    @staticmethod
    def _suggest(trial: "optuna.Trial", axis: str, values: tuple[Setting, ...]) -> int:
        if len(values) == 1:
            return 0
        if isinstance(values[0], str):
            return values.index(trial.suggest_categorical(axis, values))
        return trial.suggest_int(axis, 0, len(values) - 1)
