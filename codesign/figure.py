"""Figures of a prediction: computed on demand, each with unit, direction and meaning."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, Self, TypeVar, overload

import numpy as np

from codesign.errors import UsageError, did_you_mean
from codesign.model.arrays import FloatArray

OverMix = Literal["mean", "harmonic", "time", "max", "goodput", "none"]
Better = Literal["maximize", "minimize"]
Subject = TypeVar("Subject")


class Figure(cached_property[FloatArray]):
    """An attribute computed once, that knows how it is named, bounded and averaged.

    Parameters
    ----------
    unit : str
        SI unit, or what is counted.
    over_mix : {"mean", "harmonic", "time", "max", "goodput", "none"}
        How batch sizes of a mix are put together: weighted mean over generated tokens, harmonic
        mean over generated tokens, harmonic mean over the time spent without SD, the largest,
        tokens in time over the time of all, or not at all because the figure does not depend on
        the batch size.
    better : {"maximize", "minimize"}, optional
        Direction in which the figure improves.
    alias : str, optional
        Short name on the command line.
    certain : bool
        Does not depend on what the draws of uncertain inputs change.
    """

    def __init__(
        self,
        function: Callable[[Any], FloatArray],
        unit: str,
        over_mix: OverMix,
        better: Better | None,
        alias: str | None,
        certain: bool,
    ) -> None:
        super().__init__(function)
        self.unit = unit
        self.over_mix = over_mix
        self.better = better
        self.alias = alias
        self.certain = certain

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> FloatArray: ...

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Self | FloatArray:
        """Return the figure; nobody who is shown it can change it for the next one."""
        value: Self | FloatArray = super().__get__(instance, owner)
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
        return value

    @property
    def name(self) -> str:
        """Name of the attribute."""
        return self.func.__name__

    @property
    def meaning(self) -> str:
        """First line of the docstring."""
        return (self.func.__doc__ or "").partition("\n")[0]


def figure(
    unit: str,
    *,
    over_mix: OverMix = "none",
    better: Better | None = None,
    alias: str | None = None,
    certain: bool = False,
) -> Callable[[Callable[[Any], FloatArray]], Figure]:
    """Declare a method of a prediction to be a figure."""

    def declare(function: Callable[[Any], FloatArray]) -> Figure:
        return Figure(function, unit, over_mix, better, alias, certain)

    return declare


def figures_of(kind: type) -> dict[str, Figure]:
    """Return the figures of a class by name, in the order they are written, its bases' first."""
    return {
        name: value
        for part in reversed(kind.__mro__)
        for name, value in vars(part).items()
        if isinstance(value, Figure)
    }


def find_figure(kind: type, name: str) -> Figure:
    """Return a figure by name or alias.

    Raises
    ------
    UsageError
        If there is none, with the nearest name.
    """
    figures = figures_of(kind)
    by_name = figures | {each.alias: each for each in figures.values() if each.alias}
    if name not in by_name:
        hint = did_you_mean(name, by_name)
        raise UsageError(f"unknown figure {name!r}{hint}; see 'codesign list figures'")
    return by_name[name]
