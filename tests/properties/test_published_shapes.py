"""Shapes the Cohere study and MagicDec report, on bundled models (issue: the main job).

Contexts are short (512) so that all batch sizes are meaningful on one H100.
"""

from functools import cache

import numpy as np
import pytest

from codesign.designs import Designs
from codesign.prediction import Prediction, predict
from codesign.resolve import build_scenario
from codesign.scenario import Scenario
from codesign.spec.study import Study

POWERS = tuple(2**exponent for exponent in range(11))
FINE = tuple(int(size) for size in np.unique(np.rint(2 ** np.arange(0, 11, 0.25))))


@cache
def scenario(arch: str = "qwen3-30b-a3b", context: int = 512) -> Scenario:
    data = {
        "reference": arch,
        "hardware": "h100",
        "workload": {"target_batch_size": 1, "context": context},
        "deployment": {"gpus": 1},
    }
    return build_scenario(Study.from_data(data))


def at(sizes: tuple[int, ...], designs: Designs, **which: object) -> Prediction:
    return predict(designs, scenario(**which).at(sizes))


def own(arch: str, draft_tokens: int) -> Designs:
    return Designs.of_architecture(scenario(arch).reference, draft_tokens)


DENSE = ["llama-3.1-8b", "qwen3-8b", "qwen3-32b", "llama-3.1-70b"]


@pytest.mark.parametrize("arch", DENSE)
def test_dense_speedup_never_rises_with_batch_size(arch: str) -> None:
    # Cohere study, dense 111B: falls monotonically at short contexts.
    speedup = at(POWERS, own(arch, 3), arch=arch).sd_speedup[:, 0]
    assert (np.diff(speedup) < 0).all()


@pytest.mark.parametrize("arch", DENSE)
def test_long_contexts_help_dense_models(arch: str) -> None:
    # MagicDec: reads of the cache, shared by the verified tokens, make SD pay at large batches.
    short = at((64,), own(arch, 3), arch=arch, context=512).sd_speedup
    long = at((64,), own(arch, 3), arch=arch, context=16384).sd_speedup
    assert long > short


def test_moe_target_efficiency_dips_then_peaks_then_falls() -> None:
    # Cohere study, K = 3: high at 1, lowest soon after, a peak at moderate batches, then down.
    efficiency = at(POWERS, own("qwen3-30b-a3b", 3)).target_efficiency[:, 0]
    by_size = dict(zip(POWERS, efficiency, strict=True))
    assert by_size[1] > by_size[2] > by_size[4]
    peak = max((size for size in POWERS if size > 1), key=lambda size: by_size[size])
    assert 64 <= peak <= 256
    assert (np.diff(efficiency[POWERS.index(peak) :]) < 0).all()


def test_sparser_designs_peak_at_larger_batches() -> None:
    peaks = []
    for experts in (64, 128, 256, 512):  # k and the width stay, so active parameters do
        efficiency = at(FINE, Designs.of(experts, 8, 0, 3, 768)).target_efficiency[:, 0]
        later = [size >= 4 for size in FINE]
        peaks.append(FINE[int(np.argmax(np.where(later, efficiency, 0.0)))])
    assert peaks == sorted(set(peaks))


def test_a_shared_expert_pays_at_batch_size_one_only() -> None:
    routed, shared = Designs.of(128, 8, 0, 3, 768), Designs.of(128, 7, 1, 3, 768)
    gain = {
        size: float((at((size,), shared).sd_speedup / at((size,), routed).sd_speedup).item()) - 1
        for size in (1, 256)
    }
    assert gain[1] > 0.02
    assert abs(gain[256]) < 0.01


def test_all_experts_active_behaves_as_dense() -> None:
    prediction = at(POWERS, Designs.of(8, 8, 0, 3, 768))
    assert (np.diff(prediction.sd_speedup[:, 0]) < 0).all()
    np.testing.assert_array_equal(prediction.unique_experts_verify, 8.0)
    assert "sweet spot" not in prediction.regime


def test_without_drafts_the_speedup_is_exactly_one() -> None:
    np.testing.assert_array_equal(at(POWERS, own("qwen3-30b-a3b", 0)).sd_speedup, 1.0)


def test_design_rules_of_the_study_come_out() -> None:
    """From batch size 1 to 256 the certified design gets sparser and loses shared experts.

    With the quality laws' best estimates: their 80 % quantile forbids nearly every change of
    sparsity, and what is left at batch size 256 is a plateau of 1 %.
    """
    from codesign.study import optimize

    chosen = {}
    for size in (1, 256):
        study = Study.from_data(
            {
                "hardware": "h100",
                "workload": {"target_batch_size": size, "context": 512},
                "deployment": {"gpus": 1},
                "constraints": {"memory": False},
                "search": {"engine": "exact"},
                "uncertainty": {"draws": 0},
            }
        )
        chosen[size] = optimize(study).best
    ratio = {size: entry["prediction"]["activation_ratio"] for size, entry in chosen.items()}
    shared = {size: entry["design"]["shared_experts"] for size, entry in chosen.items()}
    assert ratio[256] < ratio[1]
    assert shared[256] < shared[1]
