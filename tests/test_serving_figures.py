"""Figures users bound or optimise, against arithmetic done by hand or by simulation."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from codesign.designs import Designs
from codesign.errors import UsageError
from codesign.model.acceptance import constant_survival
from codesign.model.speedup import request_spread
from codesign.prediction import Prediction, predict
from codesign.resolve import build_scenario
from codesign.spec.study import Study


def prediction(draft_tokens: int = 3, **fields: Any) -> Prediction:
    data = {"hardware": "h100", "workload": {"target_batch_size": 32}} | fields
    scenario = build_scenario(Study.from_data(data))
    return predict(Designs.of_architecture(scenario.reference, draft_tokens), scenario)


def test_cache_capacity_of_qwen3_on_one_h100() -> None:
    # Per sequence of 4,096 tokens: 48 layers x 2 x 4 heads x 128 x 2 B, plus one draft layer.
    own = prediction()
    per_sequence = 4096 * (48 + 1) * 2 * 4 * 128 * 2
    footprint = own.footprint
    fixed = (footprint.weights + footprint.draft_weights + footprint.workspace).item()
    expected = (0.9 * 80 * 2**30 - fixed) // per_sequence
    assert own.value("kv_capacity_sequences").item() == expected


def test_training_compute_is_six_times_active_parameters_times_tokens() -> None:
    # Qwen3-30B-A3B: 3,353,032,704 active parameters, 36T tokens (technical report).
    assert prediction().value("training_flop").item() == pytest.approx(6 * 3353032704 * 36e12)


def test_relative_throughput_of_the_reference_is_its_speedup() -> None:
    own = prediction()
    speedup = own.value("sd_speedup")
    np.testing.assert_allclose(own.value("relative_throughput"), speedup, rtol=1e-12)


def test_energy_is_rated_power_over_throughput() -> None:
    own = prediction()
    joule = 700 / own.value("sd_tokens_per_s").item()  # H100 SXM: 700 W
    assert own.value("energy_per_token_j").item() == pytest.approx(joule)


def test_goodput_counts_tokens_in_time_over_the_time_of_all() -> None:
    mix = {"target_batch_size": "8:0.5,64:0.5"}
    own = prediction(workload=mix)
    slow, fast = own.sd_tpot_s[1].item(), own.sd_tpot_s[0].item()
    limit = (slow + fast) / 2
    limited = predict(own.designs, replace(own.scenario, tpot_limit=limit))
    seconds = 0.5 / own.sd_tokens_per_s[0].item() + 0.5 / own.sd_tokens_per_s[1].item()
    assert limited.value("sd_goodput_tokens_per_s").item() == pytest.approx(0.5 / seconds)
    generous = predict(own.designs, replace(own.scenario, tpot_limit=1.0))
    np.testing.assert_allclose(
        generous.value("sd_goodput_tokens_per_s"), generous.value("sd_tokens_per_s")
    )


def test_goodput_without_a_limit_says_what_is_missing() -> None:
    with pytest.raises(UsageError, match="tpot_limit"):
        _ = prediction().sd_goodput_tokens_per_s


def test_cost_without_a_price_says_what_is_missing() -> None:
    with pytest.raises(UsageError, match="--price"):
        _ = prediction(hardware="gaudi3").cost_per_million_tokens


def test_request_spread_agrees_with_simulated_requests() -> None:
    rate, lengths, tokens, requests = 0.75, 4, 256, 4000
    rng = np.random.default_rng(3)
    accepted = rng.random((requests, tokens, lengths)) < rate
    emitted = 1 + np.cumprod(accepted, axis=2).sum(axis=2)
    cycles = (np.cumsum(emitted, axis=1) < tokens).sum(axis=1) + 1
    spread = request_spread(constant_survival(rate, lengths), lengths, tokens)
    assert float(spread) == pytest.approx(cycles.std() / cycles.mean(), rel=0.04)


def test_without_drafts_no_request_is_slower_than_another() -> None:
    own = prediction(draft_tokens=0)
    np.testing.assert_array_equal(own.sd_tpot_p95_s, own.sd_tpot_s)
