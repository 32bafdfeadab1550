"""What to do, in one sentence, and what stands in the way of something better."""

from codesign.designs import AXES, Designs
from codesign.errors import InfeasibleError
from codesign.model.arrays import FloatArray
from codesign.objectives import Objective
from codesign.records import Record
from codesign.search.enumerate import Enumeration
from codesign.search.paired import PairedDraws
from codesign.search.problem import Problem, improvement
from codesign.search.space import DesignSpace
from codesign.shown import UNITS, shown
from codesign.uncertainty.statistics import of_few

POINT_TIE = 0.01
"""Without draws a gain below this is called a tie: no prediction is better than that."""

POINT_ESTIMATE = " (point estimate: uncertainty not weighed, quality by the laws' mean)"


def design_name(design: Record) -> str:
    """Return a design in words."""
    further = "".join(f", {axis} {design[axis]}" for axis in design if axis not in AXES)
    return (
        f"{design['experts']} experts, top-{design['top_k']}, {design['shared_experts']} shared, "
        f"width {design['expert_width']}, K = {design['draft_tokens']}{further}"
    )


def verdict(objective: Objective, best: Record, reference: Record, paired: PairedDraws) -> Record:
    """Say what to build, from paired draws where there are any.

    A tie is called where the 5-95 % interval of the paired gain includes none, and the reference
    kept, unless it violates a constraint.

    Returns
    -------
    dict
        ``text``, ``choice`` ("best" or "reference"), ``objective``, ``gain``, ``interval``.
    """
    sign = 1.0 if objective.direction == "maximize" else -1.0
    own = reference["objectives"][objective.name]
    drawn = paired.gain()
    if drawn is not None:
        gain, limits = drawn
        low = min(sign * limits[0], sign * limits[1])
        few = of_few(len(paired))
        qualifier = f" ({limits[0]:+.1%} to {limits[1]:+.1%}, 5-95 %{few})"
        better = low > 0
    elif own:
        gain, limits = best["objectives"][objective.name] / own - 1.0, None
        qualifier = "" if len(paired) else POINT_ESTIMATE  # no draw changes it
        better = sign * gain > POINT_TIE
    else:
        return _of_zero(objective, best, reference)
    name = design_name(best["design"])
    violated = [name for name, each in reference["constraints"].items() if not each["feasible"]]
    if best["design"] == reference["design"]:
        text = "keep the reference: no feasible design beats it"
    elif violated and not better:
        better = True
        text = (
            f"build {name}: {objective.name} {gain:+.1%}{qualifier} against the reference, which "
            f"violates {', '.join(violated)}"
        )
    elif better:
        text = f"build {name}: {objective.name} {gain:+.1%}{qualifier} against the reference"
        if abs(gain) < POINT_TIE and not violated:
            text += f", about as good: less than {POINT_TIE:.0%} apart"
    elif sign * gain < 0:
        text = (
            f"keep the reference: the best of the designs evaluated, {name}, has "
            f"{gain:+.1%}{qualifier}"
        )
    else:
        text = f"tie: keep the reference; the best, {name}, gains {gain:+.1%}{qualifier}"
    return {
        "text": text,
        "choice": "best" if better else "reference",
        "objective": objective.name,
        "gain": gain,
        "interval": None if limits is None else list(limits),
    }


def _of_zero(objective: Objective, best: Record, reference: Record) -> Record:
    """Say it in the objective's own unit: nothing is a share of a reference of 0."""
    value = best["objectives"][objective.name]
    better = value > 0 if objective.direction == "maximize" else value < 0
    told = f"{objective.name} {_told(value, objective.unit)} against the reference's 0"
    return {
        "text": f"build {design_name(best['design'])}: {told}"
        if better and best["design"] != reference["design"]
        else "keep the reference: no feasible design beats it",
        "choice": "best" if better else "reference",
        "objective": objective.name,
        "gain": None,
        "interval": None,
    }


def binding_constraints(problem: Problem, found: Enumeration) -> list[Record]:
    """Return the constraints that keep a better design out, dearest first."""
    sign = 1.0 if problem.objectives[0].direction == "maximize" else -1.0
    rows = []
    for name, champion in found.without.items():
        winner = champion.winner()
        if winner is None or champion.score <= found.best.score:
            continue
        rows.append(
            {
                "constraint": name,
                "objective_without": sign * champion.score,
                "gain_without": improvement(champion.score, found.best.score),
                "design_without": winner.rows()[0],
            }
        )
    return sorted(rows, key=lambda row: -sign * row["objective_without"])


def axes_on_bounds(space: DesignSpace, best: Designs) -> list[str]:
    """Return the axes with several values on whose lowest or highest the best design lies.

    No shared experts and no drafts are ends that cannot be moved.
    """
    row = best.rows()[0]
    flagged = []
    for axis, values in space.axes.items():
        natural = axis in ("shared_experts", "draft_tokens") and row[axis] == 0
        if len(values) > 1 and row[axis] in (values[0], values[-1]) and not natural:
            flagged.append(axis)
    return flagged


def infeasible(problem: Problem, found: Enumeration) -> InfeasibleError:
    """Say which constraint excludes how many, which design comes nearest, and what to relax."""
    excluded = sorted(found.excluded.items(), key=lambda item: -item[1])
    lines = [f"no design is feasible: {found.designs:,} designs, none meets every constraint"]
    lines += [f"  {name} excludes {count:,}" for name, count in excluded if count]
    nearest = found.nearest.winner()
    if nearest is not None:
        lines += _shortfalls(problem, nearest)
    freeing = [name for name, champion in found.without.items() if champion.tied is not None]
    if freeing:
        lines.append(f"relax: without {' or '.join(freeing)} alone a design is feasible")
    else:
        lines.append("relax: no single constraint is to blame; lift or loosen several")
    lines.append(
        "(--no-constraint NAME lifts one, --constraint 'FIGURE<=VALUE' sets another limit)"
    )
    return InfeasibleError("\n".join(lines))


def _shortfalls(problem: Problem, nearest: Designs) -> list[str]:
    row = nearest.rows()[0]
    lines = [f"least violating: {', '.join(f'{axis} {row[axis]}' for axis in AXES)}"]
    evaluation = problem.evaluate(nearest)
    for constraint in problem.constraints:
        each = evaluation.assessments[constraint.name]
        if _first(each.violation) > 0:
            value, limit = (_told(_first(v), constraint.unit) for v in (each.value, each.limit))
            why = constraint.explain(evaluation.prediction)
            told = f"{value} against {limit}{f' ({why})' if why else ''}"
            lines.append(f"  {constraint.name}: {told}")
    return lines


def _told(value: float, unit: str) -> str:
    """Return a value with its unit, also one that tables name in their headings."""
    return shown(value, unit) if unit in (*UNITS, "-") else f"{shown(value)} {unit}"


def _first(values: FloatArray) -> float:
    return float(values.reshape(-1)[0])
