"""Picture of a profile section: components of a step by load, and the routed share of what."""

from typing import TYPE_CHECKING, Any

import numpy as np

from codesign.report.matplotlib_charts import literal
from codesign.spec.section import Section, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw(figure: "Figure", section: Section) -> None:
    """Draw stacked components of every load, and the routed share over each denominator."""
    left, right = figure.subplots(1, 2)
    components, fractions = section.table("components"), section.table("fractions")
    if components is not None:
        _components(left, components)
    if fractions is not None:
        _fractions(right, fractions)
    figure.suptitle(literal(f"{section.samples} {section.samples_unit}"))


def _load(row: tuple[Any, ...]) -> str:
    return "profile" if row[0] is None else f"B = {row[0]}, q = {row[1]}"


def _components(axis: "Axes", table: Table) -> None:
    loads = list(dict.fromkeys(_load(row) for row in table.rows))
    names = list(dict.fromkeys(str(row[3]) for row in table.rows if row[4]))
    below = np.zeros(len(loads))
    for name in names:
        heights = np.zeros(len(loads))
        for row in table.rows:
            if row[3] == name and isinstance(row[4], int | float):
                heights[loads.index(_load(row))] += row[4]
        axis.bar(loads, heights, bottom=below, label=literal(name))
        below += heights
    axis.set(ylabel="time [us]", title="where the time goes (summed)")
    axis.legend(fontsize="small")


def _fractions(axis: "Axes", table: Table) -> None:
    names = [f"{row[3]}, {_load(row)}" for row in table.rows]
    axis.barh(names, [float(row[5] or 0) for row in table.rows])
    axis.set(xlim=(0, 1), xlabel="routed expert products over", title="routed share")
