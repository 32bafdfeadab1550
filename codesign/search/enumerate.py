"""Exact enumeration: the certificate of every answer.

The space is walked in open meshes a few values of `experts` at a time, so that a figure is only
computed on the axes it depends on and memory stays bounded.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codesign.model.arrays import FloatArray
from codesign.objectives import Objective, make_objective
from codesign.search.champion import Champion
from codesign.search.contenders import Contenders
from codesign.search.executor import InProcess, Pool, Shared
from codesign.search.pareto import Front
from codesign.search.problem import (
    Evaluation,
    Problem,
    expected,
    merit,
    natural_step,
    objective_values,
)
from codesign.search.variance import AxisVariance
from codesign.search.variants import Variants
from codesign.spec.study import ObjectiveChoice

POINTS_AT_ONCE = 2**16
"""Points of one mesh: its arrays stay in the processor's cache."""

CHUNKS_PER_SHARD = 4
"""Meshes of one task for a worker: enough to be worth sending."""

THROUGHPUT = make_objective(ObjectiveChoice(name="sd_tokens_per_s"))

Progress = Callable[[int], None]


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
    without, relaxed : dict of str to Champion
        Best by the first objective if one constraint were lifted, or loosened by its natural step.
    nearest : Champion
        Least violating, by the sum of relative shortfalls.
    front : Front
    contenders : Contenders
        Feasible designs with their draws.
    variance : AxisVariance
        Of the first objective at the values in use, over all valid designs.
    """

    designs: int = 0
    feasible: int = 0
    excluded: dict[str, int] = field(default_factory=dict)
    best: Champion = field(default_factory=Champion)
    throughput_best: Champion = field(default_factory=Champion)
    without: dict[str, Champion] = field(default_factory=dict)
    relaxed: dict[str, Champion] = field(default_factory=dict)
    nearest: Champion = field(default_factory=Champion)
    front: Front = field(default_factory=Front)
    contenders: Contenders = field(default_factory=Contenders)
    variance: AxisVariance = field(default_factory=AxisVariance)

    def merge(self, other: "Enumeration") -> None:
        """Add what walking another part of the space found; parts come in the space's order."""
        self.designs += other.designs
        self.feasible += other.feasible
        for name, count in other.excluded.items():
            self.excluded[name] = self.excluded.get(name, 0) + count
        for own, more in ((self.without, other.without), (self.relaxed, other.relaxed)):
            for name, champion in more.items():
                own.setdefault(name, Champion()).merge(champion)
        self.best.merge(other.best)
        self.throughput_best.merge(other.throughput_best)
        self.nearest.merge(other.nearest)
        if other.front.designs is not None:
            self.front.add(other.front.designs, other.front.merits)
        self.contenders.merge(other.contenders)
        self.variance.merge(other.variance)


def enumerate_space(
    problem: Problem,
    front: tuple[Objective, ...],
    progress: Progress | None = None,
    pool: Pool | None = None,
) -> Enumeration:
    """Evaluate every design of the space.

    Parameters
    ----------
    problem : Problem
    front : tuple of Objective
        Objectives of the Pareto front.
    progress : callable, optional
        Told how many designs were evaluated since the last call.
    pool : Pool, optional
        What evaluates the shards; this process where absent. The shards do not depend on it, nor
        the order in which they are put together: neither does the answer.

    Returns
    -------
    Enumeration
    """
    [(_, found)] = enumerate_variants(Variants(problem), front, progress, pool)
    return found


def enumerate_variants(
    variants: Variants,
    front: tuple[Objective, ...],
    progress: Progress | None = None,
    pool: Pool | None = None,
) -> Iterator[tuple[int, Enumeration]]:
    """Evaluate every design of every variant, one variant after the other.

    Parameters
    ----------
    variants : Variants
    front, progress, pool
        As `enumerate_space`.

    Yields
    ------
    int, Enumeration
        Which variant, and what walking its space found.
    """
    pool = pool or Pool(InProcess, 1)
    shards = [*variants.own.space.chunks(POINTS_AT_ONCE * CHUNKS_PER_SHARD)]
    tasks = ((index, shard) for index in range(len(variants)) for shard in shards)
    parts = pool.map(partial(_enumerate_shard, Shared((variants, front))), tasks)
    for index in range(len(variants)):
        found = Enumeration()
        for part in islice(parts, len(shards)):
            found.merge(part)
            if progress is not None:
                progress(part.designs)
        yield index, found


