"""The constants a step time is made of, one by one: where they stand in a replica, and limits."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from codesign.hardware.constants import compute_format
from codesign.model.communication import Interconnect
from codesign.replica import Replica
from codesign.spec.hardware import KernelKind
from codesign.spec.precision import Dtype
from codesign.units import UNITS

HOST_LIMIT: Final = 20e-3
"""Host time per step and fixed time per cycle stay below; far above their priors' ends [s]."""

FLOOR_SPREAD: Final = 0.5
BANDWIDTH_SPREAD: Final = 0.2
COMPUTE_SPREAD: Final = 0.3
LINK_SPREAD: Final = 0.3
"""How uncertain a constant is before the fit, relative (one standard deviation)."""

HOST_SPREAD: Final = 0.5e-3
"""The same for host time and SD overhead [s]."""


@dataclass(frozen=True)
class Constant:
    """One constant of the step time.

    Parameters
    ----------
    name : str
        As the calibration file writes it, such as ``routed_experts.bf16.bandwidth``.
    unit : str
        In which it is written.
    prior, low, high : float
        Before the fit, and limits [SI].
    spread : float
        Standard deviation before the fit: of the logarithm, or in seconds where `additive`.
    rate : bool
        Time falls as the constant grows.
    additive : bool
        Zero is allowed, so it is fitted as it is and not as its logarithm.
    put : callable
        Returns a replica with the constant set.
    """

    name: str
    unit: str
    prior: float
    low: float
    high: float
    spread: float
    rate: bool
    additive: bool
    put: Callable[[Replica, float], Replica]

    @property
    def si(self) -> float:
        """SI units in one `unit`."""
        return in_si(1.0, self.unit)


def in_si(value: float, unit: str) -> float:
    """Return a constant written in one of its units, in SI.

    Examples
    --------
    >>> in_si(3.04, "TB/s")
    3040000000000.0
    """
    return value * next(units[unit] for units in UNITS.values() if unit in units)


def constants_of(replica: Replica) -> list[Constant]:
    """Return every constant of a replica, in a fixed order."""
    found: list[Constant] = []
    for kind, dtype in sorted(replica.kernels):
        found += _kernel_constants(replica, kind, dtype)
    if replica.interconnect is not None:
        found += _link_constants(replica, replica.interconnect)
    for name, prior in (("host_time", replica.host_time), ("sd_overhead", replica.sd_overhead)):
        put = _put_time(name)
        found.append(Constant(name, "ms", prior, 0.0, HOST_LIMIT, HOST_SPREAD, False, True, put))
    return found


def _kernel_constants(replica: Replica, kind: KernelKind, dtype: Dtype) -> list[Constant]:
    kernel, hardware = replica.kernel(kind, dtype), replica.hardware
    peak = hardware.peak_compute[compute_format(hardware, dtype)].value
    memory = hardware.memory_bandwidth.value
    name = f"{kind}.{dtype}"
    floor, bandwidth, compute = float(kernel.floor), float(kernel.bandwidth), float(kernel.compute)
    constants = []
    if floor > 0:
        put = _put_kernel(kind, dtype, "floor")
        limits = (floor / 20, floor * 20)
        constants.append(
            Constant(f"{name}.floor", "us", floor, *limits, FLOOR_SPREAD, False, False, put)
        )
    put = _put_kernel(kind, dtype, "bandwidth")
    limits = (bandwidth / 20, max(1.25 * memory, 1.25 * bandwidth))
    constants.append(
        Constant(
            f"{name}.bandwidth", "TB/s", bandwidth, *limits, BANDWIDTH_SPREAD, True, False, put
        )
    )
    put = _put_kernel(kind, dtype, "compute")
    limits = (compute / 50, max(peak, compute))
    constants.append(
        Constant(f"{name}.compute", "TFLOP/s", compute, *limits, COMPUTE_SPREAD, True, False, put)
    )
    return constants


def _link_constants(replica: Replica, link: Interconnect) -> list[Constant]:
    told = (
        ("all_reduce.floor", "us", _link_floor(replica, link, "all_reduce"), False),
        ("all_reduce.bandwidth", "GB/s", link.all_reduce_bandwidth, True),
        ("all_to_all.floor", "us", _link_floor(replica, link, "all_to_all"), False),
        ("all_to_all.bandwidth", "GB/s", link.all_to_all_bandwidth, True),
    )
    return [
        Constant(
            name, unit, prior, prior / 20, prior * 20, LINK_SPREAD, rate, False, _put_link(name)
        )
        for name, unit, prior, rate in told
        if prior > 0
    ]


def _put_link(name: str) -> Callable[[Replica, float], Replica]:
    """Floors of several GPU counts, or of dispatch and combine, keep their ratios."""
    collective = name.partition(".")[0]

    def put(replica: Replica, value: float) -> Replica:
        link = replica.interconnect
        assert link is not None
        if name == "all_reduce.bandwidth":
            return replace(replica, interconnect=replace(link, all_reduce_bandwidth=value))
        if name == "all_to_all.bandwidth":
            return replace(replica, interconnect=replace(link, all_to_all_bandwidth=value))
        here = _link_floor(replica, link, collective)
        if collective == "all_reduce":
            floors = tuple(floor * value / here for floor in link.all_reduce_floors)
            return replace(replica, interconnect=replace(link, all_reduce_floors=floors))
        dispatch, combine = link.dispatch_floor * value / here, link.combine_floor * value / here
        scaled = replace(link, dispatch_floor=dispatch, combine_floor=combine)
        return replace(replica, interconnect=scaled)

    return put


def _link_floor(replica: Replica, link: Interconnect, collective: str) -> float:
    if collective == "all_reduce":
        return float(np.interp(np.log2(replica.gpus), np.log2(link.gpus), link.all_reduce_floors))
    return link.dispatch_floor + link.combine_floor


def _put_time(name: str) -> Callable[[Replica, float], Replica]:
    if name == "host_time":
        return lambda replica, value: replace(replica, host_time=value)
    return lambda replica, value: replace(replica, sd_overhead=value)


def _put_kernel(kind: KernelKind, dtype: Dtype, field: str) -> Callable[[Replica, float], Replica]:
    def put(replica: Replica, value: float) -> Replica:
        resolved = replica.kernels[kind, dtype]
        kernel = replace(resolved.kernel, **{field: value})
        kernels = {**replica.kernels, (kind, dtype): replace(resolved, kernel=kernel)}
        return replace(replica, kernels=kernels)

    return put
