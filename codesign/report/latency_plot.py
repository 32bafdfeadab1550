"""Pictures of a latency section: the fit, its errors, kernels, widths and draft lengths."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from codesign.report.matplotlib_charts import literal
from codesign.spec.section import Section, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS: Final = 3


def draw(figure: "Figure", section: Section) -> None:
    """Draw up to three panels, of the tables that the section has."""
    panels: list[tuple[Table, Callable[[Axes, Table], None]]] = [
        (table, panel)
        for name, panel in PANELS
        if (table := section.table(name)) is not None and table.rows
    ]
    # Points alone say least: drawn only where there is nothing else.
    panels = panels[: max(len(panels) - 1, 1)][:MOST_PANELS]
    axes = np.atleast_1d(figure.subplots(1, max(len(panels), 1)))
    for axis, (table, panel) in zip(axes, panels, strict=False):
        panel(axis, table)
        axis.grid(True, alpha=0.3)
    figure.suptitle(literal(_title(section)))


def _title(section: Section) -> str:
    where = [getattr(section, name, None) for name in ("architecture", "hardware", "backend")]
    told = ", ".join(str(part) for part in where if part) or "latency"
    if section.residual is None:
        return told
    return f"{told}: {section.residual.value:.1%} root mean square"


def _column(table: Table, name: str) -> list[Any]:
    index = table.columns.index(name)
    return [row[index] for row in table.rows]


def _series(table: Table, *names: str) -> list[tuple[Any, ...]]:
    """Rows of some columns in which none is empty."""
    found = zip(*(_column(table, name) for name in names), strict=True)
    return [row for row in found if None not in row]


def _fit(axis: "Axes", table: Table) -> None:
    """Measured against fitted time by batch size, one colour per draft length."""
    rows = _series(table, "B", "K", "measured [ms]", "fitted [ms]")
    for index, drafted in enumerate(sorted({row[1] for row in rows})):
        chosen = sorted(row for row in rows if row[1] == drafted)
        batch, _, measured, fitted = zip(*chosen, strict=True)
        colour = f"C{index}"
        axis.plot(batch, measured, "o", color=colour, label=f"K = {drafted}")
        axis.plot(batch, fitted, "x", color=colour)
    axis.set(xscale="log", yscale="log", xlabel="batch size", ylabel="step time [ms]")
    axis.set_title("measured (o), fitted (x)")
    axis.legend()


def _errors(axis: "Axes", table: Table) -> None:
    residuals, left_out = _column(table, "residual [%]"), _column(table, "left out [%]")
    place = np.arange(len(residuals))
    axis.axhline(0, color="black", linewidth=0.8)
    axis.plot(place, residuals, "o", label="fitted with the point")
    axis.plot(place, left_out, "+", label="without it")
    axis.set(xlabel="point", ylabel="fitted over measured [%]", title="errors")
    axis.legend()


def _kernel(axis: "Axes", table: Table) -> None:
    tokens = _column(table, "tokens")
    axis.plot(tokens, _column(table, "measured [us]"), "o", label="measured")
    axis.plot(tokens, _column(table, "fitted [us]"), "-", label="floor + experts + tokens")
    axis.set(xscale="log", xlabel="tokens", ylabel="kernel time [us]", title="routed experts")
    axis.legend()


def _passes(axis: "Axes", table: Table) -> None:
    for index, batch in enumerate(sorted(set(_column(table, "B")))):
        colour = f"C{index}"
        measured = [
            row[1:] for row in _series(table, "B", "width", "measured [ms]") if row[0] == batch
        ]
        curve = [row[1:] for row in _series(table, "B", "width", "curve [ms]") if row[0] == batch]
        axis.plot(*zip(*measured, strict=True), "o", color=colour, label=f"B = {batch}")
        axis.plot(*zip(*curve, strict=True), "-", color=colour)
    axis.set(xlabel="width [tokens]", ylabel="pass [ms]")
    axis.set_title("measured (o), curve of two tokens and more")
    axis.legend()


def _drafts(axis: "Axes", table: Table) -> None:
    for batch in sorted(set(_column(table, "B"))):
        rows = [row[1:] for row in _series(table, "B", "K", "tokens_per_s") if row[0] == batch]
        axis.plot(*zip(*rows, strict=True), "o-", label=f"B = {batch}")
    axis.set(xlabel="draft tokens K", ylabel="tokens/s", title="by draft length")
    axis.legend()


def _points(axis: "Axes", table: Table) -> None:
    rows: Sequence[tuple[Any, ...]] = _series(table, "B", "time [ms]")
    if rows:
        axis.plot(*zip(*rows, strict=True), "o")
    axis.set(xlabel="batch size", ylabel="time [ms]", title="measured points")


PANELS: Final[tuple[tuple[str, Callable[["Axes", Table], None]], ...]] = (
    ("residuals", _fit),
    ("residuals", _errors),
    ("kernel", _kernel),
    ("passes", _passes),
    ("draft_lengths", _drafts),
    ("points", _points),
)
"""Table and its panel, the most telling first."""
