"""The bundled profiles: every number as its source has it."""

import csv
from functools import cache
from typing import Any

import pytest

from codesign.hardware import list_hardware, load_hardware
from codesign.hardware.constants import COMPUTE_FORMATS, compute_format
from codesign.spec.hardware import Hardware
from tests.shared_data import SHARED, needs_shared

PROFILES = (
    "a100-sxm", "b200-sxm", "b300-sxm", "gaudi3", "gb200", "gb300", "h100-nvl", "h100-pcie",
    "h100-sxm", "h200-sxm", "l40s", "mi300x", "mi325x", "mi355x", "rtx-4090", "tpu-v5e",
    "tpu-v5p", "tpu-v6e",
)  # fmt: skip


@cache
def profile_of(name: str) -> Hardware:
    return load_hardware(name)


def test_every_device_has_a_profile() -> None:
    assert set(PROFILES) <= set(list_hardware())


@pytest.mark.parametrize("name", PROFILES)
def test_profile_loads_under_its_name(name: str) -> None:
    profile = profile_of(name)
    assert profile.name == name
    assert profile.title


@pytest.mark.parametrize(
    ("name", "figure", "value"),
    [
        # NVIDIA H100 datasheet: 1,979 TFLOP/s bf16 and 3,958 fp8 "with sparsity", half without.
        ("h100-sxm", "bf16", pytest.approx(1979e12 / 2, rel=2e-3)),
        ("h100-sxm", "fp8", pytest.approx(3958e12 / 2, rel=2e-3)),
        ("h100-sxm", "memory_bandwidth", 3.35e12),
        ("h100-sxm", "scaleup_bandwidth", 900e9 / 2),  # NVLink 4: 900 GB/s, both directions
        ("h100-sxm", "power", 700),
        # NVIDIA A100 datasheet.
        ("a100-sxm", "bf16", 312e12),
        ("a100-sxm", "int8", 624e12),
        ("a100-sxm", "memory_bandwidth", pytest.approx(2.039e12)),
        ("a100-sxm", "scaleup_bandwidth", 600e9 / 2),
        # NVIDIA H200 datasheet; nvidia-smi reports 143,771 MiB.
        ("h200-sxm", "memory_bandwidth", 4.8e12),
        ("h200-sxm", "memory", pytest.approx(143_771 * 2**20, rel=1e-3)),
        ("h100-sxm", "memory", 80 * 2**30),
        # NVIDIA L40S datasheet: 362.05 TFLOP/s bf16 dense, 733 fp8 dense, 48 GB.
        ("l40s", "bf16", 362.05e12),
        ("l40s", "memory", 48e9),
        # AMD MI300X datasheet: 1,307.4 TFLOP/s bf16 dense, 192 GB, 5.3 TB/s.
        ("mi300x", "bf16", 1307.4e12),
        ("mi300x", "memory", 192e9),
        ("mi300x", "memory_bandwidth", 5.3e12),
        # Google Cloud TPU documentation.
        ("tpu-v5e", "bf16", 197e12),
        ("tpu-v5e", "memory", 16e9),
        ("tpu-v5e", "memory_bandwidth", 819e9),
        ("tpu-v5p", "memory_bandwidth", 2765e9),
        ("tpu-v6e", "bf16", 918e12),
    ],
)
def test_figures_of_the_vendors(name: str, figure: str, value: object) -> None:
    assert figure_of(profile_of(name), figure) == value


def figure_of(profile: Hardware, figure: str) -> float | None:
    if figure in ("bf16", "fp8", "fp4", "int8"):
        peak = profile.peak_compute.get(figure)  # type: ignore[call-overload]
        return None if peak is None else float(peak.value)
    sourced = getattr(profile, figure)
    return None if sourced is None else float(sourced.value)


