"""Memory per GPU against hand counts and reported cases."""

from typing import Any

import numpy as np
import pytest

from codesign.architectures import load_architecture
from codesign.architectures.counting import count_parameters
from codesign.designs import Designs
from codesign.draft_model import make_drafting
from codesign.footprint import Footprint
from codesign.hardware import load_hardware
from codesign.parameter_counts import DesignParameters
from codesign.replica import resolve_replica
from codesign.spec.architecture import Architecture
from codesign.spec.draft import Draft
from codesign.spec.hardware import Deployment
from codesign.spec.precision import Precision

GB = 1e9


def footprint(
    model: Architecture,
    gpus: int = 1,
    sequences: int = 1,
    context: int = 0,
    width: int = 1,
    draft: Draft | None = None,
    **deployment: Any,
) -> Footprint:
    """Footprint of a model as published; without a draft unless one is given."""
    replica = resolve_replica(load_hardware("h100"), Deployment.from_data(deployment), model, gpus)
    drafting = make_drafting(draft or Draft(kind="fraction", fraction=0.1), model, None)
    parameters = DesignParameters(model, Designs.of_architecture(model, 0))
    load = np.array([[float(sequences)]])
    return Footprint.of(parameters, replica, drafting, load, np.array([[float(width)]]), context)


def one_byte(name: str) -> Architecture:
    """An architecture all of whose weights take a byte."""
    precision = Precision(weights="fp8", embeddings="fp8")
    return load_architecture(name).model_copy(update={"precision": precision})


def test_b08_kimi_k2_expert_parallel() -> None:
    # Case B08: tp 1, ep 8, 1 byte: 126.8 GB routed + 11.7 GB replicated = 138.6 GB.
    found = footprint(one_byte("kimi-k2"), 8, tensor_parallel=1, expert_parallel=8)
    routed, total = 60 * 384 * 44_040_192, 1_026_408_209_408  # param_counts.csv
    assert float(found.weights.item()) == routed / 8 + (total - routed)
    assert float(found.weights.item()) / GB == pytest.approx(138.6, abs=0.05)


def test_the_fullest_rank_has_the_experts_that_are_left_over() -> None:
    # 8 experts over 64 ranks: a whole one on eight of them.
    few, even = (
        footprint(one_byte("mixtral-8x7b"), gpus, tensor_parallel=1, expert_parallel=gpus)
        for gpus in (64, 8)
    )
    assert float(few.weights.item()) == float(even.weights.item())


def test_b08_kimi_k2_tensor_parallel() -> None:
    # Case B08: tp 8, ep 1: 128.3 GB + norms and router, which are not divided.
    found = footprint(one_byte("kimi-k2"), 8, tensor_parallel=8)
    total, router, norms = 1_026_408_209_408, 165_150_720, 1_006_592  # param_counts.csv
    by_hand = (total - router - norms) / 8 + router + norms
    assert float(found.weights.item()) == pytest.approx(by_hand, rel=1e-12)
    assert float(found.weights.item()) / GB == pytest.approx(128.3 + 0.166 * 7 / 8, abs=0.05)


def test_the_default_question_just_fits_one_h100() -> None:
    # model.md, section 3: Qwen3-30B-A3B bf16, B = 32, context 4096: 74.5 GB of weights and KV just
    # fit one 80-GiB H100.
    model = load_architecture("qwen3-30b-a3b")
    found = footprint(model, 1, 32, 4096, 9, Draft(kind="eagle"))
    bytes_ = {name: float(values.max()) for name, values in vars(found).items()}
    assert bytes_["weights"] == 2 * 30_532_122_624
    one_layer = 4 * 128 * 2 * 2 * 32 * 4096  # the draft's cache, one layer of the target's shape
    assert bytes_["caches"] == 49 * one_layer
    both = bytes_["weights"] + bytes_["draft_weights"] + bytes_["caches"]
    assert both / GB == pytest.approx(74.5, abs=0.15)
    total = float(found.total.max())
    assert total == pytest.approx(sum(bytes_.values()))
    usable = 0.9 * 80 * 2**30
    assert 0.97 * usable < total < usable


def test_eagle_weights_by_hand() -> None:
    # One layer of Qwen3-30B-A3B's shape: attention 2048 x (4096 + 2 x 512 + 4096) and two
    # 128-element norms, FFN 3 x 2048 x 6144 (its config's dense width), a head of 32,768 rows,
    # two norms of the layer and one before the head.
    found = footprint(load_architecture("qwen3-30b-a3b"), draft=Draft(kind="eagle"))
    attention = 2048 * (4096 + 2 * 512 + 4096) + 2 * 128
    by_hand = attention + 3 * 2048 * 6144 + 32_768 * 2048 + 3 * 2048
    assert float(found.draft_weights.max()) == 2 * by_hand


