"""Shipped cases: they run, and say what they are."""

import json
from pathlib import Path
from typing import Any

import pytest

from codesign.errors import UsageError
from codesign.validation import ValidationRow, shipped_rows
from codesign.validation.case import case_files
from codesign.validation.field_reports import field_reports
from codesign.validation.quantities import QUANTITIES

KEYS = ["case", "quantity", "predicted", "reported", "error", "tolerance", "source", "fitted",
        "ok", "note"]  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> list[ValidationRow]:
    return shipped_rows()


def test_every_case_is_predicted_or_says_why_not(rows: list[ValidationRow]) -> None:
    assert len(rows) == sum(len(file.cases) for _, file in case_files()) > 80
    for row in rows:
        assert list(row.to_record()) == KEYS
        assert row.source
        if row.predicted is None:
            assert row.note and row.ok is None
        else:
            assert row.ok is not None
    json.dumps([row.to_record() for row in rows], allow_nan=False)


def test_names_are_unique(rows: list[ValidationRow]) -> None:
    names = [row.case for row in rows]
    assert len(set(names)) == len(names)


def test_published_router_figures_are_met(rows: list[ValidationRow]) -> None:
    # Closed forms and the fitted router; a miss here is a bug, not an inaccuracy.
    for row in rows:
        if row.case.startswith(("acceptance/", "cohere_router/", "cohere_window/")):
            assert row.ok is not False, row


def test_most_held_out_numbers_are_within_tolerance(rows: list[ValidationRow]) -> None:
    held_out = [row for row in rows if not row.fitted and row.ok is not None]
    assert sum(bool(row.ok) for row in held_out) >= 0.85 * len(held_out)


def test_field_reports_are_answered_as_measured() -> None:
    reports = field_reports()
    assert [report.case for report in reports] == sorted(report.case for report in reports)
    assert len(reports) >= 17
    for report in reports:
        assert report.agrees, report
        assert report.answer


def case_file(folder: Path, **case: Any) -> Path:
    data = {
        "source": "made up",
        "tolerance": 0.1,
        "cases": [{"name": "one", "reported": 1.0} | case],
    }
    (folder / "made_up.yaml").write_text(json.dumps(data), encoding="utf-8")
    return folder


def test_a_case_of_ones_own(tmp_path: Path) -> None:
    settings = {"experts": 8, "top_k": 2, "tokens": 3}
    (row,) = shipped_rows(case_file(tmp_path, quantity="unique_uniform", settings=settings))
    assert row.predicted == pytest.approx(4.625)  # 8 (1 - .75^3)
    assert row.error == pytest.approx(3.625)
    assert row.ok is False


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ({"quantity": "unique_unform"}, "did you mean 'unique_uniform'"),
        ({"quantity": "unique_uniform", "settings": {"expert": 8}}, "expert"),
        ({"quantity": "unique_uniform", "tolerance": -1}, "tolerance"),
        ({"quantity": "unique_uniform", "reportet": 1}, "did you mean 'reported'"),
    ],
)
def test_broken_cases_are_named(tmp_path: Path, case: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        shipped_rows(case_file(tmp_path, **case))


def test_every_quantity_has_a_unit() -> None:
    for name, quantity in QUANTITIES.items():
        assert quantity.__doc__, name
        assert "[" in quantity.__doc__ or "else 0" in quantity.__doc__, name


def test_error_of_a_reported_zero_is_absolute() -> None:
    row = ValidationRow("c", "q", 0.25, 0.0, 0.3, "s")
    assert row.error == 0.25
    assert row.ok is True