COLUMNS = {
    # column of hardware.csv: figure of the profile and the size of its unit
    "bf16_tflops_dense": ("bf16", 1e12),
    "fp8_tflops_dense": ("fp8", 1e12),
    "fp4_tflops_dense": ("fp4", 1e12),
    "int8_tops_dense": ("int8", 1e12),
    "mem_bw_tbs": ("memory_bandwidth", 1e12),
    "scaleup_gbs_per_gpu_unidir": ("scaleup_bandwidth", 1e9),
    "pcie_gbs_unidir": ("pcie_bandwidth", 1e9),
    "l2_mb": ("l2_cache", 1e6),
    "sm_or_cu": ("compute_units", 1.0),
    "tdp_w": ("power", 1.0),
}


def shared_rows() -> list[dict[str, str]]:
    path = SHARED / "data/hardware/hardware.csv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def profile_name(device: str) -> str:
    name = device.lower().removesuffix(" (per gpu)")
    return {"a100-80g-sxm": "a100-sxm"}.get(name, name)


@needs_shared
def test_the_shared_table_and_the_profiles_are_the_same_devices() -> None:
    assert {profile_name(row["device"]) for row in shared_rows()} == set(PROFILES)


@needs_shared
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("row", shared_rows(), ids=lambda row: str(row["device"]))
def test_figure_and_source_equal_the_shared_table(row: dict[str, str], column: str) -> None:
    figure, unit = COLUMNS[column]
    profile = profile_of(profile_name(row["device"]))
    found = figure_of(profile, figure)
    if not row[column]:
        assert found is None  # a figure the file lacks is absent
        return
    assert found == pytest.approx(float(row[column]) * unit, rel=1e-12)
    assert source_of(profile, figure) == row[f"src_{column}"]


def source_of(profile: Hardware, figure: str) -> str:
    peaks: dict[Any, Any] = {**profile.peak_compute}
    return str((peaks[figure] if figure in peaks else getattr(profile, figure)).source)


@needs_shared
@pytest.mark.parametrize("row", shared_rows(), ids=lambda row: str(row["device"]))
def test_memory_and_price_equal_the_shared_table(row: dict[str, str]) -> None:
    profile = profile_of(profile_name(row["device"]))
    unit = {"GiB": 2**30, "GB": 1e9}[row["mem_unit"]]
    assert profile.memory.value == pytest.approx(float(row["mem_gb"]) * unit, rel=1e-12)
    assert profile.memory.source == row["src_mem_gb"]
    low, high = row["usd_per_gpu_hour_low"], row["usd_per_gpu_hour_high"]
    if not (low and high):
        assert profile.price is None  # half a range is no range
        return
    assert profile.price is not None
    assert (profile.price.low, profile.price.high) == (float(low), float(high))
    assert profile.price.source == row["src_usd_per_gpu_hour"]


@pytest.mark.parametrize("name", PROFILES)
def test_peaks_are_dense_ones(name: str) -> None:
    # Halving the width doubles dense peaks (Gaudi 3 keeps them); a sparse one would be fourfold.
    peaks = {fmt: peak.value for fmt, peak in profile_of(name).peak_compute.items()}
    if "fp8" in peaks:
        assert 0.99 <= peaks["fp8"] / peaks["bf16"] <= 2.03


@pytest.mark.parametrize("name", PROFILES)
def test_achieved_constants_stay_below_the_peaks(name: str) -> None:
    profile = profile_of(name)
    for kernel in profile.kernels:
        assert 0 < kernel.bandwidth <= profile.memory_bandwidth.value
        peak = profile.peak_compute[compute_format(profile, kernel.dtype)].value
        assert 0 < kernel.compute <= peak
        assert kernel.source


# model.md, section 3: starting points of routed MoE on vLLM: floor [us], TB/s, TFLOP/s. A refit may
# move them, but not far: the kernels are the same.
ROUTED = [
    ("h100-sxm", "bf16", 26, 3.04, 655),
    ("h200-sxm", "bf16", 28, 4.40, 722),
    ("b200-sxm", "bf16", 16, 7.13, 880),
    ("h100-sxm", "fp8_block", 37, 3.01, 835),
    ("h200-sxm", "fp8_block", 36, 4.23, 754),
    ("l40s", "bf16", 0, 0.69, 275),
]


