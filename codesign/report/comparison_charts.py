"""Charts of several results, a series for each."""

from collections.abc import Sequence

import numpy as np

from codesign.designs import Designs
from codesign.regimes import scanned_batch_sizes
from codesign.report.batch_charts import BATCH, best_lengths, curve
from codesign.report.charts import Axis, Chart, Series, look
from codesign.report.glossary import component_label
from codesign.report.rebuilt import Rebuilt
from codesign.report.report import Report
from codesign.report.result_charts import axis_of, design_words, scaled

Named = list[tuple[str, Report]]


def comparison_charts(names: Sequence[str], reports: Sequence[Report]) -> list[Chart]:
    """Return fronts, speedup, throughput, best draft length and verify time of several results.

    Parameters
    ----------
    names : sequence of str
        What each result is called.
    reports : sequence of Report
        Curves are left out where a study does not resolve.
    """
    named = list(zip(names, reports, strict=True))
    made = [
        _fronts(named),
        _curves(
            named, "speedup", "At which batch sizes does speculative decoding pay?",
            Axis("SD speedup [×]"), "sd_speedup",
        ),
        _curves(
            named, "throughput", "How many tokens per second does a GPU yield?",
            Axis("tokens/s per GPU with SD", log=True), "sd_tokens_per_s_per_gpu",
        ),
        _lengths(named),
        _components(named),
    ]  # fmt: skip
    return [chart for chart in made if chart is not None and chart.series]


def _curves(named: Named, name: str, title: str, axis: Axis, figure: str) -> Chart:
    sizes, series = scanned_batch_sizes(), []
    for place, (words, report) in enumerate(named):
        if isinstance(report.rebuilt, Rebuilt):
            best = report.rebuilt.over_batch_sizes(report.rebuilt.design("best"), sizes)
            series.append(Series(words, sizes, curve(best, figure), "line", *look(place)))
    caption = "Of each result's best design, at the values in use."
    return Chart(name, title, caption, BATCH, axis, tuple(series))


def _lengths(named: Named) -> Chart:
    sizes, series = scanned_batch_sizes(), []
    for place, (words, report) in enumerate(named):
        if isinstance(report.rebuilt, Rebuilt):
            values = report.rebuilt.problem.space.axes["draft_tokens"]
            lengths = np.array(values, dtype=np.float64)
            own = report.rebuilt.design("best")
            every = Designs.of(
                own.experts, own.top_k, own.shared_experts, lengths, own.expert_width
            )
            speedups = report.rebuilt.over_batch_sizes(every, sizes).sd_speedup
            chosen, _ = best_lengths(lengths, speedups)
            series.append(Series(words, sizes, chosen, "steps", *look(place)))
    return Chart(
        "draft_length",
        "How many tokens to draft at each batch size?",
        "The K with the largest SD speedup of each result's best design.",
        BATCH,
        Axis("best K (drafted tokens)", whole=True),
        tuple(series),
    )


def _fronts(named: Named) -> Chart | None:
    """Fronts that trade the same two objectives as the first one there is."""
    traded = next((r.result["front_objectives"][:2] for _, r in named if r.result["front"]), None)
    if traded is None:
        return None
    series = []
    for place, (words, report) in enumerate(named):
        rows = report.result["front"]
        if rows and report.result["front_objectives"][:2] == traded:
            up, across = (
                scaled(name, [row["objectives"][name] for row in rows]) for name in traded
            )
            labels = [design_words(row["design"]) for row in rows]
            series.append(Series(words, across, up, "points", look(place)[0], labels=labels))
    return Chart(
        "front",
        "What does each front offer?",
        "Loss differences are each against the result's own reference.",
        axis_of(traded[1]),
        axis_of(traded[0]),
        tuple(series),
    )


def _components(named: Named) -> Chart:
    series = []
    for place, (words, report) in enumerate(named):
        [first, *_] = report.result["best"]["prediction"]["by_batch_size"]
        parts = first["components"]["verify"]
        ordered = sorted(parts, key=lambda name: parts[name])
        titles = [component_label(name) for name in ordered]
        times = [parts[name] * 1e3 for name in ordered]
        series.append(Series(words, times, titles, "bars", *look(place)))
    return Chart(
        "breakdown",
        "Where does the verify pass spend its time?",
        "Of each result's best design at its first batch size, at the values in use.",
        Axis("time [ms]"),
        Axis(""),
        tuple(series),
    )
