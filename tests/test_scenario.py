"""From a study to what is held fixed."""

from typing import Any

import numpy as np
import pytest

from codesign.architectures import load_architecture
from codesign.designs import Designs
from codesign.errors import UsageError
from codesign.model.routing import GENERIC_ROUTER, RouterParameters, window_correlation
from codesign.prediction import predict
from codesign.resolve import build_scenario, changed, router_of, survival_of
from codesign.spec.draft import Acceptance
from codesign.spec.study import Study
from tests.questions import make_scenario, make_study


@pytest.mark.parametrize(
    ("fields", "gpus"),
    [
        # The default question just fits one H100; a larger batch does not (model.md, section 3).
        ({}, 1),
        ({"workload": {"target_batch_size": 64}}, 2),
        ({"workload": {"target_batch_size": "1:0.9,64:0.1"}}, 2),  # the largest batch decides
        ({"workload": {"target_batch_size": 32, "context": 16_384}}, 2),
        ({"reference": "qwen3-32b", "workload": {"target_batch_size": 1}}, 1),  # 65.5 GB
        ({"reference": "llama-3.1-70b", "workload": {"target_batch_size": 1}}, 2),  # 141 GB
        # 671 GB in fp8 over 72 GiB each: 8.7, so 16; over 126 GiB of an H200: 5, so 8.
        ({"reference": "deepseek-v3", "workload": {"target_batch_size": 1}}, 16),
        (
            {
                "reference": "deepseek-v3", "hardware": "h200",
                "workload": {"target_batch_size": 1},
            },
            8,
        ),
        ({"deployment": {"gpus": 4}}, 4),
        ({"deployment": {"tensor_parallel": 2}}, 2),
        ({"deployment": {"expert_parallel": 4}}, 4),
        ({"deployment": {"memory_utilisation": 0.5}}, 2),
    ],
)  # fmt: skip
def test_gpus_are_the_fewest_by_doubling_that_hold_the_reference(
    fields: dict[str, Any], gpus: int
) -> None:
    assert make_scenario(**fields).replica.gpus == gpus


def test_a_chosen_number_of_gpus_need_not_hold_the_reference() -> None:
    scenario = make_scenario(reference="deepseek-v3", deployment={"gpus": 1})
    own = predict(Designs.of_architecture(scenario.reference, 3), scenario)
    assert own.value("memory_bytes_per_gpu").item() > scenario.replica.memory_limit


def test_a_reference_that_fits_nowhere() -> None:
    # 4 key-value heads replicate beyond tp 4: a context of 10M is 983 GB / 4 per GPU.
    with pytest.raises(UsageError) as caught:
        make_scenario(workload={"target_batch_size": 1, "context": 10_000_000})
    assert str(caught.value) == (
        "Qwen3-30B-A3B does not fit 1024 GPUs of h100-sxm at batch size 1 and context 10000000: "
        "tensor parallelism cuts a cache over its key-value heads at most; lower batch size or "
        "context, spread sequences with --attention-dp, choose another dtype, or set --gpus "
        "(optimize: with --no-constraint memory)"
    )


