"""Decode attention against a cache, grouped-query and latent: which rows, bytes and FLOP."""

from typing import TYPE_CHECKING, Final

from codesign.calibration.kernels.rows import (
    MILLISECOND,
    Reasons,
    TimedKernels,
    column,
    kernel_names,
    labels,
    without,
)
from codesign.calibration.kernels.tables import FORMATS, PACKAGE, read_versions, richest_version
from codesign.spec.hardware import Backend
from codesign.spec.precision import BYTES_PER_ELEMENT, Dtype

if TYPE_CHECKING:
    from pandas import DataFrame

GROUPED_SHAPE: Final = ["num_heads", "num_key_value_heads", "head_dim"]
LATENT_SHAPE: Final = ["num_heads"]
LATENT_KEY: Final = 576
"""512 latent elements and 64 rotary ones, which all heads share (DeepSeek-V3)."""

LATENT_VALUE: Final = 512
LEAST_CONTEXT: Final = 128
MOST_SEQUENCES: Final = 512
LARGEST_GROUP: Final = 16


def grouped_kernels(device: str, backend: Backend, dtype: Dtype) -> TimedKernels | None:
    """Return grouped-query decode measurements; `dtype` is the cache's, None if there are none."""
    chosen = _chosen(device, "attention", backend, "generation_attention_perf", dtype)
    if chosen is None:
        return None
    version, rows = chosen
    kept, left_out = without(rows, _grouped_reasons(rows))
    if kept.empty:
        return None
    source = f"{PACKAGE} generation_attention_perf, {backend} {version}, {kernel_names(kept)}"
    return grouped(kept, dtype, source, left_out)


def grouped(
    rows: "DataFrame", dtype: Dtype, source: str, left_out: dict[str, int] | None = None
) -> TimedKernels:
    """Turn rows of one query per sequence against ``step + 1`` cached tokens into bytes, FLOP."""
    cached = column(rows, "batch_size") * (column(rows, "step") + 1.0)
    size = column(rows, "head_dim")
    element = BYTES_PER_ELEMENT[dtype]
    return TimedKernels(
        traffic=cached * column(rows, "num_key_value_heads") * size * 2.0 * element,
        flop=4.0 * cached * column(rows, "num_heads") * size,
        seconds=column(rows, "latency") * MILLISECOND,
        configuration=labels(rows, GROUPED_SHAPE),
        source=source,
        left_out=left_out or {},
    )


def latent_kernels(device: str, backend: Backend, dtype: Dtype) -> TimedKernels | None:
    """Return latent-attention (MLA) decode measurements; None if there are none.

    vLLM's table times the whole module with its projections, which are priced apart.
    """
    chosen = _chosen(device, "mla", backend, "generation_mla_perf", dtype)
    if chosen is None:
        return None
    version, rows = chosen
    kept, left_out = without(rows, _load_reasons(rows))
    if kept.empty:
        return None
    cached = column(kept, "batch_size") * (column(kept, "step") + 1.0)
    return TimedKernels(
        traffic=cached * LATENT_KEY * BYTES_PER_ELEMENT[dtype],
        flop=2.0 * cached * column(kept, "num_heads") * (LATENT_KEY + LATENT_VALUE),
        seconds=column(kept, "latency") * MILLISECOND,
        configuration=labels(kept, LATENT_SHAPE),
        source=f"{PACKAGE} generation_mla_perf, {backend} {version}, {kernel_names(kept)}",
        left_out=left_out,
    )


def _chosen(
    device: str, group: str, backend: Backend, table: str, dtype: Dtype
) -> tuple[str, "DataFrame"] | None:
    if dtype not in ("bf16", "fp8"):
        return None
    versions = {
        name: rows[rows["kv_cache_dtype"] == FORMATS[dtype]]
        for name, rows in read_versions(device, group, backend, table).items()
    }
    return richest_version(versions, GROUPED_SHAPE if group == "attention" else LATENT_SHAPE)


def _load_reasons(rows: "DataFrame") -> Reasons:
    return {
        f"fewer than {LEAST_CONTEXT} cached tokens": rows["step"] + 1 < LEAST_CONTEXT,
        f"more than {MOST_SEQUENCES} sequences": rows["batch_size"] > MOST_SEQUENCES,
        "corrupt: no positive time": ~(rows["latency"] > 0),
    }


def _grouped_reasons(rows: "DataFrame") -> Reasons:
    group = rows["num_heads"] / rows["num_key_value_heads"]
    window = rows["window_size"] if "window_size" in rows else 0 * rows["step"]
    return {
        "sliding windows": window > 0,
        f"more than {LARGEST_GROUP} query heads per key-value head": group > LARGEST_GROUP,
        "head size 512: no model has it": rows["head_dim"] > 256,
        **_load_reasons(rows),
    }
