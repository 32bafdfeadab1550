"""Validation as tables, JSON or CSV."""

from collections.abc import Sequence
from typing import Any, Final

from codesign.report.formats import to_csv, to_json, to_text
from codesign.report.grids import Grid
from codesign.validation import ValidationRow
from codesign.validation.measured import Measured


def render_validation(
    cases: Sequence[ValidationRow],
    drift: Sequence[ValidationRow],
    measured: Measured | None,
    form: str,
) -> str:
    """Return shipped cases, drift and measurement sets as ``table``, ``json`` or ``csv``.

    JSON and CSV are one list of rows with the same keys, groups of measurements among them.
    """
    groups = [group.to_row() for group in measured.groups] if measured else []
    rows = [row.to_record() for row in (*cases, *groups, *drift)]
    if form == "json":
        return to_json(rows)
    if form == "csv":
        return to_csv(rows)
    parts: list[Any] = [_cases(cases), _verdict(cases, drift)]
    if drift:
        parts.insert(1, _drift(drift))
    if measured is not None:
        parts += [_groups(measured), _summary(measured), _ordered(measured), _intervals(measured)]
    return to_text(*parts)


WORDS: Final = ("case", "note", "model", "hardware", "quantity", "data set", "prediction")
"""Columns of words; all others are numbers."""


def _grid(title: str, columns: Sequence[str], rows: list[list[str]]) -> Grid:
    text = [place for place, column in enumerate(columns) if column in WORDS]
    return Grid(title, columns, rows, text)


def _cases(rows: Sequence[ValidationRow]) -> Grid:
    title = "Published numbers"
    columns = ["case", "predicted", "reported", "error", "within", "note"]
    cells: list[list[str]] = []
    for row in rows:
        tolerance = "-" if row.tolerance is None else f"{row.tolerance:.1%}"
        standing = {True: tolerance, False: f"MISSES {tolerance}", None: "outside"}[row.ok]
        note = ("fitted; " if row.fitted else "") + row.note
        cells.append([
            row.case, _number(row.predicted), _number(row.reported), _share(row.error), standing,
            note.removesuffix("; "),
        ])  # fmt: skip
    return _grid(title, columns, cells)


def _drift(rows: Sequence[ValidationRow]) -> Grid:
    title = "Drift: predictions that changed"
    columns = ["case", "now", "baseline", "error"]
    cells: list[list[str]] = []
    for row in rows:
        cells.append([row.case, _number(row.predicted), _number(row.reported), _share(row.error)])
    return _grid(title, columns, cells)


def _groups(measured: Measured) -> Grid:
    title = "Measurements by model and hardware (held out unless marked)"
    columns = ["data set", "quantity", "model", "hardware", "n", "bias", "median", "p90", "note"]
    cells: list[list[str]] = []
    for group in measured.groups:
        note = ("FITTED; " if group.fitted else "") + group.note
        cells.append([
            group.data_set, group.quantity, f"{group.model} ({group.source})", group.hardware,
            f"{group.predicted.size:,}", _share(group.to_record()["bias"]),
            f"{group.median:.1%}", f"{group.p90:.1%}", note.removesuffix("; "),
        ])  # fmt: skip
    return _grid(title, columns, cells)


def _summary(measured: Measured) -> Grid:
    title = "All held-out measurements"
    columns = ["data set", "quantity", "groups", "n", "median", "p90", "median of groups"]
    cells: list[list[str]] = []
    for row in measured.summary():
        cells.append([
            row["data_set"], row["quantity"], str(row["groups"]), f"{row['n']:,}",
            f"{row['median_error']:.1%}", f"{row['p90_error']:.1%}",
            f"{row['median_of_groups']:.1%}",
        ])  # fmt: skip
    return _grid(title, columns, cells)


def _ordered(measured: Measured) -> str:
    right, total = measured.ordered
    if not total:
        return ""
    return (
        f"Order of MoE cycle ratios that differ by more than 5 %: {right} of {total} pairs right "
        f"({right / total:.0%})"
    )


def _intervals(measured: Measured) -> Grid:
    title = "5-95 % intervals of held-out cells"
    columns = [
        "prediction", "cells", "groups", "covered", "median width", "pinball loss",
        "with one constant error",
    ]  # fmt: skip
    cells: list[list[str]] = []
    for score in measured.intervals:
        cells.append([
            score.name, str(score.cells), str(score.groups), f"{score.coverage:.0%}",
            f"{score.width:.0%}", f"{score.pinball:.4f}", f"{score.constant_pinball:.4f}",
        ])  # fmt: skip
    return _grid(title, columns, cells)


def _verdict(cases: Sequence[ValidationRow], drift: Sequence[ValidationRow]) -> str:
    inside = sum(row.ok is True for row in cases)
    missed = sum(row.ok is False for row in cases)
    outside = sum(row.ok is None for row in cases)
    changed = f"{len(drift)} predictions drifted" if drift else "no drift"
    return (
        f"{inside} published numbers within tolerance, {missed} missed, {outside} outside the "
        f"model; {changed}"
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:+.1%}"
