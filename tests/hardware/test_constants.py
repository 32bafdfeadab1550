"""Which constants price a kernel, and how others' are scaled."""

import math
from functools import cache
from typing import Any

import pytest

from codesign.errors import UsageError
from codesign.hardware import list_hardware, load_hardware, resolve_interconnect, resolve_kernel
from codesign.hardware.constants import compute_format
from codesign.spec.hardware import Hardware

# Made up, so that a refit of a bundled profile moves no expectation here.
KERNELS: list[dict[str, object]] = [
    {"dtype": "bf16", "backend": "vllm", "floor": "10 us", "bandwidth": "2 TB/s",
     "compute": "400 TFLOP/s"},
    {"dtype": "bf16", "backend": "sglang", "floor": "12 us", "bandwidth": "2.2 TB/s",
     "compute": "420 TFLOP/s"},
    {"dtype": "fp8_block", "backend": "vllm", "floor": "14 us", "bandwidth": "1.8 TB/s",
     "compute": "700 TFLOP/s", "norm": 2.0, "narrow_width": 99.0},
]  # fmt: skip


@cache
def bundled(name: str) -> Hardware:
    return load_hardware(name)


def device(bandwidth: object = "3 TB/s", **more: object) -> Hardware:
    """A made-up profile: 500 TFLOP/s in bf16, 1500 in fp8."""
    data: dict[str, object] = {
        "name": "mine",
        "title": "Mine",
        "peak_compute": {
            "bf16": {"value": "500 TFLOP/s", "source": "x"},
            "fp8": {"value": "1500 TFLOP/s", "source": "x"},
        },
        "memory": {"value": "80 GiB", "source": "x"},
        "memory_bandwidth": {"value": bandwidth, "source": "x"},
    }
    return Hardware.from_data(data | more)


def measured() -> Hardware:
    kernels = [each | {"kernel": "routed_experts", "source": "bench"} for each in KERNELS]
    return device(kernels=kernels)


def numbers(resolved: Any) -> tuple[float, float, float]:
    kernel = resolved.kernel
    return float(kernel.floor), float(kernel.bandwidth), float(kernel.compute)


def test_measured_constants_are_taken_as_they_are() -> None:
    resolved = resolve_kernel(measured(), "routed_experts", "vllm", "fp8_block")
    assert numbers(resolved) == pytest.approx((14e-6, 1.8e12, 700e12))
    assert (resolved.kernel.norm, resolved.kernel.narrow_width) == (2.0, 99.0)
    assert (resolved.measured, resolved.origin) == (True, "bench")


@pytest.mark.parametrize(
    ("backend", "dtype", "floor", "bandwidth", "compute", "origin"),
    [
        # The same dtype wins over the same engine.
        ("trtllm", "bf16", 10, 2.0, 400, "scaled from mine vllm bf16"),
        ("sglang", "fp8_block", 14, 1.8, 700, "scaled from mine vllm fp8_block"),
        # fp8 multiplies as fp8_block does; weight-only int4, and nvfp4 without fp4 cores, in bf16.
        ("vllm", "fp8", 14, 1.8, 700, "scaled from mine vllm fp8_block"),
        ("vllm", "int4", 10, 2.0, 400, "scaled from mine vllm bf16"),
        ("sglang", "nvfp4", 12, 2.2, 420, "scaled from mine sglang bf16"),
    ],
)
def test_what_was_not_measured_is_taken_from_the_nearest(
    backend: str, dtype: Any, floor: float, bandwidth: float, compute: float, origin: str
) -> None:
    resolved = resolve_kernel(measured(), "routed_experts", backend, dtype)
    expected = (floor * 1e-6, bandwidth * 1e12, compute * 1e12)
    assert numbers(resolved) == pytest.approx(expected)
    assert not resolved.measured
    assert resolved.origin.startswith(origin)
    assert resolved.origin.endswith("bench")


def test_the_same_dtype_counts_more_than_the_same_engine() -> None:
    # int4 is multiplied in bf16 too, but moves other bytes.
    other = KERNELS[0] | {"dtype": "int4"}
    kernels = [each | {"kernel": "gemm", "source": "x"} for each in (other, KERNELS[1])]
    resolved = resolve_kernel(device(kernels=kernels), "gemm", "vllm", "bf16")
    assert resolved.origin.startswith("scaled from mine sglang bf16")


def test_another_format_is_scaled_by_the_ratio_of_peaks() -> None:
    only_bf16 = device(kernels=[KERNELS[0] | {"kernel": "gemm", "source": "bench"}])
    resolved = resolve_kernel(only_bf16, "gemm", "vllm", "fp8")
    assert numbers(resolved) == pytest.approx((10e-6, 2e12, 400e12 * 1500 / 500))
    assert "compute x3 (bf16 to fp8), same floor" in resolved.origin


