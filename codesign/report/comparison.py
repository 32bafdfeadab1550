"""Several results side by side: what differs in the question, and what that does to the answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from codesign.designs import Designs
from codesign.records import Record
from codesign.regimes import scanned_batch_sizes
from codesign.report.batch_charts import BATCH, best_lengths, curve
from codesign.report.cells import Cell, Row, Table, cell, look_up, pointer, table
from codesign.report.charts import Axis, Chart, Dash, Role, Series, look
from codesign.report.glossary import component_label, constraint_label, label, unit
from codesign.report.rebuilt import Rebuilt
from codesign.report.report import Report
from codesign.report.result_charts import axis_of, design_words, scaled
from codesign.report.tables_answer import AXES, COMPARED

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_IN_NAME: Final = 3


@dataclass(frozen=True)
class Comparison:
    """Reports of several results.

    Parameters
    ----------
    reports : tuple of Report
        At least two.
    """

    reports: tuple[Report, ...]

    @cached_property
    def differences(self) -> dict[str, list[Any]]:
        """Fields of the studies that are not the same in all, with each one's value."""
        flat = [dict(_flattened(report.result["study"])) for report in self.reports]
        keys = list(dict.fromkeys(key for each in flat for key in each))
        values = {key: [each.get(key) for each in flat] for key in keys}
        return {k: v for k, v in values.items() if any(each != v[0] for each in v)}

    @cached_property
    def names(self) -> list[str]:
        """Each result by its letter and what is its own."""
        telling = [key for key in self.differences if key != "name"][:MOST_IN_NAME]
        names = []
        for n, report in enumerate(self.reports):
            own = [_said(key, self.differences[key][n]) for key in telling]
            names.append(f"{LETTERS[n]}: {', '.join(own) or report.result['study']['name']}")
        return names

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader has to know before believing the curves."""
        return tuple(
            f"{name}: {warning}"
            for name, report in zip(self.names, self.reports, strict=True)
            for warning in report.warnings
        )

    def cells(self, *path: str | int, unit: str = "-", digits: int = 4) -> list[Cell]:
        """Return the same value of every result."""
        return [
            replace(cell(report.result, *path, unit=unit, digits=digits), source=n)
            for n, report in enumerate(self.reports)
        ]

    # ---- tables --------------------------------------------------------------------------

    @cached_property
    def tables(self) -> dict[str, Table]:
        """Every table by name."""
        made = (self._answers(), self._questions(), self._constraints())
        return {each.name: each for each in made}

    def _columns(self) -> Mapping[str, str]:
        return {"": ""} | {LETTERS[n]: name for n, name in enumerate(self.names)}

    def _answers(self) -> Table:
        at = ("best", "prediction")
        rows: list[Row] = [
            ["verdict: build", *self.cells("verdict", "choice")],
            ["gain over the reference", *self.cells("verdict", "gain", unit="gain", digits=2)],
            ["gain: 5 % of draws below",
             *self.cells("verdict", "interval", 0, unit="gain", digits=2)],
            ["gain: 95 % of draws below",
             *self.cells("verdict", "interval", 1, unit="gain", digits=2)],
        ]  # fmt: skip
        rows += [[label(axis), *self.cells("best", "design", axis)] for axis in AXES]
        objectives = dict.fromkeys(r.result["verdict"]["objective"] for r in self.reports)
        for name in objectives:
            expected = self.cells("best", "objectives", name, unit=unit(name))
            rows.append([f"{label(name)}, expected", *expected])
        rows += [[label(name), *self.cells(*at, name, unit=unit(name))] for name in COMPARED]
        rows += [
            ["probability that quality holds",
             *self.cells(*at, "quality", "probability", unit="share", digits=3)],
            ["best in this share of draws",
             *self.cells("stability", "best_is_optimal", unit="share", digits=2)],
            ["certificate", *self.cells("certificate", "kind")],
            ["designs", *self.cells("certificate", "designs")],
            ["feasible designs", *self.cells("certificate", "feasible")],
        ]  # fmt: skip
        return table(
            "compared", "The answers side by side", self._columns(), rows,
            "Of each result's best design; expected and gain over the draws, all else at the "
            "values in use.",
        )  # fmt: skip

    def _questions(self) -> Table:
        rows: list[Row] = [[key, *map(_worded, values)] for key, values in self.differences.items()]
        note = "Fields of the studies that are not the same; everything else is."
        return table("questions", "What differs in the question", self._columns(), rows, note)

    def _constraints(self) -> Table:
        results = [report.result for report in self.reports]
        names = dict.fromkeys(name for r in results for name in r["best"]["constraints"])
        rows: list[Row] = []
        for name in names:
            standings = (look_up(r, pointer("best", "constraints", name)) for r in results)
            shown_as = next((each["unit"] for each in standings if each), "-")
            at = ("best", "constraints", name, "slack")
            rows.append([constraint_label(name), *self.cells(*at, unit=shown_as)])
        note = "What is left before each limit, at each result's best design."
        return table("slack", "Slack of the constraints", self._columns(), rows, note)

    # ---- charts --------------------------------------------------------------------------

    @cached_property
    def charts(self) -> dict[str, Chart]:
        """Every chart by name."""
        made = [self._fronts(), self._curves(), self._throughputs(), self._lengths(),
                self._components()]  # fmt: skip
        return {chart.name: chart for chart in made if chart.series}

    def _drawn(self) -> list[tuple[str, Rebuilt, Role, Dash]]:
        """Results whose study resolves, each with its looks."""
        return [
            (self.names[n], report.rebuilt, *look(n))
            for n, report in enumerate(self.reports)
            if isinstance(report.rebuilt, Rebuilt)
        ]

    def _lines(self, name: str, title: str, caption: str, axis: Axis, figure: str) -> Chart:
        sizes = scanned_batch_sizes()
        series = tuple(
            Series(
                f"{title}", sizes,
                curve(rebuilt.over_batch_sizes(rebuilt.design("best"), sizes), figure),
                "line", role, dash,
            )
            for title, rebuilt, role, dash in self._drawn()
        )  # fmt: skip
        return Chart(name, title, caption, BATCH, axis, series)

    def _curves(self) -> Chart:
        return self._lines(
            "speedup", "At which batch sizes does speculative decoding pay?",
            "SD speedup of each result's best design, at the values in use.",
            Axis("SD speedup [×]"), "sd_speedup",
        )  # fmt: skip

    def _throughputs(self) -> Chart:
        return self._lines(
            "throughput", "How many tokens per second does a GPU yield?",
            "With speculative decoding, each result's best design, at the values in use.",
            Axis("tokens/s per GPU", log=True), "sd_tokens_per_s_per_gpu",
        )  # fmt: skip

    def _lengths(self) -> Chart:
        sizes, series = scanned_batch_sizes(), []
        for name, rebuilt, role, dash in self._drawn():
            lengths = np.array(rebuilt.problem.space.axes["draft_tokens"], dtype=np.float64)
            own = rebuilt.design("best")
            every = Designs.of(
                own.experts, own.top_k, own.shared_experts, lengths, own.expert_width
            )
            chosen, _ = best_lengths(lengths, rebuilt.over_batch_sizes(every, sizes).sd_speedup)
            series.append(Series(name, sizes, chosen, "steps", role, dash))
        return Chart(
            "draft_length", "How many tokens to draft at each batch size?",
            "The K with the largest SD speedup of each result's best design.",
            BATCH, Axis("best K (drafted tokens)", whole=True), tuple(series),
        )  # fmt: skip

    def _fronts(self) -> Chart:
        """Fronts of the results that trade the same objectives as the first."""
        up, across = (self.reports[0].result["front_objectives"] or ["", ""])[:2]
        series = []
        for n, report in enumerate(self.reports):
            rows = report.result["front"]
            if rows and report.result["front_objectives"][:2] == [up, across]:
                x, y = (
                    scaled(name, np.array([row["objectives"][name] for row in rows]))
                    for name in (across, up)
                )
                labels = [design_words(row["design"]) for row in rows]
                series.append(Series(self.names[n], x, y, "points", look(n)[0], labels=labels))
        return Chart(
            "front", "What does each front offer?",
            "Loss differences are each against its own reference.",
            axis_of(across), axis_of(up), tuple(series),
        )  # fmt: skip

    def _components(self) -> Chart:
        series = []
        for n, report in enumerate(self.reports):
            parts = report.result["best"]["prediction"]["by_batch_size"][0]["components"]["verify"]
            ordered = sorted(parts, key=lambda name: parts[name])
            titles = [component_label(name) for name in ordered]
            times = [parts[name] * 1e3 for name in ordered]
            role, dash = look(n)
            series.append(Series(self.names[n], times, titles, "bars", role, dash))
        return Chart(
            "breakdown", "Where does the verify pass spend its time?",
            "Of each result's best design at its first batch size, at the values in use.",
            Axis("time [ms]"), Axis(""), tuple(series),
        )  # fmt: skip


def _flattened(value: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Fields by dotted path; a list is one value."""
    if not isinstance(value, dict):
        return [(prefix, value)]
    return [
        pair
        for key, inner in value.items()
        for pair in _flattened(inner, f"{prefix}.{key}" if prefix else key)
    ]


_WORDS: Final[dict[str, Callable[[Any], str]]] = {
    "workload.target_batch_size": lambda mix: "batch " + _worded(mix),
    "workload.context": lambda tokens: f"context {tokens:,}",
}


def _said(key: str, value: Any) -> str:
    """One difference in a name: the value alone where it speaks for itself."""
    if key in _WORDS and value is not None:
        return _WORDS[key](value)
    if key in ("hardware", "reference"):
        return str(value)
    return f"{key.rpartition('.')[2].replace('_', ' ')} {_worded(value)}"


def _worded(value: Any) -> str:
    """A field of a study in words: mixes and objectives as people write them."""
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return ", ".join(_entry(each) for each in value)
    if isinstance(value, list):
        return f"{value[0]} to {value[-1]}" if len(value) > 4 else ", ".join(map(str, value))
    return "-" if value is None else str(value)


def _entry(entry: Record) -> str:
    if "batch_size" in entry:
        share = entry.get("share", 1.0)
        return f"{entry['batch_size']:,}" + (f" ({share:.0%})" if share != 1.0 else "")
    return ":".join(str(part) for part in entry.values())
