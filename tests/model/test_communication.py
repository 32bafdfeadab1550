"""Collectives between GPUs."""

import csv
import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesign.hardware import load_hardware, resolve_interconnect
from codesign.model.communication import Interconnect, all_reduce, dispatch_combine
from tests.shared_data import SHARED, needs_shared

LINK = Interconnect((2, 4, 8), (4e-6, 5e-6, 6e-6), 100e9, 10e-6, 11e-6, 200e9)


def test_one_gpu_and_no_collective_cost_nothing() -> None:
    assert float(all_reduce(LINK, 5, 1, 1e6).seconds) == 0.0
    assert float(all_reduce(LINK, 0, 8, 1e6).seconds) == 0.0


@pytest.mark.parametrize(
    ("gpus", "floor"),
    [(2, 4e-6), (4, 5e-6), (8, 6e-6), (16, 6e-6), (72, 6e-6)],  # beyond the last it is held
)
def test_floors_of_the_profile(gpus: int, floor: float) -> None:
    assert float(all_reduce(LINK, 3, gpus, 0.0).seconds) == pytest.approx(3 * floor)


def test_floors_between_are_interpolated_in_doublings() -> None:
    root = all_reduce(LINK, 1, 3, 0.0)  # log2(3) = 1.585, between 2 and 4
    assert float(root.seconds) == pytest.approx(4e-6 + (np.log2(3) - 1) * 1e-6)


def test_bus_bytes_follow_nccl() -> None:
    # NCCL's convention: an all-reduce of m bytes over g GPUs moves 2 m (g-1)/g per GPU.
    cost = all_reduce(LINK, 1, 4, 1e6)
    assert float(cost.memory) == pytest.approx(2 * 0.75 * 1e6 / 100e9)
    assert float(cost.compute) == 0.0


def test_dispatch_and_combine() -> None:
    # fp8 out, bf16 back: 3 bytes per element; both floors in each of 5 layers.
    cost = dispatch_combine(LINK, 5, 1e6, 1.0)
    assert float(cost.floor) == pytest.approx(5 * 21e-6)
    assert float(cost.memory) == pytest.approx(5 * 3e6 / 200e9)


@given(gpus=st.integers(2, 512), small=st.floats(0, 1e9), more=st.floats(0, 1e9))
def test_more_bytes_never_take_less_time(gpus: int, small: float, more: float) -> None:
    first, second = (all_reduce(LINK, 1, gpus, size).seconds for size in (small, small + more))
    assert second >= first > 0


@needs_shared
def test_the_h100_constants_are_near_measured_all_reduces() -> None:
    # vLLM custom all-reduce in CUDA graphs, 128 B to 1 MiB: within 25 % in the median.
    link, _ = resolve_interconnect(load_hardware("h100"), 8)
    assert link is not None
    path = SHARED / "data/latency/custom_allreduce.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        rows = [
            (int(row["num_gpus"]), float(row["message_size"]), float(row["latency"]) * 1e-3)
            for row in csv.DictReader(stream)
            if (row["gpu"], row["framework"]) == ("h100_sxm", "vllm")
            and "graph" in row["kernel_source"]
        ]
    chosen = [row for row in rows if row[1] <= 2**20]
    assert len(chosen) > 20
    ratios = [
        float(all_reduce(link, 1, gpus, size).seconds) / seconds for gpus, size, seconds in chosen
    ]
    assert np.median(np.abs(np.log(ratios))) < np.log(1.25)
