"""A result with all that is made of it once: sentences, tables, charts, the space around it."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codesign.errors import UsageError, did_you_mean
from codesign.records import Record
from codesign.report.batch_charts import batch_charts
from codesign.report.cells import Table
from codesign.report.charts import Chart
from codesign.report.cloud import Cloud, Marked, make_cloud, marked_designs
from codesign.report.history import history_chart, read_history
from codesign.report.rebuilt import DRIFT, Rebuilt, rebuild
from codesign.report.result_charts import (
    bar_charts,
    breakdown_chart,
    exclusion_chart,
    front_chart,
)
from codesign.report.tables import result_tables
from codesign.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Report:
    """Everything a report shows, whatever renders it.

    Parameters
    ----------
    result : dict
        As `Result.to_dict` returns it, or result.json read back.
    folder : Path, optional
        What paths of the study's own objectives and constraints are relative to.
    journal : Path, optional
        Where the study kept its trials, if it did.

    Examples
    --------
    In a notebook, ``Report.of(result).figure("speedup")`` shows a plotly figure, and
    ``Report.of(result).picture("speedup")`` returns a matplotlib one.
    """

    result: Record
    folder: Path | None = None
    journal: Path | None = None

    @classmethod
    def of(
        cls, result: Result, folder: Path | None = None, journal: Path | None = None
    ) -> "Report":
        """Return the report of an answer just computed."""
        return cls(result.to_dict(), folder, journal)

    @cached_property
    def tables(self) -> dict[str, Table]:
        """Every table by name."""
        return result_tables(self.result)

    @cached_property
    def rebuilt(self) -> Rebuilt | str:
        """The study's problem, or why it cannot be put together again."""
        return rebuild(self.result, self.folder)

    @cached_property
    def cloud(self) -> Cloud | None:
        """The space around the front."""
        return None if isinstance(self.rebuilt, str) else make_cloud(self.rebuilt.problem)

    @cached_property
    def marked(self) -> Marked | None:
        """Front, best, reference and published shapes with every figure."""
        return None if isinstance(self.rebuilt, str) else marked_designs(self.rebuilt)

    @cached_property
    def charts(self) -> dict[str, Chart]:
        """Every chart by name; those over batch sizes only where the study still resolves."""
        made: list[Chart] = []
        if self.result["front"]:
            made.append(front_chart(self.result, self.cloud, self.marked))
        if not isinstance(self.rebuilt, str):
            made += batch_charts(self.rebuilt)
        made += [breakdown_chart(self.result), *bar_charts(self.result)]
        if self.cloud is not None:
            made.append(exclusion_chart(self.cloud))
        history = read_history(self.journal, self.result)
        if history is not None and history.values:
            made.append(history_chart(self.result, history))
        return {chart.name: chart for chart in made}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader has to know before believing the curves."""
        if isinstance(self.rebuilt, str):
            return (
                "Curves over batch sizes and the space around the front are not drawn for this "
                f"study: {self.rebuilt}",
            )
        if self.rebuilt.drift <= DRIFT:
            return ()
        return (
            "The curves were computed by this version of codesign and differ from the stored "
            f"result by up to {self.rebuilt.drift:.2g} relative; tables and first screen show "
            "the result as stored. Run the study again to bring them together.",
        )

    def figure(self, name: str) -> Any:
        """Return a chart as `plotly.graph_objects.Figure`, which a notebook shows.

        Raises
        ------
        UsageError
            If the result allows no chart of that name.
        """
        from codesign.report.plotly_charts import notebook_figure

        return notebook_figure(self._chart(name))

    def picture(self, name: str) -> "Figure":
        """Return a chart as `matplotlib.figure.Figure`.

        Raises
        ------
        UsageError
            If the result allows no chart of that name.
        """
        from codesign.report.matplotlib_charts import matplotlib_figure

        return matplotlib_figure(self._chart(name))

    def _chart(self, name: str) -> Chart:
        if name not in self.charts:
            hint = did_you_mean(name, self.charts)
            raise UsageError(f"no chart {name!r}{hint}; there are {', '.join(self.charts)}")
        return self.charts[name]