@pytest.mark.parametrize(("name", "dtype", "floor", "bandwidth", "compute"), ROUTED)
def test_routed_expert_constants_are_near_those_of_the_model_notes(
    name: str, dtype: str, floor: float, bandwidth: float, compute: float
) -> None:
    [kernel] = [
        each
        for each in profile_of(name).kernels
        if (each.kernel, each.backend, each.dtype) == ("routed_experts", "vllm", dtype)
    ]
    assert kernel.floor == pytest.approx(floor * 1e-6, abs=5e-6)
    assert kernel.bandwidth == pytest.approx(bandwidth * 1e12, rel=0.05)
    assert kernel.compute == pytest.approx(compute * 1e12, rel=0.1)


def test_constants_of_the_h100_lie_where_the_model_notes_have_them() -> None:
    # model.md, section 3: GEMM t0 3.5-5 us and about 2.9 TB/s; decode attention t0 9-19 us; small
    # kernels about 2.6 us in graphs; all-reduce floors 4.3, 4.6, 4.7 us in a graph, and 12-19 us
    # at 1 MiB.
    profile = profile_of("h100")
    kernels = {
        each.kernel: each
        for each in profile.kernels
        if (each.backend, each.dtype) == ("vllm", "bf16")
    }
    gemm, attention, small = (kernels[kind] for kind in ("gemm", "attention", "elementwise"))
    assert 3.5e-6 <= gemm.floor <= 5e-6
    assert gemm.bandwidth == pytest.approx(2.9e12, rel=0.03)
    assert 9e-6 <= attention.floor <= 19e-6
    assert 2.5e12 <= attention.bandwidth <= 3.35e12
    assert small.floor == pytest.approx(2.6e-6)
    assert profile.all_reduce is not None
    floors = {entry.gpus: entry.floor for entry in profile.all_reduce.floors}
    assert floors == pytest.approx({2: 4.3e-6, 4: 4.6e-6, 8: 4.7e-6}, rel=0.3)
    for gpus, floor in floors.items():
        mebibyte = floor + 2 * (gpus - 1) / gpus * 2**20 / profile.all_reduce.bandwidth
        assert 12e-6 <= mebibyte <= 22e-6


@pytest.mark.parametrize(("name", "bandwidth"), [("h200-sxm", 3.6), ("b200-sxm", 6.1)])
def test_attention_bandwidth_of_large_caches(name: str, bandwidth: float) -> None:
    # model.md, section 3: large-KV bandwidth 3.6 on H200, 6.1 on B200; fits give up to 15 % more.
    [kernel] = [
        each
        for each in profile_of(name).kernels
        if (each.kernel, each.backend, each.dtype) == ("attention", "vllm", "bf16")
    ]
    assert bandwidth * 0.95e12 <= kernel.bandwidth <= bandwidth * 1.16e12


@pytest.mark.parametrize(
    ("dtype", "on_h100", "on_b200"),
    [
        ("bf16", "bf16", "bf16"),
        ("fp8", "fp8", "fp8"),
        ("fp8_block", "fp8", "fp8"),
        ("int8", "int8", "int8"),
        ("nvfp4", "bf16", "fp4"),  # no fp4 tensor cores before Blackwell
        ("mxfp4", "bf16", "fp4"),
        ("int4", "bf16", "bf16"),  # weight-only
    ],
)
def test_format_that_is_multiplied_in(dtype: Any, on_h100: str, on_b200: str) -> None:
    assert compute_format(profile_of("h100"), dtype) == on_h100
    assert compute_format(profile_of("b200"), dtype) == on_b200
    assert set(COMPUTE_FORMATS.values()) <= {"fp8", "fp4", "int8"}