@pytest.mark.parametrize("bandwidth", ["0.5 TB/s", "2.5 TB/s", "3.3 TB/s", "6 TB/s", "20 TB/s"])
@pytest.mark.parametrize("kind", ["routed_experts", "gemm", "attention"])
def test_a_device_without_constants_takes_those_nearest_in_bandwidth(
    bandwidth: str, kind: Any
) -> None:
    mine = device(bandwidth)
    donors = [
        each
        for each in map(bundled, list_hardware())
        if any(
            (kernel.kernel, kernel.backend, kernel.dtype) == (kind, "vllm", "bf16")
            for kernel in each.kernels
        )
    ]

    def distance(other: Hardware) -> float:
        return abs(math.log(mine.memory_bandwidth.value / other.memory_bandwidth.value))

    donor = min(donors, key=distance)
    [own] = [
        kernel
        for kernel in donor.kernels
        if (kernel.kernel, kernel.backend, kernel.dtype) == (kind, "vllm", "bf16")
    ]
    resolved = resolve_kernel(mine, kind, "vllm", "bf16")
    assert resolved.origin.startswith(f"scaled from {donor.name} vllm bf16")
    assert numbers(resolved) == pytest.approx(
        (
            own.floor,
            own.bandwidth * mine.memory_bandwidth.value / donor.memory_bandwidth.value,
            own.compute * 500e12 / donor.peak_compute["bf16"].value,
        )
    )
    assert not resolved.measured


@pytest.mark.parametrize("name", list_hardware())
@pytest.mark.parametrize("kind", ["routed_experts", "gemm", "attention", "elementwise"])
@pytest.mark.parametrize("dtype", ["bf16", "fp8", "fp8_block", "mxfp4", "int4"])
def test_every_device_gets_constants_below_its_own_peaks(name: str, kind: Any, dtype: Any) -> None:
    hardware = bundled(name)
    floor, bandwidth, compute = numbers(resolve_kernel(hardware, kind, "vllm", dtype))
    assert 0 <= floor < 1e-3
    assert 0 < bandwidth <= hardware.memory_bandwidth.value
    peak = hardware.peak_compute[compute_format(hardware, dtype)].value
    assert 0 < compute <= peak * 1.001  # fits are rounded to three digits


def test_one_gpu_needs_no_interconnect() -> None:
    assert resolve_interconnect(device(), 1) == (None, [])


def test_several_gpus_need_one() -> None:
    with pytest.raises(UsageError) as caught:
        resolve_interconnect(device(), 2)
    assert str(caught.value) == (
        "mine has neither scaleup_bandwidth nor pcie_bandwidth, which more than one GPU needs; add "
        "one to the profile, or use --gpus 1"
    )


def test_a_measured_interconnect_is_taken_as_it_is() -> None:
    mine = device(
        all_reduce={
            "floors": [{"gpus": 4, "floor": "6 us"}, {"gpus": 2, "floor": "5 us"}],
            "bandwidth": "100 GB/s",
            "source": "bench",
        },
        expert_all_to_all={
            "dispatch_floor": "7 us", "combine_floor": "8 us", "bandwidth": "200 GB/s",
            "source": "bench",
        },
    )  # fmt: skip
    link, origins = resolve_interconnect(mine, 4)
    assert link is not None
    assert link.gpus == (2, 4)
    assert link.all_reduce_floors == pytest.approx((5e-6, 6e-6))
    assert (link.all_reduce_bandwidth, link.all_to_all_bandwidth) == (100e9, 200e9)
    assert (link.dispatch_floor, link.combine_floor) == pytest.approx((7e-6, 8e-6))
    assert not any("scaled" in line for line in origins)
    _, beyond = resolve_interconnect(mine, 16)
    assert "all-reduce floor of 4 GPUs held for 16" in beyond


@pytest.mark.parametrize(
    ("links", "through", "ratio"),
    [
        # The H100's NVLink moves 450 GB/s per direction; PCIe only where there is no other link.
        ({"scaleup_bandwidth": 900}, "interconnect", 2.0),
        ({"pcie_bandwidth": 45}, "PCIe", 0.1),
        ({"scaleup_bandwidth": 225, "pcie_bandwidth": 45}, "interconnect", 0.5),
    ],
)
def test_other_interconnects_are_scaled_from_the_h100(
    links: dict[str, float], through: str, ratio: float
) -> None:
    mine = device(
        **{name: {"value": f"{value} GB/s", "source": "x"} for name, value in links.items()}
    )
    reference, _ = resolve_interconnect(bundled("h100"), 8)
    found, origins = resolve_interconnect(mine, 8)
    assert reference is not None and found is not None
    assert found.all_reduce_bandwidth == pytest.approx(ratio * reference.all_reduce_bandwidth)
    assert found.all_to_all_bandwidth == pytest.approx(ratio * reference.all_to_all_bandwidth)
    assert found.all_reduce_floors == reference.all_reduce_floors
    expected = f"scaled from h100-sxm by {through} bandwidth x{ratio:.3g}"
    assert any(expected in line for line in origins)
