"""Several results side by side."""

from copy import deepcopy

import pytest

from codesign.records import Record
from codesign.report.comparison import Comparison
from codesign.report.report import Report


@pytest.fixture
def comparison(result: Record) -> Comparison:
    """Two GPUs and two batch sizes."""
    other = deepcopy(result)
    other["study"]["hardware"] = "h200"
    other["study"]["workload"]["target_batch_size"] = [
        {"batch_size": 8, "share": 0.3}, {"batch_size": 64, "share": 0.7},
    ]  # fmt: skip
    other["verdict"]["gain"] = 0.25
    return Comparison((Report(result), Report(other)))


def test_results_are_named_by_what_differs(comparison: Comparison) -> None:
    assert comparison.names == ["A: h100, batch 32", "B: h200, batch 8 (30%), 64 (70%)"]


def test_only_what_differs_is_listed(comparison: Comparison) -> None:
    table = comparison.tables["questions"]
    assert [row[0].value for row in table.rows] == ["hardware", "workload.target_batch_size"]
    assert [cell.value for cell in table.rows[0]] == ["hardware", "h100", "h200"]


def test_answers_come_from_their_own_result(comparison: Comparison) -> None:
    rows = {row[0].value: row for row in comparison.tables["compared"].rows}
    gains = rows["gain over the reference"]
    own = comparison.reports[0].result["verdict"]["gain"]
    assert [cell.value for cell in gains[1:]] == [own, 0.25]
    assert [cell.source for cell in gains[1:]] == [0, 1]


def test_every_chart_has_a_series_for_each(comparison: Comparison) -> None:
    assert set(comparison.charts) == {
        "front", "speedup", "throughput", "draft_length", "breakdown",
    }  # fmt: skip
    for chart in comparison.charts.values():
        assert [series.name for series in chart.series] == comparison.names


def test_equal_questions_go_by_their_study_names(result: Record) -> None:
    comparison = Comparison((Report(result), Report(deepcopy(result))))
    assert comparison.names == ["A: codesign", "B: codesign"]
    assert comparison.tables["questions"].rows == ()


def test_a_result_that_does_not_resolve_keeps_its_tables(result: Record) -> None:
    other = deepcopy(result)
    other["study"]["hardware"] = "no-such-gpu"
    comparison = Comparison((Report(result), Report(other)))
    assert any("no-such-gpu" in warning for warning in comparison.warnings)
    assert len(comparison.charts["speedup"].series) == 1
    assert len(comparison.tables["compared"].columns) == 3
