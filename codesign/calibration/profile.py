"""From profiles to a section: where a step's time goes, and what of it grows with the experts."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from codesign.architectures import load_architecture
from codesign.calibration.detect import read_files
from codesign.calibration.kernel_names import CATEGORIES
from codesign.calibration.latency_setting import router_of_model
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.profile_points import Profile, StepProfile
from codesign.errors import CalibrationError
from codesign.hardware import load_hardware, resolve_kernel
from codesign.model.latent_router import unique_experts
from codesign.spec.architecture import Architecture
from codesign.spec.measured_times import ProfileSection
from codesign.spec.section import Cell, Parameter, Table

SHOWN_KERNELS: Final = 20
UNKNOWN_SHARE: Final = 0.05
SHARED_NOTE: Final = (
    "shared experts cannot be told from other dense matrix products by name; the activation "
    "between the two expert products counts as norm and activation"
)


def calibrate_profile(paths: Sequence[Path], options: CalibrationOptions) -> ProfileSection:
    """Measure the split of a step's time and both routed fractions.

    Parameters
    ----------
    paths : sequence of Path
        Profiles of one model and device, of any format; several loads are welcome.
    options : CalibrationOptions
        `architecture` lets the kernels per step be checked and the load fraction be had.

    Raises
    ------
    DataError
        If a file is broken, not understood, or lacks the kernels that graphs launched.
    CalibrationError
        If no routed expert product ran.
    """
    readings = read_files(paths, "profile", options)
    profiles = [_with_load(reading.data, options) for reading in readings]
    loads = [load for profile in profiles for load in profile.loads if load.kernel_time > 0]
    main = _main(loads) if loads else None
    if main is None or main.routed <= 0:
        raise CalibrationError(
            f"{profiles[0].source}: no routed expert product among its kernels; the model is "
            "dense, or its kernels have names that are not known"
        )
    parameters, defaults = _fractions(main, loads, options)
    warnings = [f"{Path(p.source).name}: {note}" for p in profiles for note in p.notes]
    if main.summed.get("dense_gemm"):
        warnings.append(SHARED_NOTE)
    unknown = main.summed.get("other", 0.0) / main.kernel_time
    if unknown > UNKNOWN_SHARE:
        names = ", ".join(_unknown_names(profiles))
        warnings.append(f"{unknown:.0%} of the kernel time is in kernels of unknown kind: {names}")
    if main.width is not None and main.width > 1:
        warnings.append(
            f"the fractions are of a verification step (q = {main.width:g}); the model's are of a "
            "decode step (q = 1)"
        )
    return ProfileSection(
        date=options.day.isoformat(),
        sources=tuple(reading.source for reading in readings),
        samples=sum(load.steps or 1 for load in loads),
        samples_unit="steps" if all(load.steps for load in loads) else "profiles",
        parameters=parameters,
        defaults=defaults,
        warnings=tuple(dict.fromkeys(warnings)),
        tables=(*(_split_tables(loads)), _kernel_table(profiles)),
        batch_size=None if main.batch_size is None else round(main.batch_size),
        draft_tokens=None if main.width is None else round(main.width) - 1,
    )


def _unknown_names(profiles: Sequence[Profile]) -> list[str]:
    """The longest kernels that no rule knows."""
    found = [k for profile in profiles for k in profile.kernels if k.category == "other"]
    return [kernel.name[:60] for kernel in sorted(found, key=lambda k: -k.seconds)[:3]]


def _with_load(profile: Profile, options: CalibrationOptions) -> Profile:
    """Fill in b and q where the profile has no markers."""
    width = None if options.draft_tokens is None else options.draft_tokens + 1.0
    batch = None if options.batch_size is None else float(options.batch_size)
    loads = tuple(
        replace(
            load,
            batch_size=batch if load.batch_size is None else load.batch_size,
            width=width if load.width is None else load.width,
        )
        for load in profile.loads
    )
    return replace(profile, loads=loads)


def _main(loads: Sequence[StepProfile]) -> StepProfile:
    """A decode step if there is one, else the load that was profiled most."""
    return max(loads, key=lambda load: (load.width == 1, load.steps or 0))


def _fractions(
    main: StepProfile, loads: Sequence[StepProfile], options: CalibrationOptions
) -> tuple[dict[str, Parameter], dict[str, str]]:
    """Routed share of all kernels; the share that grows with unique experts; idle share."""
    suffix = "_verify" if main.width is not None and main.width > 1 else ""
    whole = main.kernel_time
    if main.unlisted:
        whole += main.copies + main.unlisted
    parameters = {
        f"routed_time_fraction{suffix}": Parameter(
            value=main.routed / whole, standard_error=main.fraction_error
        )
    }
    if main.period is not None and main.span is not None:
        idle = Parameter(value=max(1 - main.span / main.period, 0.0))
        parameters["idle_fraction"] = idle
    growing, reason = _growing(main, loads, options)
    defaults = {}
    if growing is None:
        defaults[f"routed_load_fraction{suffix}"] = reason
    else:
        parameters[f"routed_load_fraction{suffix}"] = Parameter(value=growing / whole)
    return parameters, defaults


def _growing(
    main: StepProfile, loads: Sequence[StepProfile], options: CalibrationOptions
) -> tuple[float | None, str]:
    """Routed time of a step less its floor [s], and why not where it cannot be had."""
    if options.architecture is None:
        return None, "needs --arch, and two loads or --hw"
    model = load_architecture(options.architecture)
    if model.moe is None or main.steps is None:
        return None, "needs the time of one step of a model with experts"
    known = [load for load in loads if load.batch_size and load.width and load.steps]
    experts = np.array([_unique(model, load) for load in known])
    if experts.size and np.ptp(experts) > 0.1 * experts.max() and main in known:
        times = np.array([load.routed for load in known])
        slope, floor = np.polyfit(experts, times, 1)
        if slope > 0:
            return float(min(max(main.routed - max(floor, 0.0), 0.0), main.routed)), ""
    if options.hardware is None:
        return None, "one load only: needs profiles at two batch sizes or widths, or --hw"
    dtype = model.precision.of("routed_experts")
    hardware = load_hardware(options.hardware)
    kernel = resolve_kernel(hardware, "routed_experts", options.backend or "vllm", dtype).kernel
    return max(main.routed - model.moe.layers * float(kernel.floor), 0.0), ""


def _unique(model: Architecture, load: StepProfile) -> float:
    assert model.moe is not None
    moe, batch, width = model.moe, load.batch_size or 1.0, load.width or 1.0
    return float(unique_experts(moe.experts, moe.top_k, batch, width, router_of_model(model)))


def _split_tables(loads: Sequence[StepProfile]) -> list[Table]:
    split: list[tuple[Cell, ...]] = []
    shares: list[tuple[Cell, ...]] = []
    for load in loads:
        where = (_whole(load.batch_size), _whole(load.width), load.steps)
        for name in CATEGORIES:
            summed = load.summed.get(name, 0.0)
            union = load.union[name] if load.union is not None else None
            share = summed / load.kernel_time * 100 if name != "copies" else None
            split.append((*where, name, summed * 1e6, _us(union), share))
        if load.unlisted:
            split.append((*where, "not listed", load.unlisted * 1e6, None, None))
        if load.span is not None and load.busy is not None:
            split.append((*where, "gaps", (load.span - load.busy) * 1e6, None, None))
        if load.period is not None and load.span is not None:
            split.append((*where, "idle", (load.period - load.span) * 1e6, None, None))
        for denominator, seconds in load.denominators().items():
            shares.append((*where, denominator, seconds * 1e6, load.routed / seconds))
    columns = ("B", "q", "steps", "component", "summed [us]", "union [us]", "of kernels [%]")
    fractions = ("B", "q", "steps", "denominator", "time [us]", "routed_time_fraction")
    title = (
        "Time of a step, of the whole profile where steps are not marked (gaps: between its "
        "kernels; idle: until the next step)"
    )
    return [
        Table(name="components", title=title, columns=columns, rows=tuple(split)),
        Table(
            name="fractions",
            title="Routed expert products over what",
            columns=fractions,
            rows=tuple(shares),
        ),
    ]


def _kernel_table(profiles: Sequence[Profile]) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (Path(profile.source).name, k.name[:80], k.category, k.seconds * 1e6, k.calls)
        for profile in profiles
        for k in profile.kernels[:SHOWN_KERNELS]
    ]
    columns = ("profile", "kernel", "component", "total [us]", "calls")
    title = "Longest kernels, and what each is taken for"
    return Table(name="kernels", title=title, columns=columns, rows=tuple(rows))


def _us(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e6


def _whole(value: float | None) -> float | int | None:
    return int(value) if value is not None and value == round(value) else value
