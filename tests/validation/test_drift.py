"""Drift: nothing changed against the committed baseline; what changes fails."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from codesign.cli import app
from codesign.errors import UsageError
from codesign.validation import accept_drift, drift_rows
from codesign.validation import drift as module


def test_no_prediction_drifted() -> None:
    changed = drift_rows()
    assert not changed, f"{changed[:3]}: if meant, 'codesign validate --accept'"


def test_changes_appearances_and_losses_are_told(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    count = accept_drift(path)
    assert drift_rows(path) == []
    values = json.loads(path.read_text(encoding="utf-8"))
    assert len(values) == count
    first, second, *_ = values
    values[first] *= 1.001
    values["gone"] = 1.0
    del values[second]
    path.write_text(json.dumps(values), encoding="utf-8")
    found = {row.case: row for row in drift_rows(path)}
    assert set(found) == {first, second, "gone"}
    assert found[first].error == pytest.approx(-0.001, rel=0.01)
    assert found["gone"].predicted is None


def test_a_change_of_rounding_is_no_drift(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    accept_drift(path)
    values = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({k: v * (1 + 1e-9) for k, v in values.items()}), encoding="utf-8")
    assert drift_rows(path) == []


def test_missing_baseline_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no drift baseline"):
        drift_rows(tmp_path / "none.json")


@pytest.mark.parametrize(("factor", "status"), [(1.0, 0), (1.01, 1)])
def test_exit_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: float, status: int
) -> None:
    path = tmp_path / "baseline.json"
    accept_drift(path)
    values = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({k: v * factor for k, v in values.items()}), encoding="utf-8")
    rows = drift_rows(path)
    monkeypatch.setattr(module, "BASELINE", path)
    monkeypatch.setattr("codesign.validation.drift_rows", lambda: rows)
    result = CliRunner().invoke(app, ["validate", "--format", "json"])
    assert result.exit_code == status
    written = json.loads(result.stdout)
    assert sum(row["quantity"] == "drift" for row in written) == len(rows)
    assert ("--accept" in result.stderr) == bool(status)
