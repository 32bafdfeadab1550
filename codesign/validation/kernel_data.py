"""Measured kernels against constants fitted without the shape they are compared on."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from codesign.calibration.kernels import attention, dense, routed
from codesign.calibration.kernels.fit import left_out_seconds
from codesign.calibration.kernels.profile import fit_options
from codesign.calibration.kernels.rows import TimedKernels, groups_of, labels, reachable
from codesign.calibration.kernels.tables import FORMATS
from codesign.hardware import load_hardware, resolve_kernel
from codesign.model.arrays import FloatArray
from codesign.model.roofline import kernel_cost
from codesign.model.step_time import narrow_expert_efficiency
from codesign.spec.hardware import KernelKind
from codesign.spec.precision import Dtype
from codesign.validation.errors_by_group import GroupErrors
from codesign.validation.tables import find_table, read_table

if TYPE_CHECKING:
    from pandas import DataFrame

DTYPES: Final[dict[str, Dtype]] = {written: dtype for dtype, written in FORMATS.items()}
ROUTED: Final = (
    "gpu", "backend", "moe_dtype", "distribution", "num_experts", "topk", "hidden_size",
    "inter_size", "n_matrices", "num_tokens", "expected_unique_experts", "latency_ms",
)  # fmt: skip
MOST_TOKENS: Final = 1024
"""Of T in the ratio t(4T)/t(T)."""


def routed_errors(folder: Path) -> Iterator[GroupErrors]:
    """Fused experts, one architecture left out at a time: times, and t(4T)/t(T) per routing."""
    path = find_table(folder, "moe_kernels")
    if path is None:
        return
    table = read_table(path, ROUTED).assign(moe_tp_size=1)
    table = table.rename(columns={"latency_ms": "latency"})
    for (gpu, backend, written), rows in groups_of(table, ["gpu", "backend", "moe_dtype"]):
        dtype = DTYPES[written]
        rows = rows[~_group_limited(rows, backend)]
        timed = routed.timed(rows, dtype, str(path))
        hardware = load_hardware(gpu.replace("_", "-"))
        predicted = left_out_seconds(timed, fit_options(hardware, "routed_experts", dtype))
        names = f"routed experts, {backend} {dtype}", hardware.name
        yield _errors("kernels", "time", *names, predicted, timed.seconds)
        for distribution, ours, theirs in _ratios(rows, predicted):
            yield _errors("kernels", f"t(4T)/t(T), {distribution}", *names, ours, theirs)


def forced_routing_errors(folder: Path) -> Iterator[GroupErrors]:
    """Fused experts with forced routing on a device whose constants come from elsewhere."""
    path = find_table(folder, "llmservingsim_moe_rtxpro6000_qwen3_30b")
    if path is None:
        return
    rows = read_table(path, ("tokens", "activated_experts", "time_us"))
    hardware = load_hardware("rtx-pro-6000")
    kernel = resolve_kernel(hardware, "routed_experts", "vllm", "bf16").kernel
    expert = 3 * 2048 * 768
    traffic = rows["activated_experts"].to_numpy() * expert * 2.0
    flop = rows["tokens"].to_numpy() * 8.0 * 2.0 * expert
    narrow = narrow_expert_efficiency(768, kernel.narrow_width)
    predicted = kernel_cost(kernel, 1.0, traffic / narrow, flop).seconds
    reported = rows["time_us"].to_numpy() * 1e-6
    yield GroupErrors(
        "kernels", "time", "casys-kaist/LLMServingSim (MIT)",
        "routed experts, Qwen3-30B-A3B, forced routing", hardware.name, False, predicted, reported,
    )  # fmt: skip


def dense_errors(folder: Path) -> Iterator[GroupErrors]:
    """Matrix products, shapes left out in turn."""
    path = find_table(folder, "gemm_bf16_h100")
    if path is None:
        return
    rows = read_table(path, ("m", "n", "k", "us"))
    rows = rows.assign(latency=rows["us"] * 1e-3)
    small = rows[["n", "k"]].min(axis=1) >= dense.LEAST_SIDE
    rows = rows[small & (rows["m"] <= dense.MOST_ROWS) & (rows["k"] <= dense.LONGEST_SUM)]
    yield _left_out("gemm", "bf16", "matrix products, vllm bf16", dense.timed(rows, "bf16", ""))


def attention_errors(folder: Path) -> Iterator[GroupErrors]:
    """Decode attention, shapes left out in turn."""
    path = find_table(folder, "attention_decode_h100")
    if path is None:
        return
    table = read_table(
        path, ("kv_cache_dtype", "batch_size", "num_heads", "num_key_value_heads", "head_dim",
               "step", "us"),
    )  # fmt: skip
    table = table.assign(latency=table["us"] * 1e-3)
    group = table["num_heads"] / table["num_key_value_heads"]
    table = table[(group <= attention.LARGEST_GROUP) & (table["head_dim"] <= 256)
                  & (table["step"] + 1 >= attention.LEAST_CONTEXT)]  # fmt: skip
    for (written,), rows in groups_of(table, ["kv_cache_dtype"]):
        dtype = DTYPES[written]
        model = f"decode attention, vllm, {dtype} cache"
        yield _left_out("attention", dtype, model, attention.grouped(rows, dtype, ""))


def _left_out(kind: KernelKind, dtype: Dtype, model: str, timed: TimedKernels) -> GroupErrors:
    hardware = load_hardware("h100-sxm")
    timed = reachable(timed, hardware.memory_bandwidth.value)
    predicted = left_out_seconds(timed, fit_options(hardware, kind, dtype))
    return _errors("kernels", "time", model, hardware.name, predicted, timed.seconds)


def _errors(
    data_set: str,
    quantity: str,
    model: str,
    hardware: str,
    predicted: FloatArray,
    reported: FloatArray,
) -> GroupErrors:
    return GroupErrors(
        data_set, quantity, "aiconfigurator-core 0.12.0", model, hardware, False, predicted,
        reported, "one shape left out at a time",
    )  # fmt: skip


def _group_limited(rows: "DataFrame", backend: str) -> NDArray[np.bool_]:
    label = "/".join(str(part) for part in routed.GROUP_LIMITED)
    limited = np.isin(labels(rows, routed.SHAPE), [label])
    return np.asarray(limited & (backend != "trtllm"))


def _ratios(
    rows: "DataFrame", predicted: FloatArray
) -> Iterator[tuple[str, FloatArray, FloatArray]]:
    """Growth from T to 4T of the same shape, per distribution."""
    table = rows.assign(predicted=predicted)[
        [*routed.SHAPE, "distribution", "num_tokens", "predicted", "latency"]
    ]
    table["num_tokens"] = table["num_tokens"].astype(float)
    later = table.assign(num_tokens=table["num_tokens"] / 4)
    keys = [*routed.SHAPE, "distribution", "num_tokens"]
    pairs = table.merge(later, on=keys, suffixes=("", "_later"))
    pairs = pairs[pairs["num_tokens"] <= MOST_TOKENS]
    for (distribution,), group in groups_of(pairs, ["distribution"]):
        ours = (group["predicted_later"] / group["predicted"]).to_numpy()
        theirs = (group["latency_later"] / group["latency"]).to_numpy()
        yield str(distribution), ours, theirs
