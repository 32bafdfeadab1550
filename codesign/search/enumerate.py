"""Exact enumeration: the certificate of every answer.

The space is walked in open meshes a few values of `experts` at a time, so that a figure is only
computed on the axes it depends on and memory stays bounded.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from codesign.designs import Designs
from codesign.model.arrays import FloatArray
from codesign.objectives import Objective
from codesign.search.pareto import Front
from codesign.search.problem import TIE, Evaluation, Problem, merit

POINTS_AT_ONCE = 2**16
"""Points of one mesh: its arrays stay in the processor's cache."""

Progress = Callable[[int], None]


@dataclass
class Champion:
    """The best designs seen, ties included."""

    score: float = -np.inf
    tied: list[Designs] = field(default_factory=list)
    scores: list[FloatArray] = field(default_factory=list)

    def challenge(self, designs: Designs, scores: FloatArray, eligible: NDArray[np.bool_]) -> None:
        """Let the eligible designs compete."""
        top = float(np.max(scores, where=eligible, initial=-np.inf))
        if top == -np.inf or top < self.score - TIE * abs(self.score):
            return
        index = np.flatnonzero(eligible & (scores >= top - TIE * abs(top)))
        self.tied.append(designs.take(index))
        self.scores.append(scores.reshape(-1)[index])
        self.score = max(self.score, top)

    def winner(self, problem: Problem) -> Designs | None:
        """Return the best design: of equals the fewest draft tokens, then fewest parameters."""
        if not self.tied:
            return None
        designs = self.tied[0]
        for more in self.tied[1:]:
            designs = designs.joined(more)
        scores = np.concatenate(self.scores)
        level = np.flatnonzero(scores >= self.score - TIE * abs(self.score))
        designs = designs.take(level)
        total = problem.evaluate(designs).prediction.total_params
        order = np.lexsort((designs.top_k, designs.experts, total, designs.draft_tokens))
        return designs.take(order[:1])


@dataclass
class Enumeration:
    """What walking the whole space found.

    Parameters
    ----------
    designs, feasible : int
        Valid and feasible designs.
    excluded : dict of str to int
        Designs that each constraint excludes, alone or with others.
    best, throughput_best : Champion
        By the first objective; by tokens per second with SD.
    without : dict of str to Champion
        Best by the first objective if one constraint were lifted.
    nearest : Champion
        Least violating, by the sum of relative shortfalls.
    front : Front
    """

    designs: int = 0
    feasible: int = 0
    excluded: dict[str, int] = field(default_factory=dict)
    best: Champion = field(default_factory=Champion)
    throughput_best: Champion = field(default_factory=Champion)
    without: dict[str, Champion] = field(default_factory=dict)
    nearest: Champion = field(default_factory=Champion)
    front: Front = field(default_factory=Front)


def enumerate_space(
    problem: Problem, front: tuple[Objective, ...], progress: Progress | None = None
) -> Enumeration:
    """Evaluate every design of the space.

    Parameters
    ----------
    problem : Problem
    front : tuple of Objective
        Objectives of the Pareto front.
    progress : callable, optional
        Told how many designs were evaluated since the last call.

    Returns
    -------
    Enumeration
    """
    found = Enumeration()
    for experts in problem.space.chunks(POINTS_AT_ONCE):
        designs, valid = problem.space.mesh(experts)
        valid = np.broadcast_to(valid, designs.shape)
        _absorb(found, problem, problem.evaluate(designs), valid, front)
        if progress is not None:
            progress(int(valid.sum()))
    return found


def _absorb(
    found: Enumeration,
    problem: Problem,
    evaluation: Evaluation,
    valid: NDArray[np.bool_],
    front: tuple[Objective, ...],
) -> None:
    designs, shape = evaluation.designs, evaluation.designs.shape
    first = problem.objectives[0]
    scores = np.broadcast_to(merit(first, evaluation.objectives[first.name]), shape)
    feasible = valid & (evaluation.violated == 0)
    almost = valid & (evaluation.violated == 1)
    found.designs += int(valid.sum())
    found.feasible += int(feasible.sum())
    found.best.challenge(designs, scores, feasible)
    for name, mask in evaluation.violations.items():
        found.excluded[name] = found.excluded.get(name, 0) + int((valid & mask).sum())
        found.without.setdefault(name, Champion()).challenge(designs, scores, almost & mask)
    throughput = evaluation.prediction.value("sd_tokens_per_s")
    found.throughput_best.challenge(designs, np.broadcast_to(throughput, shape), feasible)
    if found.feasible == 0:
        shortfalls = (np.maximum(a.violation, 0.0) for a in evaluation.assessments.values())
        found.nearest.challenge(designs, -np.broadcast_to(sum(shortfalls), shape), valid)
    _extend_front(found.front, evaluation, feasible, front)


def _extend_front(
    front: Front,
    evaluation: Evaluation,
    feasible: NDArray[np.bool_],
    objectives: tuple[Objective, ...],
) -> None:
    index = np.flatnonzero(feasible)
    shape = evaluation.designs.shape
    columns = []
    for objective in objectives:
        values = evaluation.objectives.get(objective.name)
        if values is None:
            values = objective.evaluate(evaluation.prediction)
        columns.append(np.broadcast_to(merit(objective, values), shape).reshape(-1)[index])
    front.add(evaluation.designs.take(index), np.stack(columns, axis=1))
