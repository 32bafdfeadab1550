"""Answer one study: resolve it, search it, certify the answer."""

from pathlib import Path
from typing import Any

from codesign.answer import certified, front_objectives, uncertified
from codesign.constraints import make_constraints
from codesign.objectives import make_objective
from codesign.result import Result
from codesign.scenario import build_scenario
from codesign.search.engines import Progress, Run, search
from codesign.search.plan import make_plan
from codesign.search.problem import Problem
from codesign.search.space import DesignSpace
from codesign.search.variants import Variants
from codesign.spec.study import Study
from codesign.uncertainty.draws import draw_scenarios


def optimize(
    study: Study,
    *,
    folder: Path | None = None,
    progress: Progress | None = None,
    run: Run | None = None,
) -> Result:
    """Search a study's space and return the answer.

    Parameters
    ----------
    study : Study
    folder : Path, optional
        What paths of objectives and constraints are relative to.
    progress : callable, optional
    run : Run, optional
        Workers, cluster, storage: how the search is carried out.

    Raises
    ------
    UsageError
        If the study asks for what cannot be.
    InfeasibleError
        If no design meets every constraint; the message says what excludes how many, which design
        violates least, and what to relax.
    InterruptedStudyError
        If Ctrl-C stopped it after trials were recorded.
    """
    problem = make_problem(study, folder)
    front = front_objectives(problem.objectives)
    findings = search(
        Variants(problem), study.search, front, study.name, question(study), run or Run(), progress
    )
    if findings.certified is not None:
        return certified(study, findings, front)
    return uncertified(study, findings)


def plan(study: Study, *, folder: Path | None = None, workers: int = 1) -> str:
    """Return what `optimize` would do, how long it may take and why, without doing it."""
    problem = make_problem(study, folder)
    front = front_objectives(problem.objectives)
    return make_plan(Variants(problem), study.search, front, workers).text


def question(study: Study) -> dict[str, Any]:
    """Return what decides the trials of a study: all but how many, what follows, and its name."""
    data = study.to_data()
    del data["name"]
    for field in ("engine", "trials"):
        data["search"].pop(field, None)
    return data


def make_problem(study: Study, folder: Path | None = None) -> Problem:
    """Resolve a study into the problem that the engines solve."""
    scenario = build_scenario(study)
    return Problem.of(
        DesignSpace.of(study.space, scenario),
        tuple(make_objective(choice, folder) for choice in study.objectives),
        tuple(make_constraints(study.constraints, folder)),
        draw_scenarios(study, scenario),
    )
