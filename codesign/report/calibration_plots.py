"""A picture of a section's fit, drawn from the section alone."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codesign.errors import UsageError
from codesign.report.matplotlib_charts import save_picture
from codesign.spec.calibration import SectionName
from codesign.spec.section import Section

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Draw = Callable[["Figure", Section], None]

PLOT_MODULES: Final[dict[SectionName, str]] = {
    "routing": "codesign.report.routing_plot",
    "acceptance": "codesign.report.acceptance_plot",
    "latency": "codesign.report.latency_plot",
    "profile": "codesign.report.profile_plot",
}
"""Modules with a function `draw(figure, section)`."""


def plot_section(name: SectionName, section: Section, path: Path) -> None:
    """Draw a section into a file.

    Raises
    ------
    UsageError
        If the section has no plot, the ending is none of .png, .svg, .pdf, or the file cannot be
        written.
    """
    if name not in PLOT_MODULES:
        raise UsageError(f"--plot: section {name} has no picture")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4.5), layout="constrained")
    draw: Draw = import_module(PLOT_MODULES[name]).draw
    draw(figure, section)
    save_picture(figure, path)
