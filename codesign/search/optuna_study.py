"""The Optuna study: ask and tell in batches, constraints as Optuna knows them."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import optuna
from optuna.exceptions import ExperimentalWarning

from codesign.designs import Designs
from codesign.search.problem import Problem, merit
from codesign.spec.study import Search

VALID = "top_k_within_experts"
"""Constraint that keeps top_k <= experts; pairs beyond it are no designs and cost no trial."""

TRIALS_PER_DESIGN = 5
"""Give up asking after so many suggestions per wanted trial: the space may be smaller."""

Row = tuple[float, ...]
Progress = Callable[[int], None]


@dataclass(frozen=True)
class StudyOutcome:
    """What the study found.

    Parameters
    ----------
    trials, distinct, feasible : int
        Trials that are designs; distinct designs among them, and feasible ones among those.
    best : Designs, optional
        Best feasible design by the first objective; absent where none is feasible.
    best_score : float
        Its merit.
    """

    trials: int
    distinct: int
    feasible: int
    best: Designs | None
    best_score: float


def run_optuna(problem: Problem, search: Search, progress: Progress | None = None) -> StudyOutcome:
    """Run one study; the same seed and batch give the same trials.

    Parameters
    ----------
    problem : Problem
    search : Search
    progress : callable, optional
        Told how many trials were finished since the last call.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = _create(problem, search)
    memo: dict[Row, tuple[list[float], dict[str, float]]] = {}
    told = 0
    for _ in range(TRIALS_PER_DESIGN * (search.trials // search.batch + 1)):
        wanted = min(search.batch, search.trials - told)
        if wanted <= 0:
            break
        trials = [study.ask() for _ in range(wanted)]
        rows = [_suggest(trial, problem) for trial in trials]
        _remember(problem, rows, memo)
        valid = 0
        for trial, row in zip(trials, rows, strict=True):
            values, constraints = memo[_clipped(row)]
            excess = row[1] - row[0]
            for name, violation in (constraints | {VALID: excess}).items():
                trial.set_constraint(name, float(violation))
            study.tell(trial, values)
            valid += excess <= 0
        told += valid
        if progress is not None:
            progress(valid)
    return _outcome(problem, study, told)


def _create(problem: Problem, search: Search) -> optuna.Study:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)  # multivariate TPE, on purpose
        sampler = optuna.samplers.TPESampler(seed=search.seed, multivariate=True)
    return optuna.create_study(
        directions=[objective.direction for objective in problem.objectives], sampler=sampler
    )


def _suggest(trial: optuna.trial.Trial, problem: Problem) -> Row:
    """Ask for a position on every axis; ordered axes are integers, not categories."""
    axes = problem.space.axes
    return tuple(
        float(values[trial.suggest_int(axis, 0, len(values) - 1)]) for axis, values in axes.items()
    )


def _clipped(row: Row) -> Row:
    return (row[0], min(row[0], row[1]), *row[2:])


def _remember(
    problem: Problem, rows: list[Row], memo: dict[Row, tuple[list[float], dict[str, float]]]
) -> None:
    """Evaluate what was not evaluated before, all at once."""
    new = [row for row in dict.fromkeys(map(_clipped, rows)) if row not in memo]
    if not new:
        return
    columns = np.array(new).T
    evaluation = problem.evaluate(
        problem.space.designs(**dict(zip(problem.space.axes, columns, strict=True)))
    )
    shape = evaluation.designs.shape
    objectives = list(problem.objective_values(evaluation).values())
    violations = {n: np.broadcast_to(a.violation, shape) for n, a in evaluation.assessments.items()}
    for position, row in enumerate(new):
        memo[row] = (
            [float(values[position]) for values in objectives],
            {name: float(values[position]) for name, values in violations.items()},
        )


def _outcome(problem: Problem, study: optuna.Study, told: int) -> StudyOutcome:
    axes = problem.space.axes
    distinct: dict[Row, tuple[float, bool]] = {}
    first = problem.objectives[0]
    for trial in study.get_trials(deepcopy=False):
        constraints = trial.constraints
        row = tuple(float(axes[axis][trial.params[axis]]) for axis in axes)
        if constraints[VALID] <= 0:
            feasible = all(violation <= 0 for violation in constraints.values())
            score = merit(first, np.asarray(trial.values[0]))
            distinct[row] = (float(score), feasible)
    feasible_rows = {row: score for row, (score, ok) in distinct.items() if ok}
    best = max(feasible_rows, key=lambda row: feasible_rows[row], default=None)
    designs = None
    if best is not None:
        columns = {axis: np.array([value]) for axis, value in zip(axes, best, strict=True)}
        designs = problem.space.designs(**columns)
    best_score = feasible_rows[best] if best is not None else -np.inf
    return StudyOutcome(told, len(distinct), len(feasible_rows), designs, best_score)
