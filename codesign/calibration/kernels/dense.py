"""Dense matrix products of decode and verify passes: which rows, what they move and compute."""

from typing import TYPE_CHECKING, Final

import numpy as np

from codesign.calibration.kernels.rows import (
    MILLISECOND,
    Reasons,
    TimedKernels,
    column,
    labels,
)
from codesign.calibration.kernels.tables import KernelTable
from codesign.model.step_time import ACTIVATION_BYTES
from codesign.spec.hardware import Backend
from codesign.spec.precision import BYTES_PER_ELEMENT, Dtype

if TYPE_CHECKING:
    from pandas import DataFrame

SHAPE: Final = ["n", "k"]
TABLE: Final = KernelTable("gemm", "gemm_perf", "gemm_dtype", tuple(SHAPE))
MOST_ROWS: Final = 1024
LEAST_SIDE: Final = 512
LONGEST_SUM: Final = 32_768
LAUNCH_BOUND: Final = 10e-6
"""No kernel of a few megabytes takes this long: the launch was timed, not the kernel [s]."""


def dense_kernels(device: str, backend: Backend, dtype: Dtype) -> TimedKernels | None:
    """Return the matrix-product measurements of one device, engine and number format.

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
    found = TABLE.measured(device, backend, dtype, _reasons)
    return None if found is None else timed(found.rows, dtype, found.source, found.left_out)


def timed(
    rows: "DataFrame", dtype: Dtype, source: str, left_out: dict[str, int] | None = None
) -> TimedKernels:
    """Turn rows m x k by k x n into bytes, bf16 activations included, and FLOP.

    The tables time a quantised product together with the quantisation of its input.
    """
    m, n, k = (column(rows, name) for name in ("m", "n", "k"))
    weight = BYTES_PER_ELEMENT[dtype]
    return TimedKernels(
        traffic=n * k * weight + m * (n + k) * ACTIVATION_BYTES,
        flop=2.0 * m * n * k,
        seconds=column(rows, "latency") * MILLISECOND,
        configuration=labels(rows, SHAPE),
        source=source,
        left_out=left_out or {},
    )


def _reasons(rows: "DataFrame") -> Reasons:
    small = rows[SHAPE].min(axis=1) < LEAST_SIDE
    return {
        f"more than {MOST_ROWS:,} tokens: prefill": rows["m"] > MOST_ROWS,
        f"a side below {LEAST_SIDE}: no layer has it": small,
        f"a sum over more than {LONGEST_SUM:,}: no layer has it": rows["k"] > LONGEST_SUM,
        "corrupt: no positive time": ~(rows["latency"] > 0),
        "launch-bound timing, not the kernel": np.isin(rows["kernel_source"], _launch_bound(rows)),
    }


def _launch_bound(rows: "DataFrame") -> list[str]:
    """Kernels whose very fastest product takes longer than any small kernel does."""
    fastest = rows.groupby("kernel_source")["latency"].min() * MILLISECOND
    return [str(name) for name, seconds in fastest.items() if seconds > LAUNCH_BOUND]
