"""Which constants price a kernel: measured ones, or the nearest scaled by datasheet ratios."""

import math
from dataclasses import dataclass
from functools import cache
from typing import Final

from codesign.errors import UsageError
from codesign.hardware.lookup import PROFILES, bundled_profile
from codesign.model.communication import Interconnect
from codesign.model.roofline import Kernel
from codesign.spec.hardware import ComputeFormat, Hardware, KernelConstants, KernelKind
from codesign.spec.precision import Dtype

COMPUTE_FORMATS: Final[dict[Dtype, ComputeFormat]] = {
    "fp8": "fp8",
    "fp8_block": "fp8",
    "mxfp8": "fp8",
    "int8": "int8",
    "nvfp4": "fp4",
    "mxfp4": "fp4",
}
"""Format the tensor cores multiply in, where the device has it; bf16 otherwise (weight-only)."""

INTERCONNECT_REFERENCE: Final = "h100-sxm"


@dataclass(frozen=True)
class ResolvedKernel:
    """Constants and where they come from.

    Parameters
    ----------
    kernel : Kernel
    measured : bool
        Measured on this device, backend and dtype; otherwise scaled.
    origin : str
        Source, and how it was scaled.
    error : float, optional
        Median error of the fit on shapes it was not fitted to [-].
    weak : str, optional
        Why the constants are not to be trusted far.
    """

    kernel: Kernel
    measured: bool
    origin: str
    error: float | None = None
    weak: str | None = None


def compute_format(hardware: Hardware, dtype: Dtype) -> ComputeFormat:
    """Return the format `dtype` is multiplied in on this device."""
    wanted = COMPUTE_FORMATS.get(dtype, "bf16")
    return wanted if wanted in hardware.peak_compute else "bf16"


def resolve_kernel(
    hardware: Hardware, kind: KernelKind, backend: str, dtype: Dtype
) -> ResolvedKernel:
    """Return the constants of one kernel on one device.

    Measured constants are taken as they are. Otherwise the nearest are scaled by datasheet ratios:
    first another dtype or backend of the same device, then the device nearest in memory bandwidth.
    """
    own = [constants for constants in hardware.kernels if constants.kernel == kind]
    donor, donors = hardware, own
    if not own:
        donor = min(_measured_devices(kind), key=lambda other: _distance(hardware, other))
        donors = [constants for constants in donor.kernels if constants.kernel == kind]
    best = min(donors, key=lambda constants: _mismatch(hardware, constants, backend, dtype))
    exact = donor is hardware and (best.backend, best.dtype) == (backend, dtype)
    if exact:
        kernel = Kernel(best.floor, best.bandwidth, best.compute, best.norm, best.narrow_width)
        return ResolvedKernel(kernel, True, _measured(best), best.left_out_error, best.weak)
    return _scaled(best, donor, hardware, dtype)


def _measured(constants: KernelConstants) -> str:
    """Source, and how far the constants are from what was measured."""
    if constants.samples is None:
        return constants.source
    quality = f"n {constants.samples}, error {constants.median_error:.1%} median"
    if constants.left_out_error is not None:
        quality += f", {constants.left_out_error:.1%} on shapes left out"
    return f"{constants.source}; {quality}"


def _scaled(
    constants: KernelConstants, donor: Hardware, hardware: Hardware, dtype: Dtype
) -> ResolvedKernel:
    bandwidth = hardware.memory_bandwidth.value / donor.memory_bandwidth.value
    to_format, from_format = compute_format(hardware, dtype), compute_format(donor, constants.dtype)
    peak = hardware.peak_compute[to_format].value / donor.peak_compute[from_format].value
    kernel = Kernel(
        constants.floor,
        constants.bandwidth * bandwidth,
        constants.compute * peak,
        constants.norm,
        constants.narrow_width,
    )
    origin = (
        f"scaled from {donor.name} {constants.backend} {constants.dtype} by datasheet ratios: "
        f"bandwidth x{bandwidth:.3g}, compute x{peak:.3g} ({from_format} to {to_format}), "
        f"same floor; {_measured(constants)}"
    )
    return ResolvedKernel(kernel, False, origin, constants.left_out_error, constants.weak)


