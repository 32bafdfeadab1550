"""Answer one study: resolve it, search it, certify the answer."""

from collections.abc import Callable
from pathlib import Path

from codesign.answer import certified, front_objectives, uncertified
from codesign.constraints import make_constraints
from codesign.objectives import make_objective
from codesign.result import Result
from codesign.scenario import build_scenario
from codesign.search.enumerate import enumerate_space
from codesign.search.optuna_study import run_optuna
from codesign.search.problem import Problem
from codesign.search.space import DesignSpace
from codesign.spec.study import Study
from codesign.uncertainty.draws import draw_scenarios

Progress = Callable[[str, int, int], None]
"""Told the stage, how much of it is done, and how much there is."""


def optimize(
    study: Study, *, folder: Path | None = None, progress: Progress | None = None
) -> Result:
    """Search a study's space and return the answer.

    Parameters
    ----------
    study : Study
    folder : Path, optional
        What paths of objectives and constraints are relative to.
    progress : callable, optional

    Raises
    ------
    UsageError
        If the study asks for what cannot be.
    InfeasibleError
        If no design meets every constraint; the message says what excludes how many, which design
        violates least, and what to relax.
    """
    problem = make_problem(study, folder)
    engine = study.search.engine
    front = front_objectives(problem.objectives)
    outcome = found = None
    # A space no larger than the trials is better walked than sampled: each design once.
    if engine == "optuna" or (engine == "auto" and problem.space.size > study.search.trials):
        outcome = run_optuna(problem, study.search, _stage(progress, "study", study.search.trials))
    if engine != "optuna":
        found = enumerate_space(problem, front, _stage(progress, "designs", problem.space.size))
    if found is not None:
        return certified(study, problem, front, found, outcome)
    assert outcome is not None
    return uncertified(study, problem, outcome)


def make_problem(study: Study, folder: Path | None = None) -> Problem:
    """Resolve a study into the problem that the engines solve."""
    scenario = build_scenario(study)
    return Problem.of(
        DesignSpace.of(study.space, scenario),
        tuple(make_objective(choice, folder) for choice in study.objectives),
        tuple(make_constraints(study.constraints, folder)),
        draw_scenarios(study, scenario),
    )


def _stage(progress: Progress | None, stage: str, total: int) -> Callable[[int], None] | None:
    if progress is None:
        return None
    return lambda done: progress(stage, done, total)
