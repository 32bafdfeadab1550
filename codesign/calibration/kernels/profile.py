"""All constants of one device, fitted from the tables, and its profile with them put in."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from codesign.calibration.kernels.attention import grouped_kernels, latent_kernels
from codesign.calibration.kernels.collectives import fit_all_reduce, fit_exchange, microseconds
from codesign.calibration.kernels.dense import dense_kernels
from codesign.calibration.kernels.fit import FitOptions, FittedKernel, fit_kernel
from codesign.calibration.kernels.routed import routed_kernels
from codesign.calibration.kernels.rows import TimedKernels, reachable
from codesign.calibration.kernels.tables import BACKENDS, FORMATS
from codesign.errors import CalibrationError
from codesign.hardware.constants import compute_format
from codesign.spec.hardware import (
    AllReduce,
    Backend,
    ExpertAllToAll,
    Hardware,
    KernelConstants,
    KernelKind,
)
from codesign.spec.precision import Dtype
from codesign.whole_file import write_whole

WEAK_ERROR: Final = 0.15
"""Left-out median error above which constants are marked weak [-]."""

WEAK_BANDWIDTH: Final = 0.35
"""Achieved share of the datasheet's memory bandwidth below which they are, too [-]."""

USELESS_ERROR: Final = 0.3
"""Left-out median error above which scaling from a neighbour is better, and nothing is kept [-]."""

FEWEST_CONFIGURATIONS: Final = 3
FEWEST_ROWS: Final = 10
TERA: Final = 1e12

Read = Callable[[str, Backend, Dtype], TimedKernels | None]
KINDS: Final[dict[KernelKind, Read]] = {
    "routed_experts": routed_kernels,
    "gemm": dense_kernels,
    "attention": grouped_kernels,
    "latent_attention": latent_kernels,
}
"""What is fitted, and what reads its measurements."""


@dataclass(frozen=True)
class DeviceFits:
    """Everything fitted for one device.

    Parameters
    ----------
    kernels : dict
        Fits by kernel, engine and number format.
    all_reduce : AllReduce, optional
    exchange : ExpertAllToAll, optional
    """

    kernels: dict[tuple[KernelKind, Backend, Dtype], FittedKernel]
    all_reduce: AllReduce | None
    exchange: ExpertAllToAll | None


def fit_device(
    hardware: Hardware,
    *,
    backends: tuple[Backend, ...] = BACKENDS,
    dtypes: tuple[Dtype, ...] = tuple(FORMATS),
    progress: Callable[[str], None] | None = None,
) -> DeviceFits:
    """Fit every kernel of one device that was measured.

    Parameters
    ----------
    hardware : Hardware
        A bundled profile.
    backends, dtypes : tuple
        Those wanted.
    progress : callable, optional
        Told what is fitted next.

    Raises
    ------
    UsageError
        If the tables are not installed or have nothing of the device.
    CalibrationError
        If none of the kernels asked for was measured.
    """
    fits = {}
    for key in _keys(backends, dtypes):
        kind, backend, dtype = key
        measured = KINDS[kind](hardware.name, backend, dtype)
        if measured is None:
            continue
        measured = reachable(measured, hardware.memory_bandwidth.value)
        if measured.seconds.size < FEWEST_ROWS:
            continue
        if progress:
            progress(f"{hardware.name} {kind} {backend} {dtype}")
        fits[key] = fit_kernel(measured, fit_options(hardware, kind, dtype))
    if not fits:
        raise CalibrationError(
            f"nothing was measured of {', '.join(backends)} in {', '.join(dtypes)} on "
            f"{hardware.name}"
        )
    reduced = (fit_all_reduce(hardware.name, backend) for backend in backends)
    return DeviceFits(
        kernels=fits,
        all_reduce=next((fit for fit in reduced if fit is not None), None),
        exchange=fit_exchange(hardware.name),
    )


def fit_options(hardware: Hardware, kind: KernelKind, dtype: Dtype) -> FitOptions:
    """Return how a kernel is fitted; attention multiplies in bf16 whatever its cache."""
    if kind in ("attention", "latent_attention"):
        return FitOptions(hardware.peak_compute["bf16"].value, norm=True, least_share=0.25)
    peak = hardware.peak_compute[compute_format(hardware, dtype)].value
    return FitOptions(peak, norm=kind == "gemm")


def _keys(
    backends: tuple[Backend, ...], dtypes: tuple[Dtype, ...]
) -> Iterator[tuple[KernelKind, Backend, Dtype]]:
    for kind in KINDS:
        for backend in backends:
            for dtype in dtypes:
                yield kind, backend, dtype


def constants_of(
    hardware: Hardware, kind: KernelKind, backend: Backend, dtype: Dtype, fit: FittedKernel
) -> KernelConstants:
    """Return a fit as a profile writes it, rounded to what it is worth."""
    written: dict[str, object] = {
        "kernel": kind,
        "backend": backend,
        "dtype": dtype,
        "floor": microseconds(float(fit.kernel.floor)),
        "bandwidth": f"{float(fit.kernel.bandwidth) / TERA:.3g} TB/s",
        "compute": f"{float(fit.kernel.compute) / TERA:.3g} TFLOP/s",
        "norm": round(fit.kernel.norm, 2),
        "narrow_width": round(fit.kernel.narrow_width) if kind == "routed_experts" else 0,
        "source": fit.source,
        "samples": fit.samples,
        "configurations": fit.configurations,
        "median_error": round(fit.median_error, 4),
        "p90_error": round(fit.p90_error, 4),
    }
    if fit.configurations > 1:
        written["left_out_error"] = round(fit.left_out_error, 4)
        written["left_out_p90_error"] = round(fit.left_out_p90_error, 4)
    weak = weakness(hardware, fit)
    return KernelConstants.from_data(written | ({"weak": weak} if weak else {}))


def weakness(hardware: Hardware, fit: FittedKernel) -> str | None:
    """Say why a fit is weak; None where it is not."""
    share = float(fit.kernel.bandwidth) / hardware.memory_bandwidth.value
    if fit.configurations < FEWEST_CONFIGURATIONS:
        plural = "s" if fit.configurations > 1 else ""
        return f"only {fit.configurations} measured shape{plural}"
    if fit.left_out_error > WEAK_ERROR:
        return f"shapes left out are missed by {fit.left_out_error:.0%} in the median"
    if share < WEAK_BANDWIDTH:
        return f"a slow kernel: {share:.0%} of the memory bandwidth"
    return None


def fitted_profile(hardware: Hardware, fits: DeviceFits) -> Hardware:
    """Return the profile with its constants replaced by the fits; others stay.

    Parameters
    ----------
    hardware : Hardware
    fits : DeviceFits
    """
    kept = [
        own for own in hardware.kernels if (own.kernel, own.backend, own.dtype) not in fits.kernels
    ]
    fitted = [
        constants_of(hardware, *key, fit)
        for key, fit in fits.kernels.items()
        if not fit.left_out_error > USELESS_ERROR
    ]
    changes: dict[str, object] = {"kernels": [each.to_data() for each in (*fitted, *kept)]}
    if fits.all_reduce is not None:
        changes["all_reduce"] = fits.all_reduce.to_data()
    if fits.exchange is not None:
        changes["expert_all_to_all"] = fits.exchange.to_data()
    return hardware.revised(**changes)


def save_profile(hardware: Hardware, path: Path) -> None:
    """Write a profile as YAML.

    Raises
    ------
    UsageError
        If the file cannot be written.
    """
    text = yaml.safe_dump(hardware.to_data(), sort_keys=False, allow_unicode=True, width=100)
    write_whole(path, text)
