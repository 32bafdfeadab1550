"""Picture of an acceptance section: length against draft length, survival by position."""

from typing import TYPE_CHECKING

from codesign.spec.section import Section, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(figure: "Figure", section: Section) -> None:
    """Draw acceptance length and, where it was counted, acceptance by position."""
    lengths, positions = section.table("acceptance_length"), section.table("positions")
    there = [table for table in (lengths, positions) if table is not None]
    grid = figure.subplots(1, max(len(there), 1), squeeze=False)[0]
    for axes, table in zip(grid, there, strict=False):
        if table.name == "acceptance_length":
            _lengths(axes, table)
        else:
            _positions(axes, table)


def _lengths(axes: "Axes", table: Table) -> None:
    draft = table.numbers("K")
    axes.plot(draft, table.numbers("measured"), "ko", label="measured")
    for name, style in (("used", "-"), ("constant", ":"), ("decay", "--")):
        axes.plot(draft, table.numbers(name), style, label=name)
    flags = zip(draft, table.column("beyond the data"), strict=True)
    beyond = [length for length, flag in flags if flag]
    if beyond:
        axes.axvspan(beyond[0] - 0.5, beyond[-1] + 0.5, alpha=0.1)
        axes.annotate("extrapolated", (beyond[0], 1.05), fontsize="small")
    axes.set_ylim(bottom=1)
    axes.set_xlabel("draft tokens, K")
    axes.set_ylabel("acceptance length")
    axes.legend()


def _positions(axes: "Axes", table: Table) -> None:
    place = table.numbers("position")
    errors = [2 * error for error in table.numbers("standard error")]
    axes.errorbar(place, table.numbers("survival"), yerr=errors, fmt="ko", label="measured")
    for name, style in (("constant", ":"), ("decay", "--")):
        axes.plot(place, table.numbers(name), style, label=name)
    axes.set_ylim(0, 1)
    axes.set_xlabel("position")
    axes.set_ylabel("survival (two standard errors)")
    axes.legend()
