"""What the headers of the bundled studies expect is what comes out."""

from functools import cache
from typing import Any

import pytest

from codesign.ablation import AblationResult, ablate, load_ablation
from codesign.result import Result
from codesign.spec.load import load_spec
from codesign.spec.study import Study
from codesign.starters import find_study
from codesign.study import optimize


@cache
def ablated(name: str) -> AblationResult:
    ablation, folder = load_ablation(name)
    return ablate(ablation, folder=folder)


@cache
def answer(name: str, draws: int = 0) -> Result:
    study = load_spec(find_study(name), Study)
    return optimize(study.revised(uncertainty={"draws": draws}, search={"engine": "exact"}))


def figure(result: AblationResult, name: str) -> list[float]:
    return [float(row[name]) for row in result.variants()]


def gain(result: Result) -> float:
    """Of the best over the reference, in the first objective."""
    name = result.verdict["objective"]
    best, own = result.best["objectives"][name], result.reference["objectives"][name]
    return float(best / own - 1)


class TestDesignRules:
    """The Cohere study's two rules, as studies."""

    def test_high_loads_call_for_a_smaller_share_of_active_experts(self) -> None:
        low, high = figure(ablated("design-rule-sparsity"), "activation_ratio")
        assert high < low

    def test_a_shared_expert_pays_at_batch_size_one_only(self) -> None:
        alone, alone_shared, loaded, loaded_shared = figure(
            ablated("design-rule-shared"), "sd_speedup"
        )
        assert alone_shared / alone > 1.02
        assert loaded_shared / loaded < 1.01

    def test_the_swap_costs_no_parameters(self) -> None:
        rows = ablated("design-rule-shared").variants()
        for name in ("total_params", "active_params"):
            values = [row[name] for row in rows]
            assert max(values) / min(values) < 1.001


class TestWhichMechanism:
    """Intensity, correlation and overhead for Qwen3-30B-A3B on an H100."""

    @pytest.fixture
    def shares(self) -> dict[int, dict[str, float]]:
        found: dict[int, dict[str, float]] = {}
        for row in ablated("which-mechanism").mechanisms():
            found.setdefault(row["workload.target_batch_size"], {})[row["name"]] = row["share"]
        return found

    def test_shares_add_up_at_every_batch_size(self, shares: dict[int, dict[str, float]]) -> None:
        assert list(shares) == [1, 2, 32, 256]
        for own in shares.values():
            assert set(own) == {"intensity", "correlation", "overhead", "drafting"}
            assert sum(own.values()) == pytest.approx(1.0)

    def test_without_any_of_them_speculation_loses(self) -> None:
        for row in ablated("which-mechanism").mechanisms():
            assert row["bare"] == pytest.approx(2.73 / 4, rel=0.01)

    def test_overhead_carries_small_batches_and_intensity_large_ones(
        self, shares: dict[int, dict[str, float]]
    ) -> None:
        for size in (1, 2):
            assert max(shares[size], key=lambda name: shares[size][name]) == "overhead"
        for size in (32, 256):
            assert max(shares[size], key=lambda name: shares[size][name]) == "intensity"

    def test_correlation_matters_at_small_batches(
        self, shares: dict[int, dict[str, float]]
    ) -> None:
        assert min(shares[1]["correlation"], shares[2]["correlation"]) > 0.1
        assert max(shares[32]["correlation"], shares[256]["correlation"]) < 0.05


def test_the_dense_control_only_falls_and_experts_have_a_sweet_spot() -> None:
    rows = ablated("dense-control").variants()
    speedups = {
        name: [row["sd_speedup"] for row in rows if row["reference"] == name]
        for name in ("qwen3-30b-a3b", "qwen3-32b")
    }
    dense, moe = speedups["qwen3-32b"], speedups["qwen3-30b-a3b"]
    assert dense == sorted(dense, reverse=True)
    assert min(moe[1:4]) < moe[0]
    assert max(moe[3:]) > min(moe[1:4])


