"""Fused routed experts: which rows, what they load and compute."""

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from codesign.calibration.kernels.benchmark_routing import benchmark_unique_experts
from codesign.calibration.kernels.rows import (
    MILLISECOND,
    Reasons,
    TimedKernels,
    column,
    labels,
)
from codesign.calibration.kernels.tables import KernelTable, Measured
from codesign.model.arrays import FloatArray
from codesign.spec.hardware import Backend
from codesign.spec.precision import BYTES_PER_ELEMENT, Dtype

if TYPE_CHECKING:
    from pandas import DataFrame

SHAPE: Final = ["num_experts", "topk", "hidden_size", "inter_size"]
TABLE: Final = KernelTable("moe", "moe_perf", "moe_dtype", tuple(SHAPE))
LOAD: Final = ["moe_tp_size", "num_tokens", "distribution"]
MOST_TOKENS: Final = 4096
"""Larger passes are prefill."""

MOST_SHARDS: Final = 8
WIDTH_STEP: Final = 64
"""Designs come in multiples of this on every GPU; other widths fall into padded tiles."""

UNGATED: Final = {(128, 6), (512, 22)}
"""N and k of the Nemotron-3 models: two matrices per expert, not three."""

MISLABELLED: Final = {("vllm", "0.19.0", "int4")}
"""Called Marlin, but the collector of that version ran the generic 4-bit kernel, a slower one."""

GROUP_LIMITED: Final = (256, 8, 7168, 2048)
"""DeepSeek-V3; vLLM and SGLang time it with its group-limited router, on half the experts."""


def routed_kernels(device: str, backend: Backend, dtype: Dtype) -> TimedKernels | None:
    """Return the fused-MoE measurements of one device, engine and number format.

    Parameters
    ----------
    device : str
        Bundled profile.
    backend : Backend
    dtype : Dtype

    Returns
    -------
    TimedKernels or None
        None where nothing usable was measured.
    """
    mislabelled = [name for engine, name, form in MISLABELLED if (engine, form) == (backend, dtype)]
    found = TABLE.measured(device, backend, dtype, partial(_reasons, backend=backend), mislabelled)
    if found is None:
        return None
    found = _fastest(found)
    return timed(found.rows, dtype, found.source, found.left_out)


def _fastest(found: Measured) -> Measured:
    """Keep the fastest kernel of each load: the one an engine would pick."""
    rows = found.rows.sort_values("latency").drop_duplicates([*SHAPE, *LOAD]).sort_index()
    slower = len(found.rows) - len(rows)
    more = {"a second kernel or run, slower for the same load": slower} if slower else {}
    return Measured(rows, found.origin, found.left_out | more)


def timed(
    rows: "DataFrame", dtype: Dtype, source: str, left_out: dict[str, int] | None = None
) -> TimedKernels:
    """Turn rows in the tables' columns into bytes and FLOP.

    Parameters
    ----------
    rows : DataFrame
        With ``expected_unique_experts`` where known; otherwise the benchmark's own.
    """
    width = column(rows, "inter_size") / column(rows, "moe_tp_size")
    expert = _matrices(rows) * column(rows, "hidden_size") * width
    unique = _unique(rows)
    return TimedKernels(
        traffic=unique * expert * BYTES_PER_ELEMENT[dtype],
        flop=2.0 * column(rows, "num_tokens") * column(rows, "topk") * expert,
        seconds=column(rows, "latency") * MILLISECOND,
        configuration=labels(rows, SHAPE),
        source=source,
        width=width,
        whole=column(rows, "moe_tp_size") == 1,
        left_out=left_out or {},
    )


def _reasons(rows: "DataFrame", backend: Backend) -> Reasons:
    width = rows["inter_size"] / rows["moe_tp_size"]
    grouped = labels(rows, SHAPE) == "/".join(str(part) for part in GROUP_LIMITED)
    slow = (rows["kernel_source"] == "sglang_flashinfer_cutlass_moe") & (_matrices(rows) == 2)
    return {
        "expert-parallel ranks, whose load the table does not say": rows["moe_ep_size"] > 1,
        f"more than {MOST_TOKENS:,} tokens: prefill": rows["num_tokens"] > MOST_TOKENS,
        f"more than {MOST_SHARDS} shards": rows["moe_tp_size"] > MOST_SHARDS,
        f"width per GPU no multiple of {WIDTH_STEP}: padded tiles": width % WIDTH_STEP != 0,
        "group-limited routing: half the experts are loaded": grouped & (backend != "trtllm"),
        "corrupt: no positive time": ~(rows["latency"] > 0),
        "wrong kernel: an untuned CUTLASS path for two-matrix experts": slow,
    }


def _matrices(rows: "DataFrame") -> FloatArray:
    if "n_matrices" in rows:
        return column(rows, "n_matrices")
    ungated = np.isin(labels(rows, ["num_experts", "topk"]), [f"{n}/{k}" for n, k in UNGATED])
    return np.where(ungated, 2.0, 3.0)


def _unique(rows: "DataFrame") -> FloatArray:
    if "expected_unique_experts" in rows:
        return column(rows, "expected_unique_experts")
    cells = rows[["distribution", "num_experts", "topk", "num_tokens"]]
    return np.array(
        [
            benchmark_unique_experts(str(how), int(experts), int(top_k), int(tokens))
            for how, experts, top_k, tokens in cells.itertuples(index=False, name=None)
        ]
    )
