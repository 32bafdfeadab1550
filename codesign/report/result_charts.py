"""Charts of what a result holds: front, time breakdown, stability, information, sensitivity."""

from collections.abc import Mapping, Sequence

import numpy as np

from codesign.model.arrays import ArrayLike, FloatArray
from codesign.records import Record
from codesign.report.charts import Axis, Chart, Role, Series
from codesign.report.cloud import EXPECTED, Cloud, Figures, Marked
from codesign.report.glossary import (
    component_label,
    constraint_label,
    input_label,
    label,
    unit,
)
from codesign.report.sentences import WORTH_NOTHING
from codesign.shown import UNITS

MOST_BARS = 10


def axis_of(name: str) -> Axis:
    """Return the axis of a figure or objective, in the unit it is shown in."""
    shown_as = unit(name)
    named = {"times": " [×]", "share": "", "gain": "", "difference": "", "-": ""}.get(shown_as)
    if named is None:
        named = f" [{UNITS[shown_as][1]}]" if shown_as in UNITS else f" [{shown_as}]"
    return Axis(label(name) + named, percent=shown_as in ("share", "gain"))


def scaled(name: str, values: ArrayLike | Sequence[float]) -> FloatArray:
    """Return values of a figure in the unit its axis names; fractions stay fractions."""
    shown_as = unit(name)
    factor = 1.0 if shown_as in ("share", "gain") else UNITS.get(shown_as, (1.0, ""))[0]
    return np.asarray(values, dtype=np.float64) * factor


def design_words(design: Mapping[str, int]) -> str:
    """Return a design in one short line.

    Examples
    --------
    >>> design_words({"experts": 112, "top_k": 8, "shared_experts": 0, "draft_tokens": 5,
    ...               "expert_width": 768})
    '112/8+0, width 768, K = 5'
    """
    return (
        f"{design['experts']}/{design['top_k']}+{design['shared_experts']}, width "
        f"{design['expert_width']}, K = {design['draft_tokens']}"
    )


def front_chart(result: Record, cloud: Cloud | None = None, marked: Marked | None = None) -> Chart:
    """Return the front, and the space behind it where that was evaluated again."""
    across, up = result["front_objectives"][1], result["front_objectives"][0]
    series: list[Series] = []
    if cloud is not None:
        series += _cloud_series(cloud.figures, across, up)
    rows = result["front"]
    series.append(_points("Pareto front", rows, across, up, "best"))
    if marked is not None:
        series += _marked_series(marked, across, up)
    expected = " The objectives are expected over the draws." if result["interval"] else ""
    return Chart(
        "front",
        "What does each design trade against what?",
        f"No design beats one on the front in every objective.{expected} Published: expert "
        "shapes (N, k, S) of released models on the reference's layers, each with its best K.",
        axis_of(across),
        axis_of(up),
        tuple(series),
    )


def _points(name: str, rows: Sequence[Record], across: str, up: str, role: Role) -> Series:
    x, y = ([row["objectives"][key] for row in rows] for key in (across, up))
    labels = [design_words(row["design"]) for row in rows]
    return Series(name, scaled(across, x), scaled(up, y), "points", role, labels=labels)


def objective_column(figures: Figures, name: str) -> FloatArray:
    """Return an objective's statistic where it was drawn, else the figure itself."""
    values = figures.columns.get(EXPECTED + name)
    return figures.columns[name] if values is None else values


def _cloud_series(figures: Figures, across: str, up: str) -> list[Series]:
    shape = figures.designs.shape
    x, y = (
        np.broadcast_to(scaled(name, objective_column(figures, name)), shape).reshape(-1)
        for name in (across, up)
    )
    valid = np.broadcast_to(figures.designs.top_k <= figures.designs.experts, shape).reshape(-1)
    bad = np.zeros(shape, dtype=bool)
    for mask in figures.violations.values():
        bad = bad | mask
    infeasible = bad.reshape(-1)
    return [
        Series("infeasible", x[valid & infeasible], y[valid & infeasible], "points", "quiet"),
        Series("feasible", x[valid & ~infeasible], y[valid & ~infeasible], "points", "control"),
    ]


def _marked_series(marked: Marked, across: str, up: str) -> list[Series]:
    shape = marked.figures.designs.shape
    x, y = (
        np.broadcast_to(scaled(name, objective_column(marked.figures, name)), shape)
        for name in (across, up)
    )
    titles: dict[str, tuple[str, Role]] = {
        "published": ("published expert shapes", "throughput"),
        "reference": ("reference", "reference"),
        "best": ("best", "best"),
    }
    series = []
    for kind, (title, role) in titles.items():
        here = [n for n, each in enumerate(marked.kinds) if each == kind]
        names = [marked.names[n] for n in here]
        series.append(Series(title, x[here], y[here], "points", role, labels=names))
    return series


