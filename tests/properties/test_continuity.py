"""Small changes of continuous inputs change figures little, across every switch of the model."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesign.model.arrays import ArrayLike, FloatArray
from codesign.model.communication import Interconnect, all_reduce
from codesign.model.latent_router import unique_experts
from codesign.model.roofline import Kernel, kernel_cost
from codesign.model.routing import GENERIC_ROUTER, SLOW_DECAY, RouterParameters, mean_decay
from codesign.model.threshold import threshold, threshold_share
from codesign.scenario import Scenario
from tests.properties.any_question import Question, examples, numbers, questions

STEP = 1e-7
STEEPEST = 100.0
"""Most that a figure changes, relative, per relative change of an input."""

STEPS = {"kv_capacity_sequences", "sd_goodput_tokens_per_s"}
"""Figures that count whole sequences, or those within a limit."""

Change = Callable[[Scenario], Scenario]


def _kernels(part: str) -> Change:
    def change(scenario: Scenario) -> Scenario:
        replica = scenario.replica
        kernels = {
            key: replace(
                each,
                kernel=replace(each.kernel, **{part: getattr(each.kernel, part) * (1 + STEP)}),
            )
            for key, each in replica.kernels.items()
        }
        return replace(scenario, replica=replace(replica, kernels=kernels))

    return change


def _link(scenario: Scenario) -> Scenario:
    link = scenario.replica.interconnect
    if link is None:
        return scenario
    changed = replace(
        link,
        all_reduce_bandwidth=link.all_reduce_bandwidth * (1 + STEP),
        all_to_all_bandwidth=link.all_to_all_bandwidth * (1 - STEP),
    )
    return replace(scenario, replica=replace(scenario.replica, interconnect=changed))


def _router(scenario: Scenario) -> Scenario:
    own = scenario.router
    changed = replace(
        own,
        popularity=own.popularity * (1 - STEP),
        request=own.request * (1 - STEP),
        recency=own.recency * (1 - STEP),
        decay=own.decay * (1 + STEP),
    )
    return replace(scenario, router=changed)


def _acceptance(scenario: Scenario) -> Scenario:
    return replace(scenario, survival=scenario.survival * (1 - STEP))


CHANGES: dict[str, Change] = {
    "bandwidth": _kernels("bandwidth"),
    "compute": _kernels("compute"),
    "floor": _kernels("floor"),
    "p-norm": _kernels("norm"),
    "narrow width": _kernels("narrow_width"),
    "interconnect": _link,
    "router": _router,
    "acceptance": _acceptance,
}


def assert_close(one: dict[str, FloatArray], other: dict[str, FloatArray]) -> None:
    for name in one.keys() - STEPS:
        # The spread of requests is a root of a variance, which vanishes where all is accepted.
        most = STEP**0.5 if name == "sd_tpot_p95_s" else STEP * STEEPEST
        np.testing.assert_allclose(other[name], one[name], most, most, err_msg=name)


@pytest.mark.parametrize("name", CHANGES)
@examples(6)
@given(question=questions())
def test_a_scenario_a_little_different(name: str, question: Question) -> None:
    changed = CHANGES[name](question.scenario)
    assert_close(numbers(question.ask()), numbers(question.ask(changed)))


@examples(10)
@given(question=questions())
def test_a_width_a_little_different(question: Question) -> None:
    if question.scenario.reference.moe is not None:
        wider = question.ask(expert_width=question.sizes[4] * (1 + STEP))
        assert_close(numbers(question.ask()), numbers(wider))


@examples(15)
@given(question=questions(), groups=st.integers(1, 60))
def test_steps_where_one_group_gets_another_sequence(question: Question, groups: int) -> None:
    """⌈B/dp⌉ is the only step: nothing but experts and caches changes in between."""
    replica = question.scenario.replica
    last = groups * replica.data_parallel
    first = max(last - replica.data_parallel + 1, 1)
    one, other = (question.ask(batch=each) for each in (first, last))
    for name, cost in one.verify_costs.items():
        if name not in ("routed_experts", "communication"):
            assert (cost.seconds == other.verify_costs[name].seconds).all(), name
    assert (one.memory_bytes_per_gpu == other.memory_bytes_per_gpu).all()


# ---- switches of single functions ----------------------------------------------------------------


def around(function: Callable[[float], ArrayLike], at: float, step: float = 1e-9) -> float:
    """Relative jump of a function at a point."""
    below, above = (float(np.asarray(function(at * (1 + side * step)))) for side in (-1, 1))
    return abs(above / below - 1)


@pytest.mark.parametrize("router", [GENERIC_ROUTER, RouterParameters(0.6, 0.1, 0.1, 0.42, 0.3)])
@pytest.mark.parametrize(("batch", "window"), [(2, 1), (33, 4), (65_536, 1)])
def test_tables_meet(router: RouterParameters, batch: int, window: int) -> None:
    """At k/N = 2.33e-4, where the sparse table takes over, and at w = .4, between N = 3 and 4."""
    sparse = 1 / float(_where(lambda n: threshold(1 / n), 3.5, 4000, 5000))
    assert 2.32e-4 < sparse < 2.34e-4
    few = _where(lambda n: -threshold_share(n, 1), -0.4, 3, 4)
    for at in (1 / sparse, few):
        jump = around(lambda n: unique_experts(n, 1, batch, window, router), at, 1e-12)
        assert jump < 5e-4


def _where(rising: Callable[[float], FloatArray], value: float, low: float, high: float) -> float:
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < value else (low, middle)
    return low


@pytest.mark.parametrize("window", [2, 4, 65])
def test_the_mean_of_a_slow_decay_meets_the_closed_form(window: int) -> None:
    switch = 1 - SLOW_DECAY / window
    assert around(lambda decay: mean_decay(decay, window), switch, 1e-15) < 1e-12


def test_correlations_above_nine_tenths_count_as_that() -> None:
    def unique(popularity: float) -> FloatArray:
        return unique_experts(128, 8, 33, 4, RouterParameters(popularity, 0.05, 0.01, 0.5))

    assert around(unique, 0.85) < 1e-6
    assert around(unique, 0.9) < 1e-6


@pytest.mark.parametrize("norm", [1.0, 1.0 + 1e-9, 1.71, 50.0])
def test_where_bytes_and_flop_take_equally_long(norm: float) -> None:
    kernel = Kernel(1e-5, 1e12, 1e15, norm)
    seconds = around(lambda traffic: kernel_cost(kernel, 1, traffic, 1e9).seconds, 1e6)
    assert seconds < 1e-8
    near = kernel_cost(replace(kernel, norm=norm * (1 + 1e-9)), 1, 1e6, 1e9).seconds
    assert near == pytest.approx(kernel_cost(kernel, 1, 1e6, 1e9).seconds, rel=1e-8)


def test_all_reduce_between_known_numbers_of_gpus() -> None:
    link = Interconnect((2, 4, 8), (4e-6, 5e-6, 9e-6), 1e11, 1e-5, 1e-5, 2e11, (1.0, 0.8, 0.5))
    known = [float(all_reduce(link, 1, gpus, 1e6).seconds) for gpus in (2, 3, 4, 6, 8, 9, 1024)]
    assert known == sorted(known)
    for gpus in (2, 4, 8):
        jump = around(lambda g: all_reduce(link, 1, g, 1e6).seconds, gpus)  # type: ignore[arg-type]
        assert jump < 1e-8