def _mismatch(
    hardware: Hardware, constants: KernelConstants, backend: str, dtype: Dtype
) -> tuple[bool, bool, bool, bool, bool]:
    """Order candidates: the same dtype, then the same compute format, then the same engine.

    A weak fit stands behind every sound one, unless it is the very kernel asked for.
    """
    formats = compute_format(hardware, constants.dtype) != compute_format(hardware, dtype)
    exact = (constants.backend, constants.dtype) == (backend, dtype)
    return (
        constants.dtype != dtype,
        formats,
        constants.weak is not None and not exact,
        constants.backend != backend,
        constants.dtype != "bf16",
    )


def _distance(hardware: Hardware, other: Hardware) -> float:
    return abs(math.log(hardware.memory_bandwidth.value / other.memory_bandwidth.value))


@cache
def _measured_devices(kind: KernelKind) -> tuple[Hardware, ...]:
    """Bundled devices with constants of one kind; the text is searched first, parsing is slow."""
    named = f"kernel: {kind}\n".encode()
    paths = [path for path in sorted(PROFILES.glob("*.yaml")) if named in path.read_bytes()]
    return tuple(bundled_profile(path.stem) for path in paths)


def resolve_interconnect(hardware: Hardware, gpus: int) -> tuple[Interconnect | None, list[str]]:
    """Return the constants of the collectives and what was assumed; nothing on one GPU.

    Raises
    ------
    UsageError
        If several GPUs are asked for and the profile has no interconnect bandwidth.
    """
    if gpus == 1:
        return None, []
    reference = bundled_profile(INTERCONNECT_REFERENCE)
    reduce, exchange = hardware.all_reduce, hardware.expert_all_to_all
    origins = [f"all-reduce: {reduce.source}"] if reduce else []
    ratio = 1.0
    if reduce is None or exchange is None:
        ratio = _link_bandwidth(hardware) / _link_bandwidth(reference)
        missing = "all-reduce and all-to-all" if reduce is None else "all-to-all"
        through = "interconnect" if hardware.scaleup_bandwidth else "PCIe"
        origins.append(
            f"{missing}: scaled from {reference.name} by {through} bandwidth x{ratio:.3g}"
        )
    assert reference.all_reduce is not None and reference.expert_all_to_all is not None
    floors = sorted((reduce or reference.all_reduce).floors, key=lambda entry: entry.gpus)
    common = (reduce or reference.all_reduce).bandwidth
    to_all = exchange or reference.expert_all_to_all
    if gpus > floors[-1].gpus:
        origins.append(f"all-reduce floor of {floors[-1].gpus} GPUs held for {gpus}")
    link = Interconnect(
        gpus=tuple(entry.gpus for entry in floors),
        all_reduce_floors=tuple(entry.floor for entry in floors),
        all_reduce_bandwidth=(
            reduce.bandwidth if reduce else reference.all_reduce.bandwidth * ratio
        ),
        dispatch_floor=to_all.dispatch_floor,
        combine_floor=to_all.combine_floor,
        all_to_all_bandwidth=to_all.bandwidth * (1.0 if exchange else ratio),
        all_reduce_shares=tuple(
            1.0 if entry.bandwidth is None else entry.bandwidth / common for entry in floors
        ),
    )
    return link, origins


def _link_bandwidth(hardware: Hardware) -> float:
    link = hardware.scaleup_bandwidth or hardware.pcie_bandwidth
    if link is None:
        raise UsageError(
            f"{hardware.name} has neither scaleup_bandwidth nor pcie_bandwidth, which more than "
            "one GPU needs; add one to the profile, or use --gpus 1"
        )
    return link.value