def breakdown_chart(result: Record) -> Chart:
    """Return where decode step and verify pass spend their time, per component."""
    roles: tuple[tuple[str, Role], ...] = (("best", "best"), ("reference", "reference"))
    series = []
    place = _largest_share(result)
    for role, colour in roles:
        row = result[role]["prediction"]["by_batch_size"][place]
        for kind, words in (("verify", "verify pass"), ("decode", "decode step")):
            parts = row["components"][kind]
            names = sorted(parts, key=lambda name: parts[name])
            series.append(Series(
                f"{role}, {words}", [parts[name] * 1e3 for name in names],
                [component_label(name) for name in names], "bars", colour,
                "solid" if kind == "verify" else "dot",
            ))  # fmt: skip
    size = result["best"]["prediction"]["by_batch_size"][place]["batch_size"]
    return Chart(
        "breakdown",
        "Where does verification cost?",
        f"Time per component at batch size {size:,}, at the values in use. The verify pass checks "
        "K + 1 tokens per sequence, the decode step (pale) one: the difference is the price of "
        "speculation.",
        Axis("time [ms]"),
        Axis(""),
        tuple(series),
    )


def _largest_share(result: Record) -> int:
    mix = result["study"]["workload"]["target_batch_size"]
    return max(range(len(mix)), key=lambda place: mix[place]["share"])


def bar_charts(result: Record) -> tuple[Chart, ...]:
    """Return the charts of stability, information and sensitivity that the result allows."""
    made = (_stability(result), _information(result), _axes(result), _elasticities(result))
    return tuple(chart for chart in made if chart is not None)


def _bars(name: str, values: Mapping[str, float], role: Role = "best") -> Series:
    """Bars with the largest on top."""
    kept = sorted(values.items(), key=lambda item: -abs(item[1]))[:MOST_BARS][::-1]
    return Series(name, [v for _, v in kept], [title for title, _ in kept], "bars", role)


def _stability(result: Record) -> Chart | None:
    if result["stability"] is None:
        return None
    rows = result["stability"]["designs"]
    shares = {design_words(row["design"]): row["optimal"] for row in rows}
    return Chart(
        "stability",
        "Which design is best in how many draws?",
        "Share of the joint draws of uncertain inputs in which a design is optimal.",
        Axis("share of draws", percent=True),
        Axis(""),
        (_bars("optimal in", shares),),
    )


def _information(result: Record) -> Chart | None:
    worth = {
        input_label(row["input"]): row["value"]
        for row in result["value_of_information"] or []
        if row["value"] > WORTH_NOTHING
    }
    if not worth:
        return None
    return Chart(
        "information",
        "What is worth measuring first?",
        "Expected gain of the first objective from knowing an input before choosing; inputs worth "
        "nothing are left out.",
        Axis("worth", percent=True),
        Axis(""),
        (_bars("worth", worth),),
    )


def _axes(result: Record) -> Chart | None:
    axes = (result["sensitivity"] or {}).get("axes")
    if not axes:
        return None
    total = {label(axis): each["total"] for axis, each in axes.items()}
    order = list(_bars("", total).y)
    first = {label(axis): each["first"] for axis, each in axes.items()}
    alone = Series("alone", [first[str(title)] for title in order], order, "bars", "reference")
    return Chart(
        "axes",
        "Which axis matters most over the whole space?",
        "Exact Sobol indices: share of the objective's variance that an axis explains.",
        Axis("share of variance", percent=True),
        Axis(""),
        (_bars("with interactions", total), alone),
    )


def _elasticities(result: Record) -> Chart | None:
    values = (result["sensitivity"] or {}).get("elasticities")
    if not values:
        return None
    return Chart(
        "elasticities",
        "Which input moves the best design most?",
        f"Change of the objective in per cent when an input rises by 1 %; the {MOST_BARS} "
        "strongest.",
        Axis("elasticity"),
        Axis(""),
        (_bars("elasticity", {input_label(name): value for name, value in values.items()}),),
    )


def exclusion_chart(cloud: Cloud) -> Chart:
    """Return how many designs each constraint excludes."""
    counts = {constraint_label(name): float(n) for name, n in cloud.excluded().items()}
    return Chart(
        "exclusions",
        "Which constraint excludes how many designs?",
        f"Of {cloud.shown:,} designs, counted when this report was made; a design can violate "
        "several.",
        Axis("designs excluded"),
        Axis(""),
        (_bars("excluded", counts, "quiet"),),
    )
