"""Terms of the model, each taken out by changing the scenario: the model itself has no switches."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Final

from codesign.draft_model import Drafting
from codesign.model.communication import Interconnect
from codesign.model.roofline import Kernel
from codesign.model.routing import RouterParameters
from codesign.scenario import Scenario
from codesign.spec.ablation import TermName
from codesign.spec.draft import Draft

Removal = Callable[[Scenario], Scenario]


@dataclass(frozen=True)
class Term:
    """One term of the model.

    Parameters
    ----------
    meaning : str
        What it stands for.
    remove : callable
        Returns the scenario without it.
    """

    meaning: str
    remove: Removal


def without(scenario: Scenario, names: Iterable[TermName]) -> Scenario:
    """Return the scenario with some terms taken out."""
    for name in names:
        scenario = TERMS[name].remove(scenario)
    return scenario


def _independent(scenario: Scenario) -> Scenario:
    return _rerouted(scenario, lambda router: replace(router, request=0.0, recency=0.0))


def _equally_popular(scenario: Scenario) -> Scenario:
    return _rerouted(scenario, lambda router: replace(router, popularity=0.0, skew=0.0))


def _rerouted(
    scenario: Scenario, change: Callable[[RouterParameters], RouterParameters]
) -> Scenario:
    """Change the router, and those it is interpolated between."""
    router = scenario.router
    between = tuple((change(part), weight) for part, weight in router.between)
    return replace(scenario, router=replace(change(router), between=between))


def _without_floors(scenario: Scenario) -> Scenario:
    return _rekernelled(scenario, lambda kernel: replace(kernel, floor=0.0))


def _without_compute(scenario: Scenario) -> Scenario:
    return _rekernelled(scenario, lambda kernel: replace(kernel, compute=math.inf))


def _without_traffic(scenario: Scenario) -> Scenario:
    return _rekernelled(scenario, lambda kernel: replace(kernel, bandwidth=math.inf))


def _rekernelled(scenario: Scenario, change: Callable[[Kernel], Kernel]) -> Scenario:
    """Change every kernel, of target and draft alike."""
    kernels = {
        key: replace(resolved, kernel=change(resolved.kernel))
        for key, resolved in scenario.replica.kernels.items()
    }
    return replace(scenario, replica=replace(scenario.replica, kernels=kernels))


def _without_context(scenario: Scenario) -> Scenario:
    return replace(scenario, context=0)


def _free_draft(scenario: Scenario) -> Scenario:
    target = scenario.drafting.target
    free = Drafting(Draft(kind="fraction", fraction=0.0), target, None)
    return replace(scenario, drafting=free)


def _without_communication(scenario: Scenario) -> Scenario:
    link = scenario.replica.interconnect
    if link is None:
        return scenario
    free = Interconnect(link.gpus, (0.0,) * len(link.gpus), math.inf, 0.0, 0.0, math.inf)
    return replace(scenario, replica=replace(scenario.replica, interconnect=free))


def _without_host(scenario: Scenario) -> Scenario:
    return replace(scenario, replica=replace(scenario.replica, host_time=0.0))


def _without_overhead(scenario: Scenario) -> Scenario:
    return replace(scenario, replica=replace(scenario.replica, sd_overhead=0.0))


TERMS: Final[dict[TermName, Term]] = {
    "temporal_correlation": Term(
        "tokens of one request select like experts; without it they select as strangers do",
        _independent,
    ),
    "popularity_skew": Term(
        "some experts are selected more often by all; without it all are alike", _equally_popular
    ),
    "launch_floors": Term("time of the smallest launch of every kernel", _without_floors),
    "compute_time": Term("FLOP over achieved FLOP/s; without it compute is free", _without_compute),
    "memory_time": Term(
        "bytes over achieved bandwidth; without it every pass is bound by compute",
        _without_traffic,
    ),
    "kv_cache": Term(
        "reading the caches of the context; without it context is 0", _without_context
    ),
    "draft_cost": Term("running the draft; without it drafts are free", _free_draft),
    "communication": Term("exchange between the GPUs of a replica", _without_communication),
    "host_time": Term("host time per step", _without_host),
    "sd_overhead": Term("fixed cost of a draft-verify cycle", _without_overhead),
}
"""Every term by name, in the order of the derivation."""
