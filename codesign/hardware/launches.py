"""What launching costs without CUDA graphs: the host issues every kernel on its own."""

from dataclasses import replace
from typing import Final

import numpy as np

from codesign.hardware.constants import ResolvedKernel
from codesign.model.communication import Interconnect
from codesign.spec.hardware import KernelKind

EAGER_LAUNCH: Final = 3.4e-6
"""More per kernel than in a graph: 6 us, an assumption, against 2.6 us [s]."""

EAGER_ALL_REDUCE: Final = 17e-6
"""More per all-reduce: 20.6-23.9 us eager, 4.3-5.6 us in a graph, up to 64 KiB, on 2-8 H100
(aiconfigurator-core 0.12.0 custom_allreduce_perf, vLLM 0.24) [s]."""

LAUNCHES: Final[dict[KernelKind, int]] = {"routed_experts": 6}
"""Kernels behind one: sorting tokens by expert, two products, activation, quantisation, sum."""


def eager_kernel(kind: KernelKind, resolved: ResolvedKernel) -> ResolvedKernel:
    """Return a kernel's constants without CUDA graphs."""
    kernel = resolved.kernel
    floor = np.asarray(kernel.floor) + LAUNCHES.get(kind, 1) * EAGER_LAUNCH
    return replace(resolved, kernel=replace(kernel, floor=float(floor)))


def eager_interconnect(link: Interconnect | None) -> Interconnect | None:
    """Return the collectives' constants without CUDA graphs; expert exchange runs outside them."""
    if link is None:
        return None
    floors = tuple(floor + EAGER_ALL_REDUCE for floor in link.all_reduce_floors)
    return replace(link, all_reduce_floors=floors)
