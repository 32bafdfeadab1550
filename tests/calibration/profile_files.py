"""Profiles in the form that profilers write, made from known kernel times."""

import gzip
import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from codesign.calibration.detect import read_files
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.profile_points import Profile

ROUTED = "fused_moe_kernel"
GATING = "void vllm::moe::topkGating<8, 128, 4, 16, 32, int>(...)"
ATTENTION = "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<2> > >"
DENSE = "nvjet_tst_64x8_64x16_4x1_v_bz_TNT"
NORM = "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(...)"
REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(...)"
COPY = "Memcpy HtoD (Pinned -> Device)"

LAYER = [(NORM, 4.0), (DENSE, 20.0), (ATTENTION, 15.0), (REDUCE, 9.0), (GATING, 3.0),
         (ROUTED, 90.0), (ROUTED, 60.0)]  # fmt: skip
"""Kernels of one layer and their times [us]."""


def event(name: str, start: float, duration: float, kind: str = "kernel") -> dict[str, Any]:
    args = {"device": 0, "stream": 7}
    return {"ph": "X", "cat": kind, "name": name, "pid": 0, "tid": 7, "ts": start,
            "dur": duration, "args": args}  # fmt: skip


def step(
    start: float, batch_size: int, width: int, layers: int, *, scale: float = 1.0,
    on_gpu: bool = True,
) -> list[dict[str, Any]]:  # fmt: skip
    """Events of one decode step: marker, kernels one microsecond apart, a copy, CPU noise."""
    events, at = [], start
    for name, duration in LAYER * layers:
        events.append(event(name, at, scale * duration))
        at += scale * duration + 1.0
    events.append(event(COPY, at, 1.2, "gpu_memcpy"))
    mark = f"execute_context_0(0)_generation_{batch_size}({batch_size * width})"
    kinds = ["user_annotation"] + ["gpu_user_annotation"] * on_gpu
    marks = [event(mark, start, at + 1.2 - start, kind) for kind in kinds]
    return [*marks, event("cudaGraphLaunch", start, 30.0, "cuda_runtime"), *events]


def trace(events: Iterable[dict[str, Any]], **header: Any) -> dict[str, Any]:
    return {"schemaVersion": 1, **header, "traceEvents": list(events)}


def written_trace(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    text = json.dumps(content)
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def written_sqlite(
    folder: Path, kernels: Iterable[tuple[str, int, int]], *, graphs: int = 0, devices: int = 1
) -> Path:
    """An Nsight Systems export: kernels with start and end [ns]."""
    path = folder / "run.sqlite"
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
        database.execute("INSERT INTO StringIds VALUES (1, 'device_kernel')")
        database.execute(
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL "
            "(start INTEGER, end INTEGER, deviceId INTEGER, demangledName INTEGER, "
            "shortName INTEGER)"
        )
        database.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER)")
        for index, (name, start, end) in enumerate(kernels):
            database.execute("INSERT INTO StringIds VALUES (?, ?)", (index + 2, name))
            row = (start, end, index % devices, index + 2, 1)
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?)", row)
        for _ in range(graphs):
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (0)")
        database.commit()
    return path


def profiled(path: Path, **options: Any) -> Profile:
    (reading,) = read_files([path], "profile", CalibrationOptions(**options))
    data: Profile = reading.data
    return data
