"""Answer one study: resolve it, search, certify, and say what to build."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np

from codesign.constraints import Assessment, make_constraints
from codesign.designs import AXES, Designs
from codesign.errors import InfeasibleError
from codesign.model.arrays import FloatArray
from codesign.objectives import Objective, make_objective
from codesign.prediction import predict
from codesign.records import Record, design_record, plain
from codesign.result import Certificate, Result
from codesign.scenario import build_scenario
from codesign.search.enumerate import Enumeration, enumerate_space
from codesign.search.optuna_study import StudyOutcome, run_optuna
from codesign.search.problem import Evaluation, Problem, merit
from codesign.search.space import DesignSpace
from codesign.spec.study import ObjectiveChoice, Study

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
    front = _front_objectives(problem.objectives)
    outcome = found = None
    # A space no larger than the trials is better walked than sampled: each design once.
    if engine == "optuna" or (engine == "auto" and problem.space.size > study.search.trials):
        outcome = run_optuna(problem, study.search, _stage(progress, "study", study.search.trials))
    if engine != "optuna":
        found = enumerate_space(problem, front, _stage(progress, "designs", problem.space.size))
    if found is not None:
        return _certified(study, problem, front, found, outcome)
    assert outcome is not None
    return _uncertified(study, problem, outcome)


def make_problem(study: Study, folder: Path | None = None) -> Problem:
    """Resolve a study into the problem that the engines solve."""
    space = DesignSpace.of(study.space, build_scenario(study))
    objectives = tuple(make_objective(choice, folder) for choice in study.objectives)
    return Problem.of(space, objectives, tuple(make_constraints(study.constraints, folder)))


def _stage(progress: Progress | None, stage: str, total: int) -> Callable[[int], None] | None:
    if progress is None:
        return None
    return lambda done: progress(stage, done, total)


def _front_objectives(objectives: tuple[Objective, ...]) -> tuple[Objective, ...]:
    """Several objectives as asked; a single one against the loss it costs."""
    if len(objectives) > 1:
        return objectives
    other = "sd_speedup" if objectives[0].name == "loss_difference" else "loss_difference"
    return (*objectives, make_objective(ObjectiveChoice(name=other)))


def _certified(
    study: Study,
    problem: Problem,
    front: tuple[Objective, ...],
    found: Enumeration,
    outcome: StudyOutcome | None,
) -> Result:
    best = found.best.winner(problem)
    if best is None:
        raise _infeasible(problem, found)
    throughput = found.throughput_best.winner(problem)
    assert throughput is not None and found.front.designs is not None
    certificate = Certificate("exact", found.designs, found.feasible, 0.0)
    if outcome is not None:
        certificate = Certificate(
            "exact", found.designs, found.feasible, 0.0,
            study_regret=_regret(found.best.score, outcome),
            trials=outcome.trials,
            distinct_designs=outcome.distinct,
            study_feasible=outcome.feasible,
        )  # fmt: skip
    order = np.lexsort(tuple(-column for column in found.front.merits.T[::-1]))
    return _result(
        study, problem, best, throughput, certificate,
        front=(front, found.front.designs.take(order)),
        binding=_binding(problem, found),
    )  # fmt: skip


def _uncertified(study: Study, problem: Problem, outcome: StudyOutcome) -> Result:
    if outcome.best is None:
        raise InfeasibleError(
            f"the study found no feasible design in {outcome.trials} trials of "
            f"{outcome.distinct} designs; --engine exact finds one or proves there is none"
        )
    certificate = Certificate(
        "none", problem.space.size, None, None,
        trials=outcome.trials,
        distinct_designs=outcome.distinct,
        study_feasible=outcome.feasible,
    )  # fmt: skip
    return _result(study, problem, outcome.best, outcome.best, certificate)


def _regret(best_score: float, outcome: StudyOutcome) -> float | None:
    """Relative distance of the study's own best to the optimum."""
    if outcome.best is None:
        return None
    return max(0.0, (best_score - outcome.best_score) / max(abs(best_score), 1e-300))


def _result(
    study: Study,
    problem: Problem,
    best: Designs,
    throughput: Designs,
    certificate: Certificate,
    front: tuple[tuple[Objective, ...], Designs] | None = None,
    binding: list[Record] | None = None,
) -> Result:
    names, members = ((), None) if front is None else front
    entry = _entry(problem, best)
    reference = _entry(problem, problem.reference.designs)
    return Result(
        study=study.to_data(),
        verdict=_verdict(problem.objectives[0], entry, reference),
        best=entry,
        reference=reference,
        throughput_best=_entry(problem, throughput),
        certificate=certificate,
        front=[] if members is None else _front_entries(problem, names, members),
        front_objectives=tuple(objective.name for objective in names),
        binding=binding or [],
        on_bounds=_on_bounds(problem.space, best),
        assumptions=problem.scenario.assumptions,
        versions={name: version(name) for name in ("codesign", "optuna", "numpy", "scipy")},
    )


