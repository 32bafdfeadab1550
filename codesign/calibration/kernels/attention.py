"""Decode attention against a cache, grouped-query and latent: which rows, bytes and FLOP."""

from typing import TYPE_CHECKING, Final

from codesign.calibration.kernels.rows import (
    MILLISECOND,
    Reasons,
    TimedKernels,
    column,
    labels,
)
from codesign.calibration.kernels.tables import KernelTable
from codesign.spec.hardware import Backend
from codesign.spec.precision import BYTES_PER_ELEMENT, Dtype

if TYPE_CHECKING:
    from pandas import DataFrame

GROUPED_SHAPE: Final = ["num_heads", "num_key_value_heads", "head_dim"]
LATENT_SHAPE: Final = ["num_heads"]
CACHE_FORMATS: Final[tuple[Dtype, ...]] = ("bf16", "fp8")
GROUPED: Final = KernelTable(
    "attention", "generation_attention_perf", "kv_cache_dtype", tuple(GROUPED_SHAPE), CACHE_FORMATS
)
LATENT: Final = KernelTable(
    "mla", "generation_mla_perf", "kv_cache_dtype", tuple(LATENT_SHAPE), CACHE_FORMATS
)
LATENT_KEY: Final = 576
"""512 latent elements and 64 rotary ones, which all heads share (DeepSeek-V3)."""

LATENT_VALUE: Final = 512
LEAST_CONTEXT: Final = 128
MOST_SEQUENCES: Final = 512
LARGEST_GROUP: Final = 16


def grouped_kernels(device: str, backend: Backend, dtype: Dtype) -> TimedKernels | None:
    """Return grouped-query decode measurements; `dtype` is the cache's, None if there are none."""
    found = GROUPED.measured(device, backend, dtype, _grouped_reasons)
    return None if found is None else grouped(found.rows, dtype, found.source, found.left_out)


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
    found = LATENT.measured(device, backend, dtype, _load_reasons)
    if found is None:
        return None
    kept = found.rows
    cached = column(kept, "batch_size") * (column(kept, "step") + 1.0)
    return TimedKernels(
        traffic=cached * LATENT_KEY * BYTES_PER_ELEMENT[dtype],
        flop=2.0 * cached * column(kept, "num_heads") * (LATENT_KEY + LATENT_VALUE),
        seconds=column(kept, "latency") * MILLISECOND,
        configuration=labels(kept, LATENT_SHAPE),
        source=found.source,
        left_out=found.left_out,
    )


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
