"""The uncertain inputs of a scenario: names, groups, and distributions."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import ndtri

from codesign.hardware import ResolvedKernel
from codesign.model.arrays import FloatArray
from codesign.model.routing import window_correlation
from codesign.prediction import Scenario
from codesign.spec.draft import DEFAULT_ACCEPTANCE
from codesign.spec.hardware import Deployment
from codesign.spec.study import Study

Sample = Callable[[FloatArray], FloatArray]
"""From points in (0, 1) to values; not a closure, so that it travels to worker processes."""

PUBLISHED_WINDOW = 4


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
        *_acceptance(study),
        *_kernels(study, scenario),
        *_overheads(study, scenario),
    ]


def _routing(study: Study, scenario: Scenario) -> list[UncertainInput]:
    if study.routing == "uniform":
        return []
    prior, router = study.uncertainty, scenario.router
    popularity = float(router.popularity)
    inputs = [
        UncertainInput(
            "popularity", "routing", popularity,
            triangular(prior.popularity.low, popularity, prior.popularity.high),
            "published routers",
        )
    ]  # fmt: skip
    if study.routing != "independent":
        own = float(window_correlation(router, PUBLISHED_WINDOW))
        half = prior.window_correlation
        inputs.append(
            UncertainInput(
                "window_correlation", "routing", own,
                triangular(max(own - half, 0.0), own, min(own + half, 0.85)),
                "spread of published r_w(4) by training recipe",
            )
        )  # fmt: skip
    return inputs


def _acceptance(study: Study) -> list[UncertainInput]:
    if study.acceptance != DEFAULT_ACCEPTANCE:
        return []
    prior = study.uncertainty
    ranges = (
        ("acceptance_rate", prior.acceptance_rate),
        ("acceptance_decay", prior.acceptance_decay),
    )
    return [
        UncertainInput(
            name, "acceptance", value, triangular(limits.low, value, limits.high),
            "measured acceptance curves",
        )
        for (name, limits), value in zip(ranges, DEFAULT_ACCEPTANCE.values, strict=True)
    ]  # fmt: skip


def _kernels(study: Study, scenario: Scenario) -> list[UncertainInput]:
    """One factor per constant and kind of kernel, shared by its number formats.

    The least certain format decides. Constants whose fit misses left-out kernels by more than the
    prior are drawn that much wider.
    """
    prior = study.uncertainty
    resolved: dict[str, list[ResolvedKernel]] = {}
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
            inputs.append(
                UncertainInput(f"{kind}_{constant}", "latency", 1.0, factor(error), origin)
            )
    return inputs


def _overheads(study: Study, scenario: Scenario) -> list[UncertainInput]:
    """Host and SD overhead, as long as the study leaves them at their defaults."""
    prior, default = study.uncertainty, Deployment()
    inputs = []
    for name, limits in (("host_time", prior.host_time), ("sd_overhead", prior.sd_overhead)):
        if getattr(study.deployment, name) == getattr(default, name):
            value = getattr(scenario.replica, name)
            sample = triangular(limits.low, value, limits.high)
            inputs.append(UncertainInput(name, "latency", value, sample, "seen in engines"))
    return inputs
