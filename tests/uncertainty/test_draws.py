"""Joint draws: distributions, limits, and what they leave alone."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesign.designs import Designs
from codesign.model.latent_router import unique_experts
from codesign.model.routing import GENERIC_ROUTER, window_correlation
from codesign.prediction import predict
from codesign.resolve import build_scenario
from codesign.spec.study import Study
from codesign.uncertainty.draws import Draws, draw_scenarios, drawn, drawn_router
from codesign.uncertainty.inputs import factor, normal, triangular
from codesign.uncertainty.statistics import interval, statistic

MIDPOINTS = (np.arange(100_000) + 0.5) / 100_000


def draws_of(**fields: object) -> Draws:
    data = {"hardware": "h100", "workload": {"target_batch_size": 32}} | fields
    study = Study.from_data(data)
    return draw_scenarios(study, build_scenario(study))


def test_triangle_has_the_moments_of_a_triangle() -> None:
    # Mean (a+b+c)/3, variance (a^2+b^2+c^2-ab-ac-bc)/18.
    low, peak, high = 0.06, 0.292, 0.30
    sample = triangular(low, peak, high)(MIDPOINTS)
    assert sample.mean() == pytest.approx((low + peak + high) / 3, rel=1e-6)
    cross = low * peak + low * high + peak * high
    assert sample.var() == pytest.approx((low**2 + peak**2 + high**2 - cross) / 18, rel=1e-4)
    assert sample.min() >= low and sample.max() <= high


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_triangle_stays_between_its_ends(low: float, peak: float, high: float) -> None:
    sample = triangular(low, peak, high)(np.array([1e-6, 0.3, 0.5, 0.7, 1 - 1e-6]))
    assert (np.diff(sample) >= 0).all()
    assert sample.min() >= min(low, peak) - 1e-12 and sample.max() <= max(high, peak) + 1e-12


def test_factor_has_mean_one_and_the_stated_error() -> None:
    sample = factor(0.1)(MIDPOINTS)
    assert sample.mean() == pytest.approx(1, abs=1e-4)
    assert sample.std() == pytest.approx(0.1, rel=0.01)


def test_normal_is_clipped() -> None:
    sample = normal(0.5, 0.2, low=0.3, high=0.6)(MIDPOINTS)
    assert (sample.min(), sample.max()) == (0.3, 0.6)
    assert np.median(sample) == pytest.approx(0.5, abs=1e-4)


@given(popularity=st.floats(0.06, 0.30), window=st.floats(0.05, 0.85))
def test_a_drawn_router_meets_its_window_correlation(popularity: float, window: float) -> None:
    router = drawn_router(GENERIC_ROUTER, popularity, window)
    met = float(window_correlation(router, 4))
    # r_w >= r_p always; the variance of the scores never exceeds 1 (RouterParameters raises).
    assert met == pytest.approx(max(window, popularity), abs=1e-9)


def test_every_draw_keeps_the_order_of_the_correlations() -> None:
    for scenario in draws_of().scenarios:
        assert window_correlation(scenario.router, 4) >= float(scenario.router.popularity) - 1e-12


def test_interpolated_routers_are_close_to_their_own_tables() -> None:
    experts = np.array([8.0, 64, 128, 512])[:, None, None]
    top_k = np.minimum(np.array([1.0, 4, 8])[:, None], experts)
    worst = 0.0
    for scenario in draws_of().scenarios[:6]:
        exact = replace(scenario.router, between=())
        for batch in (1, 32):
            pair = [
                unique_experts(experts, top_k, batch, np.array([1.0, 4, 9]), router)
                for router in (scenario.router, exact)
            ]
            worst = max(worst, float(np.abs(pair[0] / pair[1] - 1).max()))
    assert worst < 0.01


@pytest.mark.parametrize(
    "uncertainty",
    [
        {"draws": 8, "window_correlation": 0.0},
        {"draws": 8, "popularity": {"low": 0.292, "high": 0.292}, "window_correlation": 0.0},
    ],
    ids=["constant window", "nothing drawn"],
)
def test_a_constant_column_of_draws_has_a_single_node(uncertainty: dict[str, object]) -> None:
    # Coinciding nodes had a weight of one each: U(32, 4) of 128/8 was 127.97 instead of 109.7.
    for scenario in draws_of(uncertainty=uncertainty).scenarios:
        exact = replace(scenario.router, between=())
        assert sum(weight for _, weight in scenario.router.between) == pytest.approx(1.0)
        unique = unique_experts(128, 8, 32, 4, scenario.router)
        assert unique == pytest.approx(unique_experts(128, 8, 32, 4, exact), rel=0.01)


def test_what_the_study_states_is_not_drawn() -> None:
    names = {each.name for each in draws_of().inputs}
    assert {"acceptance_rate", "host_time", "sd_overhead", "popularity"} <= names
    stated = draws_of(
        acceptance="constant:0.7",
        routing="uniform",
        deployment={"host_time": "0.2 ms", "sd_overhead": "1 ms"},
    )
    assert {each.group for each in stated.inputs} == {"latency"}
    assert not {"host_time", "sd_overhead"} & {each.name for each in stated.inputs}


def test_scaled_constants_are_less_certain_than_measured_ones() -> None:
    def spread(hardware: str) -> float:
        draws = draws_of(hardware=hardware)
        names = [each.name for each in draws.inputs]
        return float(draws.values[:, names.index("routed_experts_bandwidth")].std())

    assert spread("mi300x") > 2 * spread("h100")


def test_same_seed_same_draws_other_seed_others() -> None:
    first, again = draws_of(), draws_of()
    np.testing.assert_array_equal(first.values, again.values)
    assert not np.array_equal(first.values, draws_of(search={"seed": 1}).values)


def test_no_draws_when_none_are_asked_for() -> None:
    assert len(draws_of(uncertainty={"draws": 0})) == 0


def test_statistics_of_twenty_numbers() -> None:
    numbers = np.arange(1.0, 21.0)
    assert statistic("q50", numbers, larger_is_better=True) == pytest.approx(10.5)
    assert statistic("cvar10", numbers, larger_is_better=True) == 1.5  # worst two: 1, 2
    assert statistic("cvar10", numbers, larger_is_better=False) == 19.5  # worst two: 19, 20
    assert interval(numbers) == pytest.approx((1.95, 19.05))


def test_a_draw_of_nothing_is_the_scenario_itself() -> None:
    study = Study.from_data({"hardware": "h100", "workload": {"target_batch_size": 32}})
    scenario = build_scenario(study)
    same = drawn(scenario, {})
    assert same.replica == scenario.replica
    assert float(same.router.popularity) == float(scenario.router.popularity)


def test_the_models_own_error_moves_every_cycle_alike_but_not_a_server_without_sd() -> None:
    study = Study.from_data({"hardware": "h100", "workload": {"target_batch_size": 32}})
    scenario = build_scenario(study)
    designs = Designs.of_architecture(scenario.reference, np.array([0.0, 3.0, 5.0]))
    own, off = (predict(designs, s) for s in (scenario, drawn(scenario, {"cycle_error": 1.1})))
    np.testing.assert_allclose(off.cycle_ratio / own.cycle_ratio, [[1.0, 1.1, 1.1]])
    assert off.sd_speedup[0, 0] == 1.0