def test_a_prediction_layer_shares_the_targets_embeddings() -> None:
    model = load_architecture("qwen3-30b-a3b")
    found = footprint(model, draft=Draft(kind="mtp"))
    counts = count_parameters(model)
    layer = (counts.routed + counts.router + counts.attention) / 48 + 3 * 2048
    assert float(found.draft_weights.max()) == 2 * layer


def test_a_fraction_takes_no_memory() -> None:
    assert float(footprint(load_architecture("qwen3-30b-a3b")).draft_weights.max()) == 0.0


@pytest.mark.parametrize(
    ("name", "tensor", "share"),
    [
        # Key-value heads are cut over tp as far as they go, then replicated; an MLA latent always
        # is (model.md, section 3). Qwen3-30B-A3B has 4 of them, gpt-oss 8, DeepSeek one latent.
        ("qwen3-30b-a3b", 2, 1 / 2),
        ("qwen3-30b-a3b", 4, 1 / 4),
        ("qwen3-30b-a3b", 8, 1 / 4),
        ("gpt-oss-20b", 8, 1 / 8),
        ("deepseek-v3", 8, 1.0),
        ("kimi-k2", 4, 1.0),
    ],
)
def test_caches_over_tensor_parallel_ranks(name: str, tensor: int, share: float) -> None:
    model = load_architecture(name)
    one = footprint(model, 1, 16, 1000)
    cut = footprint(model, tensor, 16, 1000)
    assert float(cut.caches.item()) == pytest.approx(share * float(one.caches.item()))


def test_data_parallel_attention_shares_sequences_and_copies_weights() -> None:
    model = load_architecture("deepseek-v3")
    one = footprint(model, 1, 16, 1000, 4)
    spread = footprint(model, 8, 16, 1000, 4, attention_dp=True, expert_parallel=8)
    assert float(spread.caches.item()) == pytest.approx(float(one.caches.item()) / 8)
    assert float(spread.workspace.item()) == 2**30 + 32 * 7168 * 64 / 8
    uneven = footprint(model, 8, 17, 1000, 4, attention_dp=True, expert_parallel=8)
    # One GPU has three sequences, so 12 tokens of the verify pass; ceil(17 x 4 / 8) are only 9.
    assert float(uneven.workspace.item()) == 2**30 + 32 * 7168 * 12
    assert float(uneven.caches.item()) == pytest.approx(float(one.caches.item()) * 3 / 16)
    routed = count_parameters(model).routed * (1 + 4 / 128**2)
    assert float(one.weights.item()) - float(spread.weights.item()) == pytest.approx(routed * 7 / 8)


def test_latent_projections_are_on_every_gpu_in_full() -> None:
    # 92 layers x 2 x 7168 x 3584 of Kimi-K3: replicated layers in vLLM and SGLang, as their time is
    # priced too.
    counts = count_parameters(load_architecture("kimi-k3"))
    assert counts.latent == 4_726_980_608
    one, cut = (footprint(one_byte("kimi-k3"), gpus, tensor_parallel=gpus) for gpus in (1, 8))
    whole = counts.latent + counts.router + counts.norm + counts.other
    by_hand = (float(one.weights.item()) - whole) / 8 + whole
    assert float(cut.weights.item()) == pytest.approx(by_hand, rel=1e-12)


def test_a_sliding_window_keeps_no_more_than_itself() -> None:
    # gpt-oss: 12 of 24 layers see 128 tokens; 2 x 8 heads x 64 elements in bf16 per layer.
    model = load_architecture("gpt-oss-20b")
    token = 2 * 8 * 64 * 2
    for context in (100, 128, 10_000):
        found = footprint(model, 1, 1, context)
        assert float(found.caches.item()) == token * 12 * (context + min(context, 128))


def test_all_experts_are_resident() -> None:
    # Case B07: Mixtral-8x7B takes 46.7B parameters of memory, not its active 12.9B or "13B".
    found = footprint(load_architecture("mixtral-8x7b"))
    assert float(found.weights.item()) == 2 * 46_702_792_704


def test_formats_of_the_components() -> None:
    # gpt-oss-20b: experts in mxfp4 (4.25 bits), everything else in bf16.
    model = load_architecture("gpt-oss-20b")
    counts = count_parameters(model)
    by_hand = counts.routed * 4.25 / 8 + (counts.total - counts.routed) * 2
    assert float(footprint(model).weights.item()) == pytest.approx(by_hand, rel=1e-12)
