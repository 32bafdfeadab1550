"""Pictures of an ablation: the first figure by variant, and what its mechanisms add up to."""

from textwrap import fill
from typing import TYPE_CHECKING, Final

from codesign.ablation import AblationResult
from codesign.records import Record
from codesign.report.glossary import label
from codesign.report.matplotlib_charts import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS: Final = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442", "#999999",
)  # fmt: skip
"""Okabe and Ito's, told apart by colour-blind readers too."""


def variant_figure(result: AblationResult) -> "Figure":
    """Draw the first figure of every variant as bars."""
    from matplotlib.figure import Figure

    rows = result.variants()
    name = result.ablation["figures"][0]
    picture = Figure(figsize=(8, 1.2 + 0.32 * len(rows)), layout="constrained")
    axes = picture.add_subplot()
    places = range(len(rows))
    axes.barh(places, [row[name] or 0.0 for row in rows], color=COLOURS[0])
    axes.set_yticks(places, [literal(str(row["variant"])) for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel(label(name))
    axes.set_title(literal(result.ablation["name"]), loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    return picture


def mechanism_figure(result: AblationResult) -> "Figure":
    """Draw, per variant, the contributions stacked on the bare model, and the full model."""
    from matplotlib.figure import Figure

    variants = list(dict.fromkeys(str(row["variant"]) for row in result.mechanisms()))
    picture = Figure(figsize=(2.5 + 1.3 * len(variants), 4.2), layout="constrained")
    axes = picture.add_subplot()
    for place, variant in enumerate(variants):
        rows = [row for row in result.mechanisms() if row["variant"] == variant]
        _stack(axes, place, rows, labelled=place == 0)
    axes.set_xticks(range(len(variants)), [fill(literal(_words(name)), 16) for name in variants])
    axes.set_ylabel(label(result.ablation["figures"][0]))
    axes.set_title(literal(result.ablation["name"]), loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    picture.legend(loc="outside right upper", frameon=False)
    return picture


def _words(name: str) -> str:
    return name.replace("_", " ").replace("=", " = ")


def _stack(axes: "Axes", place: int, rows: list[Record], *, labelled: bool) -> None:
    """Contributions that add up to the right of the bare model, those that take off beside it."""
    bare, full = rows[0]["bare"], rows[0]["full"]
    axes.bar(place, bare, 0.7, color="#d9d9d9", label="bare model" if labelled else None)
    top = bare
    for row, colour in zip(rows, COLOURS, strict=False):
        named = literal(row["name"]) if labelled else None
        if row["shapley"] >= 0:
            axes.bar(place, row["shapley"], 0.7, bottom=top, color=colour, label=named)
            top += row["shapley"]
    for row, colour in zip(rows, COLOURS, strict=False):
        named = literal(row["name"]) if labelled else None
        if row["shapley"] < 0:
            top += row["shapley"]
            axes.bar(
                place, -row["shapley"], 0.35, bottom=top, color=colour, hatch="//", label=named,
                edgecolor="white",
            )  # fmt: skip
    ends = [place - 0.45, place + 0.45]
    named = "full model" if labelled else None
    axes.plot(ends, [full, full], color="black", linewidth=2, label=named)
