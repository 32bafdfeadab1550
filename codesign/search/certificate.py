"""The certificate over all variants: the best one whole, and of the others their fronts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from codesign.designs import Designs
from codesign.objectives import Objective
from codesign.search.enumerate import Enumeration, enumerate_variants
from codesign.search.executor import Pool
from codesign.search.pareto import nondominated
from codesign.search.problem import TIE, Problem
from codesign.search.variants import Variants


@dataclass
class Certified:
    """What enumerating every variant found.

    Parameters
    ----------
    variant : int
        The one with the best design, or the least violating one where none is feasible.
    found : Enumeration
        Of that variant, its counts being those of all.
    fronts : list of (int, Designs)
        The front over all variants: which variant, and its designs, best first.
    best_by_variant : list of float
        Merit of each variant's best design; minus infinity where none is feasible.
    """

    variant: int
    found: Enumeration
    fronts: list[tuple[int, Designs]]
    best_by_variant: list[float]


def certify(
    variants: Variants,
    front: tuple[Objective, ...],
    progress: Callable[[int], None] | None,
    pool: Pool,
) -> Certified:
    """Enumerate all variants; keep the best one whole, and of the others their fronts."""
    gathered = _Gathered()
    for index, found in enumerate_variants(variants, front, progress, pool):
        gathered.add(index, found, variants.problem(index))
    return gathered.certified()


@dataclass
class _Gathered:
    """Enumerations of variants as they come."""

    best: tuple[int, Enumeration, tuple[float, ...]] | None = None
    scores: list[float] = field(default_factory=list)
    designs: int = 0
    feasible: int = 0
    excluded: dict[str, int] = field(default_factory=dict)
    fronts: list[tuple[int, Designs, Any]] = field(default_factory=list)

    def add(self, index: int, found: Enumeration, problem: Problem) -> None:
        self.designs += found.designs
        self.feasible += found.feasible
        for name, count in found.excluded.items():
            self.excluded[name] = self.excluded.get(name, 0) + count
        self.scores.append(found.best.score)
        if found.front.designs is not None:
            self.fronts.append((index, found.front.designs, found.front.merits))
        key = _key(found, problem)
        if self.best is None or _better(key, self.best[2]):
            self.best = (index, found, key)

    def certified(self) -> Certified:
        assert self.best is not None
        index, found, _ = self.best
        found.designs, found.feasible = self.designs, self.feasible
        found.excluded = self.excluded
        return Certified(index, found, self._fronts(), self.scores)

    def _fronts(self) -> list[tuple[int, Designs]]:
        """Return the designs that no other variant's beat, sorted by the first objective."""
        if not self.fronts:
            return []
        merits = np.concatenate([each for _, _, each in self.fronts])
        owners = np.repeat(np.arange(len(self.fronts)), [len(each) for _, _, each in self.fronts])
        places = np.concatenate([np.arange(len(each)) for _, _, each in self.fronts])
        keep = np.flatnonzero(nondominated(merits))
        order = keep[np.lexsort(tuple(-column for column in merits[keep].T[::-1]))]
        rows = []
        for start, stop in _stretches(owners[order]):
            index, designs, _ = self.fronts[owners[order[start]]]
            rows.append((index, designs.take(places[order[start:stop]])))
        return rows


def _stretches(owners: Any) -> Iterator[tuple[int, int]]:
    """Yield where runs of equal values begin and end."""
    cuts = [0, *(np.flatnonzero(np.diff(owners)) + 1), len(owners)]
    yield from pairwise(cuts)


def _key(found: Enumeration, problem: Problem) -> tuple[float, ...]:
    """Return what variants are compared by: merit, or closeness to being feasible, then size."""
    winner = found.best.winner()
    if winner is None:
        return (-np.inf, found.nearest.score, 0.0, 0.0)
    total = float(problem.evaluate(winner).prediction.total_params.reshape(-1)[0])
    return (found.best.score, 0.0, -float(winner.draft_tokens.reshape(-1)[0]), -total)


def _better(key: tuple[float, ...], other: tuple[float, ...]) -> bool:
    """Whether one variant beats another; of equals fewer draft tokens, then parameters decide."""
    if np.isfinite(key[0]) and abs(key[0] - other[0]) <= TIE * abs(other[0]):
        return key[1:] > other[1:]
    return key > other
