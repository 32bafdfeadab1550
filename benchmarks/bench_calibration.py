"""A routing trace of one gigabyte: bytes per second, and that memory does not grow with it."""

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
    header = {"descr": "|u1", "fortran_order": False, "shape": shape}
    with path.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        for _ in range(sequences):
            names = generator.permuted(np.tile(np.arange(EXPERTS), (LAYERS, 1)), axis=1)
            stream.write(names[layer, base].astype(np.uint8).tobytes())
    return path.stat().st_size


PROGRAM = """
import sys
from codesign.cli import main
try:
    main()
finally:
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(peak.split()[1], file=sys.stderr)
"""
"""Runs the command and prints its largest resident memory [KiB] last."""


def calibrate(path: Path) -> int:
    """Run the command in a process of its own; returns its largest resident memory [byte]."""
    arguments = ("calibrate", "routing", str(path), "--experts", str(EXPERTS))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], check=True, capture_output=True, text=True
    )
    return int(done.stderr.split()[-1]) * 1024


def bench_routing_trace(benchmark: Any, tmp_path: Path) -> None:
    path = tmp_path / "trace.npy"
    size = write_trace(path, FEW if benchmark.disabled else SEQUENCES)
    peak = benchmark.pedantic(calibrate, (path,), rounds=1, warmup_rounds=0)
    path.unlink()
    assert peak < LARGEST_MEMORY
    benchmark.extra_info["bytes"] = size
    benchmark.extra_info["peak_memory_megabytes"] = peak / 1e6
    if benchmark.stats is not None:
        benchmark.extra_info["megabytes_per_second"] = size / benchmark.stats["min"] / 1e6
