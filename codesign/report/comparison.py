"""Several results side by side: what differs in the question, and what that does to the answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

from codesign.records import Record
from codesign.report.cells import Cell, Row, Table, cell, look_up, pointer, table
from codesign.report.charts import Chart
from codesign.report.comparison_charts import comparison_charts
from codesign.report.glossary import constraint_label, label, unit
from codesign.report.report import Report
from codesign.report.tables_answer import AXES, COMPARED

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MOST_IN_NAME: Final = 3


def letter(number: int) -> str:
    """Return the letter of a result, two from the 27th on.

    Examples
    --------
    >>> letter(0), letter(25), letter(26), letter(52)
    ('A', 'Z', 'AA', 'BA')
    """
    before, own = divmod(number, len(LETTERS))
    return (letter(before - 1) if before else "") + LETTERS[own]


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
            names.append(f"{letter(n)}: {', '.join(own) or report.result['study']['name']}")
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
        return {"": ""} | {letter(n): name for n, name in enumerate(self.names)}

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
        for name in COMPARED:
            title = label(name) + (", values in use" if name in objectives else "")
            rows.append([title, *self.cells(*at, name, unit=unit(name))])
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
        return {chart.name: chart for chart in comparison_charts(self.names, self.reports)}


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
