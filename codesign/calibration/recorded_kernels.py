"""Whether a profile holds all kernels: those launched by CUDA or HIP graphs are often missing."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from codesign.calibration.profile_points import KernelTotal, StepProfile
from codesign.errors import DataError

UNEQUAL: Final = 0.5
"""Steps whose kernels deviate more from the typical number were not all recorded."""

TOLERATED: Final = 0.1
"""Share of steps that may deviate, such as those cut by the profiler's start and end."""

BURST: Final = 0.5
"""No step of several holds more of all kernels."""

FEW_PER_LAYER: Final = 2
FEWEST_KERNELS: Final = 20
"""A step of a real model launches more."""

GRAPH_REMEDY: Final = (
    "profile again with kernels inside graphs recorded one by one: nsys profile "
    "--cuda-graph-trace=node, or the engine without CUDA or HIP graphs (vLLM --enforce-eager, "
    "SGLang --disable-cuda-graph)"
)


def require_work(kernels: Sequence[KernelTotal], source: str) -> None:
    """Refuse a profile in which no matrix product and no attention runs.

    Raises
    ------
    DataError
        A graph recorded as one launch hides exactly these.
    """
    seen = {kernel.category for kernel in kernels}
    if seen.isdisjoint({"routed_experts", "dense_gemm", "attention", "linear_attention"}):
        shown = ", ".join(kernel.name[:40] for kernel in kernels[:3])
        raise DataError(
            f"{source}: no matrix product and no attention among its kernels ({shown}, ...): "
            f"graphs were recorded as single launches; {GRAPH_REMEDY}"
        )


def require_equal(counts: Sequence[int], source: str) -> None:
    """Refuse steps of very unequal numbers of kernels; the first and last may be cut.

    Parameters
    ----------
    counts : sequence of int
        Kernels of each step.
    source : str

    Raises
    ------
    DataError
        Graph launches recorded in bursts leave steps without kernels and one with most.
    """
    inner = np.array(counts[1:-1])
    if inner.size < 3:
        return
    typical = max(float(np.median(inner)), 1.0)
    unequal = float(np.mean(np.abs(inner - typical) > UNEQUAL * typical))
    if unequal > TOLERATED or max(counts) > BURST * sum(counts):
        shown = ", ".join(map(str, counts[:6])) + (", ..." if len(counts) > 6 else "")
        raise DataError(
            f"{source}: {len(counts)} steps hold very unequal numbers of kernels ({shown}; "
            f"{sum(counts)} in all), so those launched by graphs were not recorded where they ran "
            f"and no share per step can be had; {GRAPH_REMEDY}"
        )


def require_layers(load: StepProfile, layers: int | None, source: str) -> str | None:
    """Refuse steps with fewer kernels than the model's layers launch; return a warning if unknown.

    Raises
    ------
    DataError
        If there are fewer than two kernels per layer.
    """
    kernels = load.kernels or 0.0
    if layers is not None and kernels < FEW_PER_LAYER * layers:
        raise DataError(
            f"{source}: {kernels:.3g} kernels in a step of a model with {layers} layers: most were "
            f"not recorded; {GRAPH_REMEDY}"
        )
    if layers is None and kernels < FEWEST_KERNELS:
        return (
            f"{kernels:.3g} kernels in a step: about one layer's worth, so the trace is cut or "
            "kernels in graphs are missing; --arch checks it"
        )
    return None