def _enumerate_shard(
    shared: Shared[tuple[Variants, tuple[Objective, ...]]], task: tuple[int, tuple[int, ...]]
) -> Enumeration:
    variants, front = shared.value
    index, shard = task
    problem, found = variants.problem(index), Enumeration()
    for experts in problem.space.chunks(POINTS_AT_ONCE, shard):
        found.merge(enumerate_part(problem, front, experts))
    return found


def enumerate_part(
    problem: Problem, front: tuple[Objective, ...], experts: tuple[int, ...]
) -> Enumeration:
    """Evaluate every design with some values of the first axis, in slices of the second."""
    found, nominal, valid = Enumeration(), [], []
    for top_k in problem.space.slices(experts, POINTS_AT_ONCE):
        slice_valid, slice_nominal = _evaluate(found, problem, front, experts, top_k)
        valid.append(slice_valid)
        nominal.append(slice_nominal)
    found.variance.add(np.concatenate(nominal, axis=1), np.concatenate(valid, axis=1))
    return found


def _evaluate(
    found: Enumeration,
    problem: Problem,
    front: tuple[Objective, ...],
    experts: tuple[int, ...],
    top_k: tuple[int, ...],
) -> tuple[NDArray[np.bool_], FloatArray]:
    """Evaluate one mesh; return which of its points are designs, and their first objective."""
    designs, valid = problem.space.mesh(experts, top_k)
    valid = np.broadcast_to(valid, designs.shape)
    evaluation = problem.evaluate(designs)
    first = problem.objectives[0]
    found.designs += int(valid.sum())
    for name, mask in evaluation.violations.items():
        found.excluded[name] = found.excluded.get(name, 0) + int((valid & mask).sum())
    found.feasible += int((valid & (evaluation.violated == 0)).sum())
    if found.feasible == 0:
        shortfalls = (np.maximum(a.violation, 0.0) for a in evaluation.assessments.values())
        nearness = -np.broadcast_to(sum(shortfalls), designs.shape)
        found.nearest.challenge(designs, nearness, valid, evaluation.prediction.total_params)
    _compete(found, problem, evaluation, np.flatnonzero(valid & (evaluation.violated <= 1)), front)
    return valid, np.broadcast_to(evaluation.objectives[first.name], designs.shape)


def _compete(
    found: Enumeration,
    problem: Problem,
    evaluation: Evaluation,
    index: NDArray[np.intp],
    front: tuple[Objective, ...],
) -> None:
    """Let the designs that violate at most one constraint compete, draws and all."""
    if len(index) == 0:
        return
    designs = evaluation.designs.take(index)

    def at(values: NDArray[Any]) -> NDArray[Any]:
        return np.broadcast_to(values, evaluation.designs.shape).reshape(-1)[index]

    judged = tuple({each.name: each for each in (*problem.objectives, *front, THROUGHPUT)}.values())
    samples = problem.sample(designs, judged)
    merits = {
        each.name: merit(
            each,
            expected(each, at(_nominal(each, evaluation)), samples),
        )
        for each in judged
    }
    scores, total = merits[problem.objectives[0].name], at(evaluation.prediction.total_params)
    feasible = at(evaluation.violated) == 0
    found.best.challenge(designs, scores, feasible, total)
    found.throughput_best.challenge(designs, merits[THROUGHPUT.name], feasible, total)
    for constraint in problem.constraints:
        assessment = evaluation.assessments[constraint.name]
        alone = at(evaluation.violations[constraint.name]) & ~feasible
        without = found.without.setdefault(constraint.name, Champion())
        without.challenge(designs, scores, alone, total)
        step = natural_step(constraint, assessment, evaluation.designs)
        if step is not None:
            near = alone & (at(assessment.slack) >= -at(step))
            relaxed = found.relaxed.setdefault(constraint.name, Champion())
            relaxed.challenge(designs, scores, near, total)
    kept = np.flatnonzero(feasible)
    columns = [merits[each.name][kept] for each in front]
    found.front.add(designs.take(kept), np.stack(columns, axis=1))
    drawn = {each.name: samples[each.name][:, kept] for each in front if each.name in samples}
    found.contenders.add(designs.take(kept), scores[kept], drawn)


def _nominal(objective: Objective, evaluation: Evaluation) -> FloatArray:
    values = evaluation.objectives.get(objective.name)
    return objective_values(objective, evaluation.prediction) if values is None else values
