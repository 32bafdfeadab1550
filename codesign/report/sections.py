"""The order of a report: which charts and tables answer which question."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Section:
    """A part of the report.

    Parameters
    ----------
    anchor, short, title : str
    charts, tables : tuple of str
        Names; what a result does not allow is left out.
    """

    anchor: str
    short: str
    title: str
    charts: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()


SECTIONS: Final = (
    Section("front", "Front", "What the designs trade", ("front",), ("front",)),
    Section("designs", "Designs", "The designs side by side", (), ("designs",)),
    Section(
        "batch", "Batch sizes", "Over batch sizes", ("speedup", "throughput", "draft_length")
    ),
    Section(
        "verification", "Verification", "Where verification costs",
        ("breakdown", "unique_experts"), ("components",),
    ),
    Section("sparsity", "Sparsity", "Sparsity and the sweet spot", ("sparsity",)),
    Section(
        "constraints", "Constraints", "Constraints and their price",
        ("exclusions",), ("constraints", "memory"),
    ),
    Section("quality", "Quality", "Quality", (), ("quality",)),
    Section(
        "confidence", "Confidence", "How stable the choice is, and what to measure",
        ("stability", "information"), ("plateau", "stability", "information"),
    ),
    Section(
        "sensitivity", "Sensitivity", "What the objective depends on",
        ("axes", "elasticities"), ("axes", "elasticities"),
    ),
    Section("search", "Search", "Search and certificate", ("history",), ("certificate",)),
    Section(
        "origin", "Origin", "Where it comes from", (),
        ("calibration", "assumptions", "provenance"),
    ),
)  # fmt: skip

FOLDED: Final = ("front", "components", "memory", "stability", "information", "axes",
                 "elasticities")  # fmt: skip
"""Tables that repeat a chart: opened by who wants the numbers."""
