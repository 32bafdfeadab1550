"""A routing trace of one gigabyte: bytes per second, and that memory does not grow with it."""

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from codesign.model.routing import GENERIC_ROUTER
from tests.calibration.routing_files import simulated

EXPERTS, TOP_K, LAYERS, TOKENS = 128, 8, 48, 1000
"""Qwen3-30B-A3B's shape, in requests of 1,000 tokens: 384 kB each."""

SEQUENCES, FEW = 2604, 20
LARGEST_MEMORY = 1_000_000_000


def write_trace(path: Path, sequences: int) -> int:
    """Write a .npy of [sequences, tokens, layers, k]; each request relabels the experts anew."""
    base = simulated(
        EXPERTS, TOP_K, GENERIC_ROUTER, sequences=1, tokens=TOKENS, layers=LAYERS, seed=0
    )[0]
    generator = np.random.default_rng(0)
    layer = np.arange(LAYERS)[:, None]
    shape = (sequences, TOKENS, LAYERS, TOP_K)
    array = np.lib.format.open_memmap(path, mode="w+", dtype=np.uint8, shape=shape)  # type: ignore[no-untyped-call]
    for sequence in range(sequences):
        names = generator.permuted(np.tile(np.arange(EXPERTS), (LAYERS, 1)), axis=1)
        array[sequence] = names[layer, base]
    array.flush()
    return path.stat().st_size


def calibrate(path: Path) -> None:
    """Run the command in a process of its own."""
    subprocess.run(
        [sys.executable, "-c", "from codesign.cli import main; main()", "calibrate", "routing", str(path),
         "--experts", str(EXPERTS), "--format", "json"],
        check=True, capture_output=True,
    )  # fmt: skip


def bench_routing_trace(benchmark: Any, tmp_path: Path) -> None:
    path = tmp_path / "trace.npy"
    size = write_trace(path, FEW if benchmark.disabled else SEQUENCES)
    benchmark.pedantic(calibrate, (path,), rounds=1, warmup_rounds=0)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    path.unlink()
    assert peak < LARGEST_MEMORY
    benchmark.extra_info["bytes"] = size
    benchmark.extra_info["peak_memory_megabytes"] = peak / 1e6
    if benchmark.stats is not None:
        benchmark.extra_info["megabytes_per_second"] = size / benchmark.stats["min"] / 1e6