def test_figures_of_the_reference_can_be_changed() -> None:
    model = load_architecture("qwen3-30b-a3b")
    other = changed(model, {"experts": 256, "top_k": 4, "hidden_size": 4096})
    assert other.moe is not None
    assert (other.moe.experts, other.moe.top_k, other.hidden_size) == (256, 4, 4096)
    assert changed(model, {}) is model
    shallow = changed(model, {"layers": 24})
    assert shallow.moe is not None
    assert [shallow.layers, shallow.moe.layers, shallow.attention[0].layers] == [24, 24, 24]
    whole = changed(model, {"moe": {"layers": 48, "experts": 4, "top_k": 1, "expert_width": 64}})
    assert whole.moe is not None
    assert (whole.moe.experts, whole.moe.expert_width) == (4, 64)
    both = changed(model, {"moe": {"layers": 48, "experts": 4, "top_k": 1, "expert_width": 64},
                           "top_k": 2})  # fmt: skip
    assert both.moe is not None and (both.moe.experts, both.moe.top_k) == (4, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"hidden_sze": 4096},
            "set: hidden_sze: unknown field 'hidden_sze'; did you mean 'hidden_size'?",
        ),
        ({"top_k": 129}, "set: moe: top_k must not exceed experts: 129 > 128"),
        ({"experts": 4}, "set: moe: top_k must not exceed experts: 8 > 4"),
        ({"hidden_size": 0}, "set: hidden_size: input should be greater than or equal to 1 (0)"),
        ({"hidden_size": "wide"}, "set: hidden_size: input should be a valid integer ('wide')"),
        ({"vocab_size": 10**13}, "set: (top): more than 1e+15 parameters: not a model"),
        ({"layers": 0}, "set: layers 0: 48 of 48 layers cannot be kept in proportion"),
        ({"layers": "many"}, "set: layers: input should be a valid integer ('many')"),
        ({"layers": 2.5}, "set: layers: input should be a valid integer"),
    ],
)
def test_changes_that_make_no_model(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        changed(load_architecture("qwen3-30b-a3b"), changes)
    assert str(caught.value).startswith(message)


def test_a_dense_model_gets_no_single_field_of_experts() -> None:
    with pytest.raises(UsageError, match="set: moe"):
        changed(load_architecture("llama-3.1-8b"), {"experts": 8})


def correlations(router: RouterParameters) -> tuple[float, ...]:
    parts = (router.popularity, router.request, router.recency, router.decay, router.skew)
    return tuple(float(part) for part in parts)


def test_routers() -> None:
    # model.md, section 2: own (the architecture's), generic, independent, uniform.
    qwen, unpublished = load_architecture("qwen3-30b-a3b"), load_architecture("deepseek-v3")
    assert float(window_correlation(router_of(qwen, "own"), 4)) == pytest.approx(0.71)
    generic = correlations(GENERIC_ROUTER)
    assert correlations(router_of(qwen, "generic")) == generic
    assert correlations(router_of(unpublished, "own")) == generic
    independent = router_of(qwen, "independent")
    assert (independent.request, independent.recency) == (0.0, 0.0)
    assert independent.popularity == router_of(qwen, "own").popularity
    uniform = router_of(qwen, "uniform")
    assert (uniform.popularity, uniform.request, uniform.recency) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("form", "values", "survival"),
    [
        ("constant", (0.5,), [0.5, 0.25, 0.125]),
        ("decay", (0.8, 0.5), [0.8, 0.32, 0.064]),
        ("positions", (0.9, 0.6), [0.9, 0.6, 0.4]),
    ],
)
def test_survival(form: Any, values: tuple[float, ...], survival: list[float]) -> None:
    found = survival_of(Acceptance(form=form, values=values), 3)
    np.testing.assert_allclose(found, survival)


def test_survival_covers_the_longest_draft() -> None:
    assert make_scenario(space={"draft_tokens": "0:13"}).survival.shape == (13,)
    assert build_scenario(make_study(), longest_draft=5).survival.shape == (5,)


@pytest.mark.parametrize(
    ("fields", "price"),
    [
        ({}, (1.99 + 5.0) / 2),  # the middle of the profile's range
        ({"deployment": {"price": "2 USD/h"}}, 2.0),
        ({"hardware": "l40s"}, None),
    ],
)
def test_price(fields: dict[str, Any], price: float | None) -> None:
    assert make_scenario(**fields).price_per_gpu_hour == price


@pytest.mark.parametrize(
    ("fields", "tokens"),
    [
        ({}, 36e12),  # Qwen3 technical report
        ({"reference": "mixtral-8x7b"}, 15e12),  # none published: quality.md's 15T
        ({"train_tokens": "2T"}, 2e12),
    ],
)
def test_training_tokens(fields: dict[str, Any], tokens: float) -> None:
    assert make_scenario(**fields).training_tokens == tokens


def test_batch_sizes_may_be_listed_in_equal_shares() -> None:
    scenario = build_scenario(make_study(), batch_sizes=(1, 2, 4))
    assert scenario.batch_sizes == (1, 2, 4)
    assert scenario.shares == pytest.approx((1 / 3, 1 / 3, 1 / 3))


