"""The tables: which are read, which rows are kept, and what their routing loaded."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from codesign.calibration.kernels import fit_device, fitted_profile, tables
from codesign.calibration.kernels.attention import grouped
from codesign.calibration.kernels.benchmark_routing import benchmark_unique_experts
from codesign.calibration.kernels.choices import chosen_backends, chosen_dtypes
from codesign.calibration.kernels.profile import save_profile
from codesign.calibration.kernels.routed import timed
from codesign.calibration.kernels.rows import without
from codesign.calibration.kernels.tables import device_folder, richest_version, version_key
from codesign.errors import CalibrationError, DataError, UsageError
from codesign.hardware import load_hardware
from tests.shared_data import SHARED, needs_shared

needs_tables = pytest.mark.skipif(
    find_spec("aiconfigurator_core") is None, reason="aiconfigurator-core is not installed"
)


def test_versions_are_ordered_by_their_numbers() -> None:
    names = ["1.3.0rc3", "0.24.0", "1.3.0rc20", "0.5.6.post2"]
    assert sorted(names, key=version_key) == ["0.5.6.post2", "0.24.0", "1.3.0rc3", "1.3.0rc20"]


def test_a_release_that_measured_little_does_not_hide_the_one_before() -> None:
    many = pd.DataFrame({"n": range(10)})
    few = pd.DataFrame({"n": [1]})
    assert richest_version({"2": few, "1": many}, ["n"]) == ("1", many)
    assert richest_version({"2": many[:5], "1": many}, ["n"])[0] == "2"  # type: ignore[index]
    assert richest_version({}, ["n"]) is None


def test_a_row_counts_under_its_first_reason() -> None:
    rows = pd.DataFrame({"a": [1, 2, 3]})
    kept, counts = without(rows, {"big": rows["a"] > 1, "three": rows["a"] == 3})
    assert kept["a"].tolist() == [1]
    assert counts == {"big": 2}


def test_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'codesign\[kernels\]'"):
        device_folder("h100-sxm")


def test_unmeasured_device_engine_and_format_are_named() -> None:
    with pytest.raises(UsageError, match="did you mean 'h100-sxm'"):
        device_folder("h100sxm")
    with pytest.raises(UsageError, match="did you mean 'sglang'"):
        chosen_backends(["sglan"])
    with pytest.raises(UsageError, match="--dtype: 'fp32'"):
        chosen_dtypes(["fp32"])
    assert chosen_backends(None) == ("vllm", "sglang", "trtllm")


@pytest.mark.parametrize("distribution", ["balanced", "power_law_1.01", "power_law_1.2"])
def test_benchmark_routing_bounds(distribution: str) -> None:
    for tokens in (1, 3, 17, 300):
        unique = benchmark_unique_experts(distribution, 64, 6, tokens)
        assert 6 <= unique <= min(64, 6 * tokens)
    assert benchmark_unique_experts(distribution, 64, 6, 1) == pytest.approx(6)


def test_unknown_routing_is_refused() -> None:
    with pytest.raises(DataError, match="zipf"):
        benchmark_unique_experts("zipf_1", 64, 6, 4)


@needs_shared
def test_benchmark_routing_is_the_collectors_own() -> None:
    table = pd.read_csv(SHARED / "data/latency/moe_kernels.csv.gz")
    table = table[table["distribution"] != "balanced"]
    cells = table.drop_duplicates(["distribution", "num_experts", "topk", "num_tokens"])
    names = ["distribution", "num_experts", "topk", "num_tokens"]
    ours = np.array(
        [
            benchmark_unique_experts(str(how), int(experts), int(top_k), int(tokens))
            for how, experts, top_k, tokens in cells[names].itertuples(index=False, name=None)
        ]
    )
    error = ours / cells["expected_unique_experts"].to_numpy() - 1
    assert np.sqrt((error**2).mean()) < 0.01  # both are means over a few random draws


def test_bytes_and_flop_of_a_sharded_row() -> None:
    rows = pd.DataFrame(
        {
            "num_experts": [128], "topk": [8], "hidden_size": [2048], "inter_size": [768],
            "moe_tp_size": [4], "num_tokens": [16], "distribution": ["balanced"],
            "latency": [0.13],
        }
    )  # fmt: skip
    found = timed(rows, "bf16", "")
    expert = 3 * 2048 * 192
    assert found.traffic.tolist() == [128 * expert * 2.0]
    assert found.flop.tolist() == [2.0 * 16 * 8 * expert]
    assert found.seconds.tolist() == [pytest.approx(0.13e-3)]
    assert found.width is not None and found.width.tolist() == [192.0]


def test_bytes_of_decode_attention() -> None:
    rows = pd.DataFrame(
        {
            "batch_size": [4], "step": [1023], "num_heads": [32], "num_key_value_heads": [4],
            "head_dim": [128], "latency": [0.02],
        }
    )  # fmt: skip
    assert grouped(rows, "fp8", "").traffic.tolist() == [4 * 1024 * 4 * 128 * 2.0]


@needs_tables
def test_the_bundled_profile_is_what_the_script_would_write(tmp_path: Path) -> None:
    hardware = load_hardware("a100-sxm")
    fits = fit_device(hardware, backends=("trtllm",), dtypes=("bf16",))
    again = fitted_profile(hardware, fits)
    bundled = {(k.kernel, k.backend, k.dtype): k for k in hardware.kernels}
    for constants in again.kernels:
        own = bundled[constants.kernel, constants.backend, constants.dtype]
        assert constants.bandwidth == pytest.approx(own.bandwidth, rel=0.01)
        assert constants.samples == own.samples
    save_profile(again, tmp_path / "again.yaml")
    assert load_hardware(str(tmp_path / "again.yaml")) == again


@needs_tables
def test_nothing_measured_is_a_calibration_error() -> None:
    with pytest.raises(CalibrationError, match="nothing was measured of vllm in nvfp4"):
        fit_device(load_hardware("a100-sxm"), backends=("vllm",), dtypes=("nvfp4",))
