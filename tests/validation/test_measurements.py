"""Measurement sets: documented CSV forms, missing columns, and the accuracy asked for."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from codesign.errors import DataError, UsageError
from codesign.report.validation_tables import render_validation
from codesign.validation import GroupErrors
from codesign.validation.acceptance_data import acceptance_errors
from codesign.validation.cycle_data import cycle_errors
from codesign.validation.kernel_data import forced_routing_errors, routed_errors
from codesign.validation.measured import Measured, measured_errors
from codesign.validation.tables import find_table, read_table
from tests.shared_data import SHARED, needs_shared


def test_tables_are_found_by_the_beginning_of_their_name(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    path = tmp_path / "deep" / "moe_kernels_mine.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    assert find_table(tmp_path, "moe_kernels") == path
    assert find_table(tmp_path, "gemm") is None
    with pytest.raises(UsageError, match="no folder"):
        find_table(tmp_path / "nowhere", "gemm")


def test_missing_columns_and_broken_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(DataError, match="no column c, d; it has a, b"):
        read_table(path, ("a", "c", "d"))
    path.write_bytes(b"\x1f\x8b\x00")
    with pytest.raises(DataError, match="not a table"):
        read_table(path, ("a",))


def test_an_empty_folder_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"docs/validation\.md"):
        measured_errors(tmp_path)


def test_acceptance_of_the_decay_form_is_predicted_exactly(tmp_path: Path) -> None:
    rates = 0.8 * 0.95 ** np.arange(6)
    lengths = 1 + np.cumsum(np.cumprod(rates))
    table = pd.DataFrame({"file": "f", "model": "m", "mode": "on", "K": range(1, 7), "AL": lengths})
    table.to_csv(tmp_path / "acceptance_by_K.csv", index=False)
    errors = {group.quantity: group.median for group in acceptance_errors(tmp_path)}
    assert errors["AL(K), decay form"] < 1e-4
    assert errors["AL(K), constant form"] > 0.005


def test_dense_controls_alone_set_the_engine(tmp_path: Path) -> None:
    base = {"source": "s", "hardware": "H200", "n_gpus": np.nan, "engine": "SGLang", "K": 3,
            "method": "EAGLE3-chain", "dataset": "d", "quality": "A"}  # fmt: skip
    dense = base | {"model": "Llama-3.1-8B-Instruct", "N": np.nan, "batch_size": 1,
                    "baseline_tpot_ms": 5.3, "implied_cycle_ratio": 1.4}  # fmt: skip
    sparse = base | {"model": "Qwen3-30B-A3B", "N": 128, "batch_size": 8, "baseline_tpot_ms": 6.4}
    notes = []
    for ratio in (1.6, 2.6):  # what an MoE target measured changes nothing but its own error
        rows = pd.DataFrame([dense, sparse | {"implied_cycle_ratio": ratio}])
        rows.to_csv(tmp_path / "sd_measurements.csv", index=False)
        groups = {group.model: group for group in cycle_errors(tmp_path)}
        assert groups["Llama-3.1-8B-Instruct"].fitted
        assert not groups["Qwen3-30B-A3B"].fitted
        notes.append(groups["Qwen3-30B-A3B"].note)
    assert notes[0] == notes[1]
    assert "tp 2 inferred, batch 8 stated" in notes[0]


def test_tables_json_and_csv_of_groups() -> None:
    group = GroupErrors("set", "time", "source", "model", "gpu", False,
                        np.array([1.1, 2.0]), np.array([1.0, 2.5]))  # fmt: skip
    measured = Measured([group], (3, 4))
    assert group.median == pytest.approx(0.15)
    assert group.to_row().error == pytest.approx(0.15)
    text = render_validation([], [], measured, "table")
    assert "3 of 4 pairs right" in text
    assert "15.0%" in text
    assert '"case": "set/model/gpu"' in render_validation([], [], measured, "json")
    assert render_validation([], [], measured, "csv").startswith("case,quantity,predicted")


@needs_shared
def test_routed_kernels_of_shapes_left_out() -> None:
    groups = [
        group
        for group in routed_errors(SHARED / "data")
        if (group.hardware, group.model) == ("h100-sxm", "routed experts, vllm bf16")
    ]
    time, *growth = groups
    assert time.median <= 0.03
    assert time.p90 <= 0.10
    assert len(growth) == 3
    assert all(group.median <= 0.04 for group in growth)


@needs_shared
def test_forced_routing_on_another_box() -> None:
    (group,) = forced_routing_errors(SHARED / "data")
    many = group.reported > 200e-6  # fewer experts stay in the 128 MB cache
    assert np.median(np.abs(group.errors[many])) < 0.15


@needs_shared
def test_accuracy_asked_for() -> None:
    measured = measured_errors(SHARED / "data")
    summary = {(row["data_set"], row["quantity"]): row for row in measured.summary()}
    for group in measured.groups:
        if group.quantity == "T(K+1)/T(1)":
            assert group.median <= 0.08, group.model
    assert summary["measured TPOT", "TPOT"]["median_error"] <= 0.17
    assert summary["SD cycles", "cycle ratio, chains"]["median_of_groups"] <= 0.10
    right, total = measured.ordered
    assert right >= 0.9 * total
    for score in measured.intervals:
        assert 0.80 <= score.coverage <= 0.97, score
    cycles = measured.intervals[0]
    assert cycles.pinball < cycles.constant_pinball
