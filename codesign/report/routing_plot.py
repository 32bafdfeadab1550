"""Picture of a routing section: unique experts and overlap, measured against the models."""

from typing import TYPE_CHECKING, Final

from codesign.report.matplotlib_charts import literal
from codesign.spec.section import Section, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STYLES: Final = {
    "measured": ("o", "black"),
    "fitted": ("-", "tab:blue"),
    "independent": ("--", "tab:orange"),
    "uniform": (":", "tab:gray"),
}
PANELS: Final = (
    ("unique_by_batch", "tokens of different sequences, B", "unique experts"),
    ("unique_by_window", "consecutive tokens, q", "unique experts"),
    ("overlap_by_lag", "distance of two tokens, lag", "overlap"),
)


def draw(figure: "Figure", section: Section) -> None:
    """Draw the tables that a routing section has."""
    panels = [(section.table(name), x, y) for name, x, y in PANELS]
    there = [(table, x, y) for table, x, y in panels if table is not None]
    grid = figure.subplots(1, max(len(there), 1), squeeze=False)
    for axes, (table, x, y) in zip(grid[0], there, strict=False):
        _panel(axes, table, x, y)
    if there:
        grid[0][0].legend()


def _panel(axes: "Axes", table: Table, x: str, y: str) -> None:
    position = table.numbers(table.columns[0])
    for name, (style, colour) in STYLES.items():
        if name in table.columns:
            axes.plot(position, table.numbers(name), style, color=colour, label=name)
    if table.name != "overlap_by_lag":
        axes.set_xscale("log", base=2)
    axes.set_ylim(bottom=0)
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(literal(table.title), fontsize="small")
