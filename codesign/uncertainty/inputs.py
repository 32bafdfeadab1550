"""The uncertain inputs of a scenario: names, groups, and distributions."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtri

from codesign.calibration.calibrated_replica import measured_on, relative_error
from codesign.calibration.step_constants import in_si
from codesign.hardware import ResolvedKernel
from codesign.model.arrays import FloatArray
from codesign.model.routing import window_correlation
from codesign.scenario import Scenario
from codesign.spec.calibration import AcceptanceSection
from codesign.spec.draft import DEFAULT_ACCEPTANCE
from codesign.spec.hardware import Deployment, KernelKind
from codesign.spec.study import Study
from codesign.spec.uncertainty import Range, Uncertainty

Sample = Callable[[FloatArray], FloatArray]
"""From points in (0, 1) to values; not a closure, so that it travels to worker processes."""

PUBLISHED_WINDOW = 4
LARGEST_CORRELATION = 0.85


@dataclass(frozen=True)
class UncertainInput:
    """One input that is drawn.

    Parameters
    ----------
    name : str
    group : {"routing", "acceptance", "latency"}
        The section of a calibration that would measure it.
    value : float
        In use without draws.
    sample : callable
    origin : str
        Where the distribution comes from.
    """

    name: str
    group: str
    value: float
    sample: Sample
    origin: str


def from_prior(study: Study, name: str, value: float, known: str) -> tuple[Sample, str]:
    """Return the sampler of a prior range, and where it comes from.

    The default one is widened where it does not hold the value in use; one that the study states
    is kept to, its peak as near to that value as can be.
    """
    limits, default = getattr(study.uncertainty, name), getattr(Uncertainty(), name)
    outside = not limits.low <= value <= limits.high
    if limits == default:
        origin = f"{known}, widened to the value in use" if outside else known
        return triangular(limits.low, value, limits.high), origin
    peak = min(max(value, limits.low), limits.high)
    origin = "range of the study" + (", which the value in use is not in" if outside else "")
    return triangular(limits.low, peak, limits.high), origin


def triangular(low: float, peak: float, high: float) -> Sample:
    """Return the sampler of a triangle, its peak moved into the range if need be."""
    return partial(_triangular, low=min(low, peak), peak=peak, high=max(high, peak))


def _triangular(points: FloatArray, low: float, peak: float, high: float) -> FloatArray:
    width = high - low
    if width == 0:
        return np.full_like(points, peak)
    split = (peak - low) / width
    rising = low + np.sqrt(points * width * max(peak - low, 0.0))
    falling = high - np.sqrt((1 - points) * width * max(high - peak, 0.0))
    return np.where(points < split, rising, falling)


def normal(value: float, error: float, low: float = 0.0, high: float = np.inf) -> Sample:
    """Return the sampler of a normal around a measured value, kept within [low, high]."""
    return partial(_normal, value=value, error=error, low=low, high=high)


def _normal(points: FloatArray, value: float, error: float, low: float, high: float) -> FloatArray:
    return np.clip(value + error * ndtri(points), low, high)


def factor(error: float) -> Sample:
    """Return the sampler of a log-normal factor of mean 1."""
    return partial(_factor, sd=float(np.sqrt(np.log1p(error**2))))


def _factor(points: FloatArray, sd: float) -> FloatArray:
    return np.asarray(np.exp(sd * ndtri(points) - sd**2 / 2))


def uncertain_inputs(study: Study, scenario: Scenario) -> list[UncertainInput]:
    """Return what is drawn for a study: only what it does not state and nobody has measured."""
    return [
        *_routing(study, scenario),
        *_acceptance(study, scenario),
        *_kernels(study, scenario),
        *_overheads(study, scenario),
        UncertainInput(
            "cycle_error", "latency", 1.0, factor(study.uncertainty.cycle_ratio),
            "spread of held-out cycle ratios that no other input explains",
        ),
    ]  # fmt: skip


def _routing(study: Study, scenario: Scenario) -> list[UncertainInput]:
    if study.routing == "uniform":
        return []
    measured = _measured_routing(study, scenario)
    if measured:
        return measured
    prior, router = study.uncertainty, scenario.router
    popularity = float(router.popularity)
    inputs = [
        UncertainInput(
            "popularity", "routing", popularity,
            *from_prior(study, "popularity", popularity, "published routers"),
        )
    ]  # fmt: skip
    if study.routing != "independent":
        own = float(window_correlation(router, PUBLISHED_WINDOW))
        half = prior.window_correlation
        inputs.append(
            UncertainInput(
                "window_correlation", "routing", own,
                triangular(max(own - half, 0.0), own, min(own + half, LARGEST_CORRELATION)),
                "spread of published r_w(4) by training recipe",
            )
        )  # fmt: skip
    return inputs


def _measured_routing(study: Study, scenario: Scenario) -> list[UncertainInput]:
    """Errors of a calibration in place of what is published of other models."""
    section = None if scenario.calibration is None else scenario.calibration.routing
    if section is None or study.routing not in ("own", "independent"):
        return []
    found = {"popularity": section.parameters.get("popularity")}
    if study.routing == "own":
        window = section.window_correlations.get(str(PUBLISHED_WINDOW))
        found["window_correlation"] = window
    if any(each is None or each.standard_error is None for each in found.values()):
        return []
    return [
        UncertainInput(
            name, "routing", each.value,
            normal(each.value, each.standard_error, high=LARGEST_CORRELATION),
            "standard error of the calibration",
        )
        for name, each in found.items()
        if each is not None and each.standard_error is not None
    ]  # fmt: skip


def _acceptance(study: Study, scenario: Scenario) -> list[UncertainInput]:
    if study.acceptance != DEFAULT_ACCEPTANCE:
        return []
    if scenario.calibration is not None and scenario.calibration.acceptance is not None:
        return _measured_acceptance(study, scenario, scenario.calibration.acceptance)
    names = ("acceptance_rate", "acceptance_decay")
    return [
        UncertainInput(
            name, "acceptance", value, *from_prior(study, name, value, "measured acceptance curves")
        )
        for name, value in zip(names, DEFAULT_ACCEPTANCE.values, strict=True)
    ]


def _measured_acceptance(
    study: Study, scenario: Scenario, section: AcceptanceSection
) -> list[UncertainInput]:
    """One factor on survival, as errors of its positions go together, and one beyond the data.

    Without a stated error (one printed figure, say) it is as uncertain as what is published.
    """
    prior, (rate, decay) = study.uncertainty, DEFAULT_ACCEPTANCE.values
    errors = [
        (group.acceptance_length.standard_error or 0.0) / (group.acceptance_length.value - 1.0)
        for group in section.groups
        if group.acceptance_length.value > 1
    ]
    if errors and min(errors) > 0:
        sample, origin = normal(1.0, max(errors)), "standard error of the calibration"
    else:
        sample = _relative(prior.acceptance_rate, rate)
        origin = "spread of measured curves, as the calibration states no error"
    inputs = [UncertainInput("acceptance_scale", "acceptance", 1.0, sample, origin)]
    if scenario.survival.shape[-1] > section.observed:
        inputs.append(
            UncertainInput(
                "acceptance_beyond", "acceptance", 1.0, _relative(prior.acceptance_decay, decay),
                f"decay of measured curves, beyond the {section.observed} positions observed",
            )
        )  # fmt: skip
    return inputs


def _relative(limits: Range, value: float) -> Sample:
    """Return the sampler of a factor, from the prior range of a default."""
    return triangular(limits.low / value, 1.0, limits.high / value)


def _kernels(study: Study, scenario: Scenario) -> list[UncertainInput]:
    """One factor per constant and kind of kernel, shared by its number formats.

    The least certain format decides. Constants whose fit misses left-out kernels by more than the
    prior are drawn that much wider.
    """
    prior = study.uncertainty
    resolved: dict[KernelKind, list[ResolvedKernel]] = {}
    for (kind, _), kernel in scenario.replica.kernels.items():
        resolved.setdefault(kind, []).append(kernel)
    inputs = []
    for kind, kernels in resolved.items():
        known = all(kernel.measured and kernel.weak is None for kernel in kernels)
        errors = prior.measured_kernels if known else prior.scaled_kernels
        left_out = max(kernel.error or 0.0 for kernel in kernels)
        origin = "error of measured constants" if known else "error of scaled or weak constants"
        for constant in ("floor", "bandwidth", "compute"):
            error = max(getattr(errors, constant), left_out)
            measured = _measured_error(scenario, kind, constant)
            told = origin if measured is None else "standard error of the calibration"
            sample = factor(error if measured is None else measured)
            inputs.append(UncertainInput(f"{kind}_{constant}", "latency", 1.0, sample, told))
    return inputs


def _measured_error(scenario: Scenario, kind: str, constant: str) -> float | None:
    """Relative error of a calibrated constant; nothing where it is not in use."""
    section = None if scenario.calibration is None else scenario.calibration.latency
    if section is None or not measured_on(section, scenario.replica):
        return None
    return relative_error(section, kind, constant)


def _measured_overhead(scenario: Scenario, name: str) -> UncertainInput | None:
    """A calibrated overhead with its error; nothing where it is not in use."""
    section = None if scenario.calibration is None else scenario.calibration.latency
    if section is None or not measured_on(section, scenario.replica):
        return None
    found = section.parameters.get(name)
    if found is None or found.standard_error is None:
        return None
    value = in_si(found.value, found.unit)
    error = in_si(found.standard_error, found.unit)
    origin = "standard error of the calibration"
    return UncertainInput(name, "latency", value, normal(value, error, low=0.0), origin)


def _overheads(study: Study, scenario: Scenario) -> list[UncertainInput]:
    """Host and SD overhead, as long as the study leaves them at their defaults."""
    default, inputs = Deployment(), []
    for name in ("host_time", "sd_overhead"):
        if getattr(study.deployment, name) == getattr(default, name):
            measured = _measured_overhead(scenario, name)
            if measured is not None:
                inputs.append(measured)
                continue
            value = getattr(scenario.replica, name)
            drawn = from_prior(study, name, value, "seen in engines")
            inputs.append(UncertainInput(name, "latency", value, *drawn))
    return inputs