def topics(scenario: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in scenario.assumptions:
        topic, _, sentence = line.partition(": ")
        found.setdefault(topic, []).append(sentence)
    return found


FIELDS: dict[str, Any] = {
    "workload.target_batch_size": 16, "workload.context": 1024, "workload.tpot_limit": "20 ms",
    "reference": "olmoe-1b-7b", "set.hidden_size": 4096, "set.top_k": 4, "hardware": "h200",
    "deployment.gpus": 4, "deployment.tensor_parallel": 1, "deployment.expert_parallel": 2,
    "deployment.backend": "sglang", "deployment.dtype": "fp8", "deployment.expert_dtype": "fp8",
    "deployment.host_time": "1 ms", "deployment.sd_overhead": "1 ms", "deployment.price": "3 USD/h",
    "deployment.cuda_graphs": False, "deployment.memory_utilisation": 0.8, "routing": "uniform",
    "draft": "mtp", "draft.parallel": True, "acceptance": "constant:0.6", "train_tokens": "1T",
    "space.expert_width": "iso_total", "space.expert_width ": "fixed",
}  # fmt: skip


@pytest.mark.parametrize("path", FIELDS)
def test_no_field_changes_without_its_assumption(path: str) -> None:
    data: dict[str, Any] = {
        "hardware": "h100", "workload": {"target_batch_size": 32}, "deployment": {"gpus": 2}
    }  # fmt: skip
    before = build_scenario(Study.from_data(data)).assumptions
    part = data
    *sections, field = path.strip().split(".")
    for section in sections:
        part = part.setdefault(section, {})
    part[field] = FIELDS[path]
    assert set(build_scenario(Study.from_data(data)).assumptions) != set(before)


def test_every_default_is_among_the_assumptions() -> None:
    # structure.md: assumptions are printed with the answer; model.md, section 5: no hidden default.
    found = topics(make_scenario())
    assert {
        "reference", "replica", "workload", "routing", "acceptance", "draft", "overhead", "kernel",
        "price", "training", "quality", "designs",
    } <= set(found)  # fmt: skip
    assert "0.7645,0.965" in found["acceptance"][0]
    assert "r_p 0.292" in found["routing"][0]
    assert "0.71 published" in found["routing"][0]
    assert "36T" in found["training"][0]
    assert "1.99-5" in found["price"][0]


@pytest.mark.parametrize(
    ("fields", "topic", "words"),
    [
        ({"acceptance": "constant:.8"}, "acceptance", "as given"),
        ({"acceptance": "positions:.8,.6"}, "acceptance", "extrapolated"),
        ({"reference": "mixtral-8x7b"}, "training", "none published"),
        ({"train_tokens": "2T"}, "training", "2T tokens for every design, as given"),
        ({"hardware": "l40s"}, "price", "l40s has none; cost is not computed"),
        ({"deployment": {"price": "2 USD/h"}}, "price", "2 USD per GPU-hour, as given"),
        ({"routing": "uniform"}, "routing", "uniformly (asked)"),
        ({"routing": "independent"}, "routing", "popularity only, no context (asked)"),
        ({"reference": "deepseek-v3"}, "routing", "nothing is published for DeepSeek-V3"),
        ({"hardware": "mi300x"}, "kernel", "datasheet-only"),
        ({"draft": "fraction:0.05"}, "draft", "0.05 of the design's own decode step"),
        ({"draft": "model:qwen3-0.6b"}, "draft", "the model Qwen3-0.6B"),
        ({"deployment": {"host_time": "0.2 ms"}}, "overhead", "host 0.2 ms per step"),
    ],
)
def test_what_was_assumed_is_said(fields: dict[str, Any], topic: str, words: str) -> None:
    assert any(words in line for line in topics(make_scenario(**fields))[topic])


def test_group_limited_routing_is_modelled_or_warned_of_by_name() -> None:
    # model.md, section 2: DeepSeek-V3 limits a token to 4 of 8 groups.
    lines = topics(make_scenario(reference="deepseek-v3"))["routing"]
    assert any("DeepSeek-V3" in line and "4 of 8 groups" in line for line in lines)


def test_shares_written_with_few_digits_add_up_to_one() -> None:
    # They were weighed as written, so that means over the mix lost what the digits left out.
    scenario = make_scenario(workload={"target_batch_size": "1:.3333333,8:.3333333,64:.3333333"})
    assert scenario.shares == pytest.approx((1 / 3,) * 3, rel=1e-15)
    exact = make_scenario(workload={"target_batch_size": "8:0.3,32:0.7"})
    assert exact.shares == (0.3, 0.7)


@pytest.mark.parametrize("correlation", [0.73, 1.0])
def test_a_router_more_alike_than_any_is_refused(correlation: float) -> None:
    published = {"window_correlation": correlation, "source": "a paper"}
    with pytest.raises(UsageError) as caught:
        make_scenario(set={"routing": published})
    assert str(caught.value).startswith(
        f"Qwen3-30B-A3B: window_correlation {correlation:g}: router needs popularity + request + "
        "recency / decay <= 1, not "
    )
