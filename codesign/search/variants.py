"""What a design cannot change but a study may search: hidden size, layers, degrees, draft.

The model is vectorised over the designs of one scenario. Further axes give one scenario for each of
their combinations, an outer product around the mesh of designs.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import prod

from codesign.search.problem import Problem

Setting = int | str
Settings = dict[str, Setting]

KEPT = 64
"""Problems kept in memory; others are made again when they are asked for."""


class Variants:
    """The problems of a study, one for each combination of its further axes.

    Parameters
    ----------
    own : Problem
        At the study's own settings; without further axes the only one.
    axes : mapping of str to tuple
        Values of the further axes; numbers are ordered, names are not.
    make : callable
        Returns the problem at some settings; must be importable, to travel to workers.
    """

    def __init__(
        self,
        own: Problem,
        axes: Mapping[str, tuple[Setting, ...]] | None = None,
        make: Callable[[Settings], Problem] | None = None,
    ) -> None:
        self.own = own
        self.axes = dict(axes or {})
        self._make = make or partial(_always, own)
        self._kept: dict[int, Problem] = {}

    def __len__(self) -> int:
        return prod(map(len, self.axes.values()))

    @property
    def size(self) -> int:
        """Number of designs of all variants together."""
        return len(self) * self.own.space.size

    def settings(self, index: int) -> Settings:
        """Return the values of the further axes; the last axis runs fastest."""
        chosen: Settings = {}
        for axis, values in reversed(self.axes.items()):
            index, place = divmod(index, len(values))
            chosen[axis] = values[place]
        return {axis: chosen[axis] for axis in self.axes}

    def index(self, places: Mapping[str, int]) -> int:
        """Return which variant has these positions on the further axes."""
        index = 0
        for axis, values in self.axes.items():
            index = index * len(values) + places[axis]
        return index

    def problem(self, index: int) -> Problem:
        """Return the problem of one variant."""
        if index not in self._kept:
            if len(self._kept) >= KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[index] = self._make(self.settings(index))
        return self._kept[index]

    def __reduce__(self) -> tuple[type["Variants"], tuple[object, ...]]:
        return Variants, (self.own, self.axes, self._make)


def _always(problem: Problem, settings: Settings) -> Problem:
    return problem
