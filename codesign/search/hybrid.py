"""Local search from a study's best designs: cheap, good, and proof of nothing.

Every step evaluates a whole box around a design at once and moves to the best of it, until none is
better. Several distant starts keep one basin from deciding.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, product
from typing import Final

import numpy as np

from codesign.designs import Designs
from codesign.search.assess import Assessor, Outcome
from codesign.search.executor import Pool
from codesign.search.lattice import Lattice, Place, Row
from codesign.search.optuna_study import Progress, StudyOutcome
from codesign.search.variants import Variants

REACH: Final = 2
"""Positions on either side of a design that a step looks at."""

WHOLE_BOX_AXES: Final = 5
"""Up to so many axes all are moved together; beyond, any two of them."""

STARTS: Final = 8
"""Designs that are polished."""

PIECE: Final = 512
"""Designs of a box that one worker evaluates together."""


@dataclass(frozen=True)
class Polish:
    """What the local search found.

    Parameters
    ----------
    evaluated : int
        Distinct designs it evaluated, the study's own not counted.
    best : Designs, optional
        The best feasible design, the study's own included; absent where none is feasible.
    best_score : float
        Its merit by the first objective.
    variant : int
        Which one it belongs to.
    """

    evaluated: int
    best: Designs | None
    best_score: float
    variant: int


def polish(
    variants: Variants, outcome: StudyOutcome, pool: Pool, progress: Progress | None = None
) -> Polish:
    """Improve a study's best designs until no box around one holds a better design.

    Parameters
    ----------
    variants : Variants
    outcome : StudyOutcome
    pool : Pool
    progress : callable, optional
        Told how many starts were finished since the last call.
    """
    lattice = Lattice(variants)
    assessor = Assessor(lattice, pool, PIECE)
    ends = []
    for start in diverse(outcome.ranked, STARTS):
        ends.append(_climb(assessor, start))
        if progress is not None:
            progress(1)
    best = min(ends, key=lambda row: (_rank(assessor, row), row[4], row))
    found = assessor.known[best]
    if not found.feasible:
        return Polish(len(assessor.known), None, -np.inf, 0)
    score = assessor.merit(found)
    return Polish(len(assessor.known), lattice.designs([best]), score, best[0])


def diverse(ranked: tuple[Place, ...], most: int) -> list[Place]:
    """Choose the best positions, none within reach of a better chosen one."""
    chosen: list[Place] = []
    for place in ranked:
        apart = (max(abs(a - b) for a, b in zip(place, other, strict=True)) for other in chosen)
        if all(distance > REACH for distance in apart):
            chosen.append(place)
        if len(chosen) == most:
            break
    return chosen


def _climb(assessor: Assessor, place: Place) -> Row:
    """Move to the best design of the box until that is where one stands."""
    lattice = assessor.lattice
    while True:
        near = {lattice.row(each): each for each in (*_box(place, lattice.shape), place)}
        assessor(near)
        best = min(near, key=lambda row: (_rank(assessor, row), row[4], row))
        if _rank(assessor, best) >= _rank(assessor, lattice.row(place)):
            return lattice.row(place)
        place = near[best]


def _rank(assessor: Assessor, row: Row) -> tuple[float, float]:
    """Less is better: feasible designs by merit, before the others by their shortfall."""
    outcome: Outcome = assessor.known[row]
    if outcome.feasible:
        return 0.0, -assessor.merit(outcome)
    return outcome.shortfall, 0.0


def _box(place: Place, shape: Place) -> Iterator[Place]:
    """Yield the positions around one, itself included."""
    around = [
        range(max(0, at - REACH), min(size, at + REACH + 1))
        for at, size in zip(place, shape, strict=True)
    ]
    moving = [axis for axis, size in enumerate(shape) if size > 1]
    if len(moving) <= WHOLE_BOX_AXES:
        yield from product(*around)
        return
    for pair in combinations(moving, 2):
        for values in product(*(around[axis] for axis in pair)):
            moved = list(place)
            for axis, value in zip(pair, values, strict=True):
                moved[axis] = value
            yield tuple(moved)
