"""From what a search found to the answer."""

from importlib.metadata import version
from typing import Any

import numpy as np

from codesign.designs import Designs
from codesign.entries import entries, entry
from codesign.errors import InfeasibleError
from codesign.objectives import Objective, make_objective
from codesign.result import Certificate, Result
from codesign.search.decision import Decision
from codesign.search.enumerate import Enumeration
from codesign.search.optuna_study import StudyOutcome
from codesign.search.problem import Problem
from codesign.spec.study import ObjectiveChoice, Study
from codesign.uncertainty.elasticity import elasticities
from codesign.verdict import axes_on_bounds, binding_constraints, infeasible, verdict


def front_objectives(objectives: tuple[Objective, ...]) -> tuple[Objective, ...]:
    """Several objectives as asked; a single one against the loss it costs."""
    if len(objectives) > 1:
        return objectives
    other = "sd_speedup" if objectives[0].name == "loss_difference" else "loss_difference"
    return (*objectives, make_objective(ObjectiveChoice(name=other)))


def certified(
    study: Study,
    problem: Problem,
    front: tuple[Objective, ...],
    found: Enumeration,
    outcome: StudyOutcome | None,
) -> Result:
    """Return the answer of an exact enumeration, the study's own regret beside it.

    Raises
    ------
    InfeasibleError
        If no design meets every constraint.
    """
    best = found.best.winner(problem)
    throughput = found.throughput_best.winner(problem)
    if best is None or throughput is None or found.front.designs is None:
        raise infeasible(problem, found)
    certificate = Certificate(
        "exact", found.designs, found.feasible, 0.0, **_study_figures(outcome, found.best.score)
    )
    order = np.lexsort(tuple(-column for column in found.front.merits.T[::-1]))
    decision = Decision(problem, found, problem.draws, best, front)
    return Result(
        **_common(study, problem, best, throughput, decision),
        certificate=certificate,
        front=entries(problem, found.front.designs.take(order), front),
        front_objectives=tuple(objective.name for objective in front),
        binding=binding_constraints(problem, found),
        interval=decision.interval(),
        stability=decision.stability(),
        plateau=decision.plateau(),
        shadow_prices=decision.shadow_prices(),
        value_of_information=decision.value_of_information(),
        sensitivity={
            "axes": decision.axis_sensitivity(),
            "elasticities": elasticities(best, problem.scenario, problem.objectives[0]),
        },
    )


def uncertified(study: Study, problem: Problem, outcome: StudyOutcome) -> Result:
    """Return the answer of an Optuna study alone, which proves nothing.

    Raises
    ------
    InfeasibleError
        If the study found no feasible design.
    """
    if outcome.best is None:
        raise InfeasibleError(
            f"the study found no feasible design in {outcome.trials} trials of "
            f"{outcome.distinct} designs; --engine exact finds one or proves there is none"
        )
    certificate = Certificate(
        "none", problem.space.size, None, None, **_study_figures(outcome, None)
    )
    return Result(
        **_common(study, problem, outcome.best, outcome.best, None), certificate=certificate
    )


def _study_figures(outcome: StudyOutcome | None, optimum: float | None) -> dict[str, Any]:
    if outcome is None:
        return {}
    regret = None
    if optimum is not None and outcome.best is not None:
        regret = max(0.0, (optimum - outcome.best_score) / max(abs(optimum), 1e-300))
    return {
        "study_regret": regret,
        "trials": outcome.trials,
        "distinct_designs": outcome.distinct,
        "study_feasible": outcome.feasible,
    }


def _common(
    study: Study,
    problem: Problem,
    best: Designs,
    throughput: Designs,
    decision: Decision | None,
) -> dict[str, Any]:
    chosen, reference = entry(problem, best), entry(problem, problem.reference.designs)
    return {
        "study": study.to_data(),
        "verdict": verdict(problem.objectives[0], chosen, reference, decision),
        "best": chosen,
        "reference": reference,
        "throughput_best": entry(problem, throughput),
        "on_bounds": axes_on_bounds(problem.space, best),
        "assumptions": (*problem.scenario.assumptions, *problem.draws.assumptions()),
        "versions": {name: version(name) for name in ("codesign", "optuna", "numpy", "scipy")},
    }
