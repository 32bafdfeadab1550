"""Every term is taken out by changing the scenario, and does what it says."""

from typing import get_args

import numpy as np
import pytest

from codesign.ablation.terms import TERMS, without
from codesign.designs import Designs
from codesign.model.latent_router import unique_experts
from codesign.model.routing import unique_experts_uniform
from codesign.prediction import Prediction, predict
from codesign.resolve import build_scenario
from codesign.scenario import Scenario
from codesign.spec.ablation import TermName
from codesign.spec.study import Study
from codesign.uncertainty.draws import draw_scenarios

STUDY = Study.from_data(
    {
        "hardware": "h100",
        "workload": {"target_batch_size": 8, "context": 2048},
        "deployment": {"gpus": 2, "host_time": "0.3 ms"},
        "uncertainty": {"draws": 4},
    }
)


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return build_scenario(STUDY)


def prediction(scenario: Scenario) -> Prediction:
    return predict(Designs.of_architecture(scenario.reference, 3), scenario)


def test_every_name_has_a_term() -> None:
    assert list(TERMS) == list(get_args(TermName))


@pytest.mark.parametrize("name", TERMS)
def test_taking_a_term_out_changes_the_speedup_and_not_the_scenario(
    scenario: Scenario, name: TermName
) -> None:
    before = float(prediction(scenario).value("sd_speedup").item())
    less = float(prediction(without(scenario, [name])).value("sd_speedup").item())
    assert less != pytest.approx(before, rel=1e-6)
    assert float(prediction(scenario).value("sd_speedup").item()) == before


@pytest.mark.parametrize("name", TERMS)
def test_taking_it_out_twice_changes_nothing_more(scenario: Scenario, name: TermName) -> None:
    once = prediction(without(scenario, [name])).value("sd_speedup")
    twice = prediction(without(scenario, [name, name])).value("sd_speedup")
    assert once.item() == twice.item()


@pytest.mark.parametrize(
    ("name", "part"),
    [("launch_floors", "floor"), ("compute_time", "compute"), ("memory_time", "memory")],
)
def test_a_part_of_every_kernel_is_gone(scenario: Scenario, name: TermName, part: str) -> None:
    less = without(scenario, [name, "communication", "host_time"])
    for component, cost in prediction(less).verify_costs.items():
        assert np.all(getattr(cost, part) == 0), component


def test_without_correlation_tokens_are_strangers(scenario: Scenario) -> None:
    less = prediction(without(scenario, ["temporal_correlation"]))
    assert less.unique_experts_verify.item() == pytest.approx(
        less.unique_experts_independent.item()
    )


def test_without_correlation_and_popularity_routing_is_uniform(scenario: Scenario) -> None:
    router = without(scenario, ["temporal_correlation", "popularity_skew"]).router
    loaded = unique_experts(128, 8, 8, 4, router)
    assert loaded.item() == pytest.approx(unique_experts_uniform(128, 8, 32).item(), rel=0.005)


def test_without_drafting_and_overhead_a_cycle_is_a_verify_pass(scenario: Scenario) -> None:
    less = prediction(without(scenario, ["draft_cost", "sd_overhead"]))
    assert less.cycle_ratio.item() == pytest.approx(1 / less.target_efficiency.item())


def test_one_gpu_has_no_communication_to_take_out() -> None:
    alone = build_scenario(STUDY.revised(deployment={"gpus": 1}))
    assert without(alone, ["communication"]) is alone


def test_draws_lose_the_term_too(scenario: Scenario) -> None:
    """Interpolated routers of draws are changed with everything they are interpolated between."""
    for drawn in draw_scenarios(STUDY, scenario).scenarios:
        less = prediction(without(drawn, ["temporal_correlation"]))
        assert less.unique_experts_verify.item() == pytest.approx(
            less.unique_experts_independent.item(), rel=0.01
        )