def test_every_shared_expert_adds_speedup_at_batch_size_one() -> None:
    rows = ablated("shared-experts").variants()
    own = [row for row in rows if row["workload.target_batch_size"] == 1]
    speedups = [row["sd_speedup"] for row in own]
    assert speedups == sorted(speedups)
    assert [row["shared_experts"] for row in own] == [0, 1, 2, 4]


def test_granularity_alone_changes_little() -> None:
    speedups = figure(ablated("granularity"), "sd_speedup")
    assert max(speedups) / min(speedups) < 1.03


def test_independent_routing_hides_speedup_and_uniform_routing_flatters_it() -> None:
    rows = ablated("routing").variants()
    table = {(row["workload.target_batch_size"], row["routing"]): row["sd_speedup"] for row in rows}
    assert table[1, "independent"] < 0.97 * table[1, "own"]
    assert table[32, "uniform"] > 1.05 * table[32, "own"]


def test_terms_of_the_model_have_the_signs_they_should() -> None:
    rows: list[dict[str, Any]] = ablated("every-term").mechanisms()
    value = {(row["variant"], row["name"]): row["shapley"] for row in rows}
    assert value["batch 1", "launch_floors"] == max(
        row["shapley"] for row in rows if row["variant"] == "batch 1"
    )
    assert value["batch 256", "compute_time"] < value["batch 1", "compute_time"] <= 0
    assert value["batch 256", "communication"] < 0
    long = value["batch 32, context 16k", "kv_cache"]
    assert long > 3 * value["batch 32", "kv_cache"] > 0
    for row in rows:
        if row["name"] in ("draft_cost", "sd_overhead"):
            assert row["shapley"] < 0


def test_shared_experts_go_as_the_load_grows() -> None:
    low, high = answer("batch-1"), answer("batch-32")
    assert low.best["design"]["shared_experts"] > high.best["design"]["shared_experts"]
    assert gain(low) > gain(high)


def test_drafts_are_shorter_under_heavy_load() -> None:
    heavy, moderate = answer("batch-256").best["design"], answer("batch-32").best["design"]
    assert heavy["draft_tokens"] < moderate["draft_tokens"]


def test_long_contexts_raise_the_speedup() -> None:
    long = answer("long-context")
    study = load_spec(find_study("long-context"), Study)
    short = study.revised(
        workload={"target_batch_size": 16, "context": 4096},
        uncertainty={"draws": 0},
        search={"engine": "exact"},
    )
    own = long.reference["objectives"]["sd_speedup"]
    assert own > optimize(short).reference["objectives"]["sd_speedup"]


def test_a_b200_gains_less_than_an_h100() -> None:
    b200, h100 = answer("b200").reference, answer("batch-32").reference
    assert b200["objectives"]["sd_speedup"] < h100["objectives"]["sd_speedup"]
    assert b200["prediction"]["tpot_s"] < 0.7 * h100["prediction"]["tpot_s"]


def test_the_robust_answer_drafts_no_more_than_the_expected_one() -> None:
    expected = answer("batch-32", draws=16).best["design"]
    study = load_spec(find_study("robust"), Study)
    robust = optimize(study.revised(uncertainty={"draws": 16}, search={"engine": "exact"}))
    assert robust.best["design"]["draft_tokens"] <= expected["draft_tokens"]


def test_cost_and_throughput_choose_the_same_design() -> None:
    cheapest = answer("cost")
    assert cheapest.best["design"] == cheapest.throughput_best["design"]


def test_the_limit_on_time_per_token_holds() -> None:
    assert answer("tpot-limit").best["prediction"]["sd_tpot_s"] <= 10e-3


def test_a_served_model_keeps_its_experts() -> None:
    served = answer("served-model")
    best, own = served.best["design"], served.reference["design"]
    assert best == own
