"""Objectives and constraint violations of listed designs, piece by piece over workers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby

import numpy as np

from codesign.search.executor import Pool, Shared
from codesign.search.lattice import Lattice, Row
from codesign.search.problem import merit


@dataclass(frozen=True)
class Outcome:
    """What is told about one design.

    Parameters
    ----------
    values : tuple of float
        Every objective's statistic over the draws.
    violations : dict of str to float
        By constraint, relative to its limit; at most 0 where it is met.
    """

    values: tuple[float, ...]
    violations: dict[str, float]

    @property
    def feasible(self) -> bool:
        """Whether every constraint is met."""
        return all(violation <= 0 for violation in self.violations.values())

    @property
    def shortfall(self) -> float:
        """Sum of the violations; 0 where every constraint is met."""
        return sum(max(violation, 0.0) for violation in self.violations.values())


class Assessor:
    """Outcomes of designs, each computed once.

    Parameters
    ----------
    lattice : Lattice
    pool : Pool
    piece : int
        Designs that one worker evaluates together. It does not depend on the number of workers:
        the last bits of a figure depend on what is evaluated beside it.
    """

    def __init__(self, lattice: Lattice, pool: Pool, piece: int) -> None:
        self.lattice = lattice
        self.known: dict[Row, Outcome] = {}
        self._pool, self._piece = pool, piece
        self._task = partial(_assess, Shared(lattice))

    def __call__(self, rows: Iterable[Row]) -> list[Outcome]:
        """Return the outcome of every row, in their order; repeated ones from memory."""
        rows = list(rows)
        for _ in self.assess(self.pieces(rows)):
            pass
        return [self.known[row] for row in rows]

    def pieces(self, rows: Iterable[Row]) -> list[list[Row]]:
        """Cut those rows that are not known yet into what one worker does at a time."""
        new = [row for row in dict.fromkeys(rows) if row not in self.known]
        pieces = []
        for _, group in groupby(sorted(new, key=_variant), key=_variant):
            same = list(group)
            pieces += [same[at : at + self._piece] for at in range(0, len(same), self._piece)]
        return pieces

    def assess(self, pieces: Iterable[list[Row]]) -> Iterator[list[Row]]:
        """Evaluate pieces, and yield each once its outcomes are known."""
        for rows, outcomes in self._pool.map(self._task, pieces):
            self.known.update(zip(rows, outcomes, strict=True))
            yield rows

    def merit(self, outcome: Outcome) -> float:
        """Return the first objective so that larger is better."""
        first = self.lattice.variants.own.objectives[0]
        return float(merit(first, np.asarray(outcome.values[0])))


def _variant(row: Row) -> int:
    return row[0]


def _assess(shared: Shared[Lattice], rows: list[Row]) -> tuple[list[Row], list[Outcome]]:
    """Evaluate designs of one variant."""
    lattice = shared.value
    problem = lattice.variants.problem(rows[0][0])
    designs = lattice.designs(rows)
    evaluation = problem.evaluate(designs)
    values = np.stack([*problem.objective_values(evaluation).values()], axis=1)
    violations = {
        name: np.broadcast_to(each.violation, designs.shape)
        for name, each in evaluation.assessments.items()
    }
    return rows, [
        Outcome(
            tuple(map(float, values[place])),
            {name: float(each[place]) for name, each in violations.items()},
        )
        for place in range(len(rows))
    ]
