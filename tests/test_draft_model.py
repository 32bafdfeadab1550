"""What drafting costs, by kind."""

import numpy as np
import pytest

from codesign.architectures import load_architecture
from codesign.architectures.counting import count_parameters
from codesign.designs import Designs
from codesign.draft_model import DRAFT_VOCABULARY, eagle_layer, prediction_layer
from codesign.model.arrays import FloatArray
from codesign.prediction import predict
from codesign.scenario import Scenario
from tests.questions import make_scenario, scenario_of


def draft_time(scenario: Scenario, draft_tokens: object, *sizes: int) -> FloatArray:
    lengths = np.asarray(draft_tokens, dtype=np.float64)
    designs = Designs.of_architecture(scenario.reference, lengths)
    return predict(designs, scenario.at(sizes or (32,))).draft_time_s


@pytest.mark.parametrize("name", ["qwen3-30b-a3b", "deepseek-v3", "gpt-oss-20b", "llama-3.1-8b"])
def test_an_eagle_draft_is_one_dense_layer_of_the_targets_shape(name: str) -> None:
    # model.md, section 5: the target's hidden size and attention shape, FFN width the reference's
    # dense width or 4 x hidden, a head of min(vocab, 32,768) rows.
    target = load_architecture(name)
    draft = eagle_layer(target)
    assert (draft.layers, draft.moe, draft.hidden_size) == (1, None, target.hidden_size)
    [mixer] = draft.attention
    assert mixer.layers == 1
    assert mixer.kind == target.attention[0].kind
    assert getattr(mixer, "window", None) is None  # sees the whole context
    [feed_forward] = draft.dense
    assert feed_forward.width == target.draft_ffn_width or (
        target.draft_ffn_width is None and feed_forward.width == 4 * target.hidden_size
    )
    assert draft.vocab_size == min(target.vocab_size, DRAFT_VOCABULARY) == 32_768
    assert count_parameters(draft).lm_head == 0  # one table, its own head


def test_a_small_vocabulary_is_kept() -> None:
    # Mixtral has 32,000 words.
    assert eagle_layer(load_architecture("mixtral-8x7b")).vocab_size == 32_000


def test_a_prediction_layer_is_one_target_layer_with_the_full_head() -> None:
    target = load_architecture("deepseek-v3")
    draft = prediction_layer(target)
    assert draft.moe is not None and target.moe is not None
    assert (draft.layers, draft.moe.layers, draft.moe.experts) == (1, 1, 256)
    assert (draft.vocab_size, draft.dense) == (target.vocab_size, ())
    dense = prediction_layer(load_architecture("llama-3.1-8b"))
    assert dense.moe is None
    assert [group.layers for group in dense.dense] == [1]


@pytest.mark.parametrize("draft", ["eagle", "mtp", "fraction:0.1", "model:qwen3-0.6b"])
def test_k_sequential_passes_take_k_times_one(draft: str) -> None:
    one, none, five = draft_time(scenario_of(draft=draft), [1, 0, 5])[0]
    assert none == 0.0
    assert one > 0.0
    assert five == pytest.approx(5 * one, rel=1e-12)


@pytest.mark.parametrize("draft", ["eagle", "mtp", "fraction:0.1", "model:qwen3-0.6b"])
def test_a_parallel_draft_is_one_pass(draft: str) -> None:
    one, none, five = draft_time(scenario_of(draft=f"{draft},parallel"), [1, 0, 5])[0]
    sequential = draft_time(scenario_of(draft=draft), [1, 5])[0]
    assert none == 0.0
    assert one == pytest.approx(sequential[0], rel=1e-12)
    assert one <= five < sequential[1]


def test_a_fraction_is_of_the_step_at_batch_size_one() -> None:
    # model.md, section 5: a share of the design's own T(1, 1) per draft token, constant in B.
    scenario = scenario_of(draft="fraction:0.15")
    own = Designs.of_architecture(scenario.reference, 0)
    step = float(predict(own, scenario.at((1,))).step_time_decode_s.item())
    times = draft_time(scenario, 3, 1, 8, 256)
    np.testing.assert_allclose(times.reshape(-1), 3 * 0.15 * step, rtol=1e-12)


def test_a_draft_model_is_priced_as_that_model() -> None:
    # A dense draft's decode step, K times, on the target's own replica (both are bf16).
    target = scenario_of("qwen3-30b-a3b", draft="model:qwen3-0.6b")
    draft = scenario_of("qwen3-0.6b")
    own = Designs.of_architecture(draft.reference, 0)
    step = float(predict(own, draft.at((32,))).step_time_decode_s.item())
    assert draft_time(target, 4).item() == pytest.approx(4 * step, rel=1e-12)


def test_a_moe_draft_keeps_its_own_experts_whatever_the_design() -> None:
    scenario = scenario_of("qwen3-235b-a22b", gpus=8, draft="model:qwen3-30b-a3b")
    designs = Designs.of(np.array([64.0, 256.0]), 8, 0, 3, 1536)
    times = np.broadcast_to(predict(designs, scenario.at((32,))).draft_time_s, (1, 2))[0]
    own = scenario_of("qwen3-30b-a3b", gpus=8)
    step = predict(Designs.of_architecture(own.reference, 0), own.at((32,))).step_time_decode_s
    np.testing.assert_allclose(times, 3 * step.item(), rtol=1e-12)


def test_a_moe_draft_of_latent_attention_has_its_kernel() -> None:
    scenario = make_scenario(draft="model:deepseek-v2-lite", space={"draft_tokens": "0:3"})
    assert draft_time(scenario, 3).item() > 0


def test_a_dense_draft_for_a_sparse_target_can_never_pay() -> None:
    # Case A02: a dense draft of half the target's active parameters, K = 3, B = 1: weights read
    # per cycle by the draft alone exceed the target's step, so SD loses at any acceptance <= .7.
    scenario = make_scenario(
        draft="model:qwen3-1.7b",
        acceptance="constant:0.7",
        workload={"target_batch_size": 1, "context": 512},
    )
    speedup = predict(Designs.of_architecture(scenario.reference, 3), scenario).sd_speedup
    assert speedup.item() < 1.0


def test_draft_weights_are_read_in_their_own_format() -> None:
    # model.md, section 3: weights (target + draft, at their dtypes). Qwen3-0.6B is published in
    # bf16, DeepSeek-V3 in fp8 blocks.
    scenario = scenario_of("deepseek-v3", gpus=16, draft="model:qwen3-0.6b")
    own = Designs.of_architecture(scenario.reference, 3)
    weights = float(predict(own, scenario).footprint.draft_weights.max())
    draft = load_architecture("qwen3-0.6b")
    norms = count_parameters(draft).norm * 2
    assert weights == pytest.approx(2 * count_parameters(draft).total / 16 + norms, rel=1e-3)


@pytest.mark.parametrize("draft", ["eagle", "mtp"])
def test_data_parallel_groups_chain_their_own_sequences_only(draft: str) -> None:
    # One sequence per GPU is one sequence per GPU, however many GPUs there are: the kernels that
    # join two passes were priced with the sequences of all.
    scenario = scenario_of("llama-3.1-8b", gpus=8, attention_dp=True, draft=draft)
    few, full = (
        predict(Designs.of_architecture(scenario.reference, 3), scenario.at((size,))).draft_time_s
        for size in (1, 8)
    )
    assert few == full