def _entry(problem: Problem, design: Designs) -> Record:
    """Return the whole entry of a single design."""
    evaluation = problem.evaluate(design)
    return _summary(problem, evaluation, 0, problem.objectives) | {
        "prediction": design_record(predict(design, problem.scenario))
    }


def _front_entries(
    problem: Problem, objectives: tuple[Objective, ...], members: Designs
) -> list[Record]:
    evaluation = problem.evaluate(members)
    return [
        _summary(problem, evaluation, position, objectives) for position in range(members.shape[0])
    ]


def _summary(
    problem: Problem,
    evaluation: Evaluation,
    position: int,
    objectives: tuple[Objective, ...],
) -> Record:
    units = {each.name: each.unit for each in problem.constraints}

    def at(values: FloatArray) -> float:
        return float(np.broadcast_to(values, evaluation.designs.shape)[position])

    def standing(name: str, each: Assessment) -> Record:
        feasible = at(each.violation) <= 0
        slack = max(at(each.slack), 0.0) if feasible else at(each.slack)  # rounding is no violation
        numbers = {"value": at(each.value), "limit": at(each.limit), "slack": slack}
        written = {key: plain(number) for key, number in numbers.items()}
        return written | {"unit": units[name], "feasible": feasible}

    return {
        "design": evaluation.designs.take(position).rows()[0],
        "objectives": {
            each.name: plain(at(each.evaluate(evaluation.prediction))) for each in objectives
        },
        "constraints": {name: standing(name, a) for name, a in evaluation.assessments.items()},
    }


def _verdict(objective: Objective, best: Record, reference: Record) -> Record:
    """Say what to build, as a point estimate: nothing here is weighed against uncertainty."""
    chosen, own = (entry["objectives"][objective.name] for entry in (best, reference))
    gain = chosen / own - 1.0 if own else None
    better = merit(objective, np.asarray(chosen - own)) > 0
    design = best["design"]
    name = (
        f"{design['experts']} experts, top-{design['top_k']}, {design['shared_experts']} shared, "
        f"width {design['expert_width']}, K = {design['draft_tokens']}"
    )
    if not better:
        text = "keep the reference: no feasible design beats it"
    elif gain is None:
        text = f"build {name}"
    else:
        text = f"build {name}: {objective.name} {gain:+.1%} against the reference"
    return {
        "text": f"{text} (point estimate, not weighed against uncertainty)",
        "choice": "best" if better else "reference",
        "objective": objective.name,
        "gain": gain,
        "interval": None,
    }


def _binding(problem: Problem, found: Enumeration) -> list[Record]:
    """Return the constraints that keep a better design out, dearest first."""
    first = problem.objectives[0]
    sign = 1.0 if first.direction == "maximize" else -1.0
    rows = []
    for name, champion in found.without.items():
        winner = champion.winner(problem)
        if winner is None or champion.score <= found.best.score:
            continue
        rows.append(
            {
                "constraint": name,
                "objective_without": sign * champion.score,
                "gain_without": champion.score / found.best.score - 1.0,
                "design_without": winner.rows()[0],
            }
        )
    return sorted(rows, key=lambda row: -abs(row["gain_without"]))


def _on_bounds(space: DesignSpace, best: Designs) -> list[str]:
    """Return the axes with several values on whose lowest or highest the best design lies."""
    row = best.rows()[0]
    flagged = []
    for axis, values in space.axes.items():
        natural = axis in ("shared_experts", "draft_tokens") and row[axis] == 0
        if len(values) > 1 and row[axis] in (values[0], values[-1]) and not natural:
            flagged.append(axis)
    return flagged


def _infeasible(problem: Problem, found: Enumeration) -> InfeasibleError:
    """Say which constraint excludes how many, which design comes nearest, and what to relax."""
    excluded = sorted(found.excluded.items(), key=lambda item: -item[1])
    lines = [f"no design is feasible: {found.designs:,} designs, none meets every constraint"]
    lines += [f"  {name} excludes {count:,}" for name, count in excluded if count]
    nearest = found.nearest.winner(problem)
    if nearest is not None:
        assessments = problem.evaluate(nearest).assessments
        design = ", ".join(f"{axis} {nearest.rows()[0][axis]}" for axis in AXES)
        lines.append(f"least violating: {design}")
        for name, each in assessments.items():
            if each.violation.reshape(-1)[0] > 0:
                value, limit = (float(np.reshape(a, -1)[0]) for a in (each.value, each.limit))
                lines.append(f"  {name}: {value:.6g} against {limit:.6g}")
    freeing = {name: champion for name, champion in found.without.items() if champion.tied}
    if freeing:
        lines.append(f"relax: without {' or '.join(freeing)} alone a design is feasible")
    else:
        lines.append("relax: no single constraint is to blame; lift or loosen several")
    lines.append(
        "(--no-constraint NAME lifts one, --constraint 'FIGURE<=VALUE' sets another limit)"
    )
    return InfeasibleError("\n".join(lines))
