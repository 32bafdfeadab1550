"""Charts by matplotlib: static pictures for papers, slides and Markdown."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from codesign.errors import UsageError
from codesign.report.charts import COLOURS, REGIME_COLOURS, Chart, Series
from codesign.whole_file import whole_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PICTURES: Final = ("png", "svg", "pdf")
MARKERS: Final = {
    "best": "*", "reference": "D", "throughput": "^", "control": "s", "quiet": "o",
}  # fmt: skip
LONGEST_LABEL: Final = 120
LINES: Final = {"solid": "-", "dash": "--", "dot": ":"}


def matplotlib_figure(*charts: Chart) -> "Figure":
    """Return charts as one figure, below each other."""
    from matplotlib.figure import Figure

    height = sum(_height(chart) for chart in charts)
    figure = Figure(figsize=(8.0, height), layout="constrained")
    ratios = [_height(chart) for chart in charts]
    grids = figure.add_gridspec(len(charts), 1, height_ratios=ratios)
    for chart, place in zip(charts, range(len(charts)), strict=True):
        _draw(figure, grids[place], chart)
    return figure


def literal(text: str) -> str:
    """Return a name as matplotlib draws it unchanged, cut to what a picture has room for.

    A dollar sign begins no formula.
    """
    line = " ".join(text.split())
    short = line if len(line) <= LONGEST_LABEL else f"{line[: LONGEST_LABEL - 3]}..."
    return short.replace("$", r"\$")


def save_charts(charts: tuple[Chart, ...], path: Path) -> None:
    """Draw charts below each other into one picture; see `save_picture`."""
    save_picture(matplotlib_figure(*charts), path)


def save_picture(figure: "Figure", path: Path) -> None:
    """Write a matplotlib figure; the ending says which kind. The same picture has the same bytes.

    Raises
    ------
    UsageError
        If the ending is none of .png, .svg, .pdf, or the file cannot be written.
    """
    ending = path.suffix.lower().removeprefix(".")
    if ending not in PICTURES:
        raise UsageError(f"{path}: a picture ends in .{', .'.join(PICTURES)}")
    from matplotlib import rc_context

    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(ending)
    with (
        rc_context({"svg.hashsalt": "codesign", "svg.fonttype": "none"}),
        whole_file(path) as file,
    ):
        figure.savefig(file, format=ending, dpi=150, metadata=undated)


def _height(chart: Chart) -> float:
    bars = [each for each in chart.series if each.kind == "bars"]
    if not bars:
        return 4.4
    return 1.4 + 0.2 * len(bars[0].y) * (1 + 0.6 * len(bars))


def _draw(figure: "Figure", place: Any, chart: Chart) -> None:
    rows = list(dict.fromkeys(span.row for span in chart.spans))
    if rows:
        inner = place.subgridspec(2, 1, height_ratios=[10, 0.9 * len(rows)], hspace=0.05)
        axes = figure.add_subplot(inner[0])
        ribbons = figure.add_subplot(inner[1], sharex=axes)
        _ribbons(ribbons, chart, rows)
        ribbons.set_xlabel(literal(chart.x.label))
        axes.tick_params(labelbottom=False)
    else:
        axes = figure.add_subplot(place)
        axes.set_xlabel(literal(chart.x.label))
    axes.set_title(literal(chart.title), loc="left", fontsize=11, fontweight="bold")
    axes.set_ylabel(literal(chart.y.label))
    _series(figure, axes, chart)
    _scales(axes, chart)


def _series(figure: "Figure", axes: "Axes", chart: Chart) -> None:
    if chart.heat is not None:
        mesh = axes.pcolormesh(
            chart.heat.x, chart.heat.y, chart.heat.z, cmap="cividis", shading="nearest"
        )
        figure.colorbar(mesh, ax=axes, label=literal(chart.heat.label))
        _line(axes, chart.heat.ridge)
    bars = [each for each in chart.series if each.kind == "bars"]
    names = list(dict.fromkeys(str(name) for each in bars for name in each.y))
    for number, each in enumerate(bars):
        _bars(axes, each, number, len(bars), names)
    for each in chart.series:
        if each.kind == "points":
            crowd = len(each.x) > 500
            axes.scatter(
                np.asarray(each.x, float), np.asarray(each.y, float), s=3 if crowd else 55,
                c=COLOURS[each.role], marker=MARKERS[each.role], label=literal(each.name),
                alpha=0.35 if crowd else 1.0, linewidths=0, rasterized=crowd,
            )  # fmt: skip
        elif each.kind != "bars":
            _line(axes, each)
    for mark in chart.marks:
        axes.axvline(mark.x, color=COLOURS[mark.role], linestyle="--", linewidth=1)
        axes.annotate(literal(mark.label), (mark.x, 1.0), xycoords=("data", "axes fraction"),
                      xytext=(2, -2), textcoords="offset points", rotation=90, va="top",
                      fontsize=7)  # fmt: skip


def _line(axes: "Axes", each: Series) -> None:
    steps = "steps-post" if each.kind == "steps" else "default"
    axes.plot(
        np.asarray(each.x, float), np.asarray(each.y, float), LINES[each.dash],
        color=COLOURS[each.role], label=literal(each.name), drawstyle=steps, linewidth=1.8,
    )  # fmt: skip


def _bars(axes: "Axes", each: Series, number: int, count: int, names: list[str]) -> None:
    """Bars at the place of their category, whatever order a series has them in."""
    height = 0.8 / count
    level = np.array([names.index(str(name)) for name in each.y])
    axes.barh(
        level + (number - (count - 1) / 2) * height, np.asarray(each.x, float), height,
        color=COLOURS[each.role], label=literal(each.name),
        alpha=1.0 if each.dash == "solid" else 0.35,
    )  # fmt: skip
    axes.set_yticks(range(len(names)), [literal(str(name)) for name in names])


def _ribbons(axes: "Axes", chart: Chart, rows: list[str]) -> None:
    for span in chart.spans:
        level = len(rows) - 1 - rows.index(span.row)
        axes.barh(level, span.stop - span.start, 0.85, left=span.start,
                  color=REGIME_COLOURS[span.regime])  # fmt: skip
        if span.stop / span.start > 4:
            middle = (span.start * span.stop) ** 0.5
            axes.text(middle, level, span.regime, ha="center", va="center", fontsize=7)
    axes.set_yticks(range(len(rows)), [literal(row) for row in rows[::-1]], fontsize=8)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _scales(axes: "Axes", chart: Chart) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter

    for axis, of in ((chart.x, axes.xaxis), (chart.y, axes.yaxis)):
        if axis.log:
            (axes.set_xscale if of is axes.xaxis else axes.set_yscale)("log")
            of.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        if axis.whole:
            of.set_major_locator(MaxNLocator(integer=True))
        if axis.percent:
            of.set_major_formatter(PercentFormatter(1.0, decimals=None))
    axes.grid(alpha=0.25)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend(fontsize=8, framealpha=0.8, edgecolor="none", loc="best")  # never on the curves
