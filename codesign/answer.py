"""From what a search found to the answer."""

from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from codesign.designs import Designs
from codesign.entries import entries, entry
from codesign.errors import InfeasibleError
from codesign.objectives import Objective, make_objective
from codesign.registry import contained
from codesign.result import Certificate, Result
from codesign.search.decision import Decision
from codesign.search.elasticity import elasticities
from codesign.search.engines import Findings
from codesign.search.optuna_study import StudyOutcome
from codesign.search.paired import PairedDraws
from codesign.search.problem import Problem, expected, improvement, merit
from codesign.search.variants import Variants
from codesign.spec.study import ObjectiveChoice, Study
from codesign.verdict import axes_on_bounds, binding_constraints, infeasible, verdict


def front_objectives(objectives: tuple[Objective, ...]) -> tuple[Objective, ...]:
    """Several objectives as asked; a single one against the loss it costs."""
    if len(objectives) > 1:
        return objectives
    other = "sd_speedup" if objectives[0].name == "loss_difference" else "loss_difference"
    return (*objectives, make_objective(ObjectiveChoice(name=other)))


def certified(study: Study, findings: Findings, front: tuple[Objective, ...]) -> Result:
    """Return the answer of an exact enumeration, the study's own regret beside it.

    Where further axes were searched, the best design and the front are those of all variants; how
    sure the choice is and what it costs is told within the variant chosen.

    Raises
    ------
    InfeasibleError
        If no design meets every constraint.
    """
    assert findings.certified is not None
    variants, outcome, found = findings.variants, findings.outcome, findings.certified.found
    problem = variants.problem(findings.certified.variant)
    best = found.best.winner()
    throughput = found.throughput_best.winner()
    if best is None or throughput is None or found.front.designs is None:
        raise infeasible(problem, found)
    certificate = Certificate(
        "exact", found.designs, found.feasible, 0.0, **_study_figures(outcome, found.best.score)
    )
    decision = Decision(problem, found, problem.draws, best, front)
    paired = PairedDraws(problem, best)
    return Result(
        **_common(study, problem, best, throughput, paired),
        certificate=certificate,
        front=[
            each
            for index, designs in findings.certified.fronts
            for each in entries(variants.problem(index), designs, front)
        ],
        front_objectives=tuple(objective.name for objective in front),
        binding=binding_constraints(problem, found),
        interval=paired.interval(),
        stability=decision.stability(),
        plateau=decision.plateau(),
        shadow_prices=decision.shadow_prices(),
        value_of_information=decision.value_of_information(),
        sensitivity={
            "axes": decision.axis_sensitivity(),
            "elasticities": elasticities(best, problem.scenario, problem.objectives[0]),
        },
    )


def uncertified(study: Study, findings: Findings) -> Result:
    """Return the answer of an Optuna study, polished or not, which proves nothing by itself.

    Raises
    ------
    InfeasibleError
        If no feasible design was found.
    """
    outcome, polished = findings.outcome, findings.polished
    assert outcome is not None
    found = polished or outcome
    if found.best is None:
        also = f" nor the local search in {polished.evaluated:,} designs" if polished else ""
        raise InfeasibleError(
            f"the study found no feasible design in {outcome.trials} trials of "
            f"{outcome.distinct} designs{also}; --engine exact finds one or proves there is none"
        )
    problem = findings.variants.problem(found.variant)
    gap = _gap(findings.variants, found.best_score)
    certificate = Certificate(
        "none" if gap is None else "gap", findings.variants.size, None, gap,
        **_study_figures(outcome, polished.best_score if polished else None),
        polished_designs=polished.evaluated if polished else None,
    )  # fmt: skip
    paired = PairedDraws(problem, found.best)
    return Result(
        **_common(study, problem, found.best, found.best, paired),
        certificate=certificate,
        interval=paired.interval(),
    )


def _gap(variants: Variants, score: float) -> float | None:
    """Return by what share the optimum may be better at most, where the objective has a bound."""
    problem = variants.own
    objective, lengths = problem.objectives[0], np.array(problem.space.axes["draft_tokens"])
    if "draft" in variants.axes:  # a bound of one draft is none of another
        return None
    scenarios = problem.draws.scenarios or (problem.scenario,)
    bounds = [
        contained(objective.name, partial(objective.bound, lengths, each)) for each in scenarios
    ]
    if not all(isinstance(bound, int | float) and np.isfinite(bound) for bound in bounds):
        return None
    column = np.array(bounds, dtype=np.float64)[:, None]
    limit = expected(objective, column[0], {objective.name: column})
    gap = improvement(float(merit(objective, limit)[0]), score)
    return None if gap is None else max(0.0, gap)


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
    paired: PairedDraws,
) -> dict[str, Any]:
    chosen, reference = entry(problem, best), entry(problem.home, problem.reference.designs)
    return {
        "study": study.to_data(),
        "verdict": verdict(problem.objectives[0], chosen, reference, paired),
        "best": chosen,
        "reference": reference,
        "throughput_best": entry(problem, throughput),
        "on_bounds": axes_on_bounds(problem.space, best),
        "assumptions": (
            *problem.scenario.assumptions,
            *problem.space.assumptions(),
            *problem.draws.assumptions(),
        ),
        "versions": {name: version(name) for name in ("codesign", "optuna", "numpy", "scipy")},
    }
