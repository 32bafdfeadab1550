"""Every figure of the code against the twin, on random designs and at every corner."""

import math
import random
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from codesign.model.latent_router import unique_experts
from codesign.model.routing import RouterParameters
from codesign.prediction import FIGURES
from codesign.resolve import build_scenario
from codesign.scenario import Scenario
from codesign.spec.study import Study
from tests.properties.any_question import FACTOR, Question, asked_for, examples, questions
from tests.twin.chain import Twin
from tests.twin.passes import Design
from tests.twin.router import Router

CLOSED_FORM = 1e-10
"""Figures that follow from unique experts by closed forms."""

LOOSER = {"sd_tpot_p95_s": 1e-5}
"""The normal quantile at 95 % is written with five digits."""

NEAR_ZERO = {"loss_difference": 1e-10, "break_even_acceptance": 1e-10}
"""Differences that may vanish, absolutely."""

AXES = {"experts", "top_k", "shared_experts", "draft_tokens", "expert_width"}
ELSEWHERE = {
    "rounding_residual",  # of the width policy: tests/search/test_space.py
    "sd_goodput_tokens_per_s",  # a threshold on sd_tpot_s: tests/test_serving_figures.py
}


@cache
def tabulated(experts: int, top_k: int, batch: int, window: int, router: Router) -> float:
    """What the code's own tables say; their error is measured in test_router_twin."""
    parameters = RouterParameters(
        *router[:5], groups=router.groups, groups_per_token=router.groups_per_token
    )
    return float(unique_experts(experts, top_k, batch, window, parameters))


def assert_same(question: Question, tolerance: float, **options: Any) -> None:
    twin = Twin(question.scenario, Design(*question.sizes), question.batch, **options).figures()
    found = question.ask()
    assert set(twin) == {*asked_for(question.scenario)} - AXES - ELSEWHERE
    for name, value in twin.items():
        own, exact = getattr(found, name).item(), float(value)
        slack = NEAR_ZERO.get(name, 0.0)
        if name == "kv_capacity_sequences" and math.isfinite(exact):
            slack = question.scenario.replica.data_parallel  # of a whole number of sequences
        near = pytest.approx(exact, rel=max(tolerance, LOOSER.get(name, 0.0)), abs=slack)
        assert own == near, name


def test_the_twin_has_every_figure() -> None:
    assert {*FIGURES} > ELSEWHERE | AXES


@examples(30)
@given(questions())
def test_a_random_question(question: Question) -> None:
    assert_same(question, CLOSED_FORM, unique_of=tabulated)


@cache
def corner(arch: str, gpus: int, how: str, context: int, draft: str) -> Scenario:
    deployment: dict[str, Any] = {"gpus": gpus, "price": "2 USD/h"}
    degrees: dict[str, dict[str, Any]] = {
        "tp": {},
        "ep": {"expert_parallel": gpus},
        "dp": {"attention_dp": True, "expert_parallel": gpus},
        "dp, tp experts": {"attention_dp": True},
        "mixed": {"tensor_parallel": min(8, gpus), "expert_parallel": min(64, gpus)},
    }
    deployment |= degrees[how]
    data = {
        "reference": arch,
        "hardware": "h200",
        "workload": {"target_batch_size": 1, "context": context, "tpot_limit": "1 s"},
        "deployment": deployment,
        "draft": draft,
        "space": {"draft_tokens": [0, 64]},
        "uncertainty": {"draws": 0},
    }
    return build_scenario(Study.from_data(data))


HOW = [(1, "tp"), (1024, "tp"), (1024, "ep"), (1024, "dp"), (1024, "dp, tp experts"),
       (1024, "mixed")]  # fmt: skip


@pytest.mark.parametrize(("gpus", "how"), HOW)
@pytest.mark.parametrize("arch", ["qwen3-30b-a3b", "deepseek-v3.2", "gpt-oss-20b", "qwen3-8b"])
def test_corners(arch: str, gpus: int, how: str) -> None:
    designs = [(1, 1, 0), (4096, 1, 0), (4096, 4096, 0), (4096, 8, 64), (1, 1, 64)]
    corners = list(product(designs, (1, 65_536), (0, 64), (0, 10_000_000), ("eagle", "mtp")))
    some = random.Random(f"{arch} {gpus} {how}").sample(corners, min(4 * FACTOR, len(corners)))
    for (experts, top_k, shared), batch, drafted, context, draft in some:
        scenario = corner(arch, gpus, how, context, draft)
        sizes = (experts, top_k, shared, drafted, 768)
        if scenario.reference.moe is None:
            sizes = (1, 1, 0, drafted, 1)
        assert_same(Question(scenario, sizes, batch), CLOSED_FORM, unique_of=tabulated)


WHOLE = [("qwen3-30b-a3b", 1, "tp", (128, 8, 0)), ("mixtral-8x7b", 8, "tp", (8, 2, 0)),
         ("gpt-oss-20b", 1, "tp", (2, 1, 0)), ("deepseek-v2-lite", 8, "dp", (64, 6, 2)),
         ("qwen3-235b-a22b", 64, "ep", (4096, 1, 0))]  # fmt: skip


@pytest.mark.parametrize(("arch", "gpus", "how", "sizes"), WHOLE)
def test_the_whole_chain_without_any_table(
    arch: str, gpus: int, how: str, sizes: tuple[int, int, int]
) -> None:
    """Unique experts by quadrature: times and speedups err by no more than the tables do."""
    scenario = corner(arch, gpus, how, 4096, "eagle")
    for batch, drafted in ((1, 3), (33, 8), (65_536, 1)):
        question = Question(scenario, (*sizes, drafted, 768), batch)
        free = replace(scenario, router=replace(scenario.router, groups=1, groups_per_token=1))
        assert_same(replace(question, scenario=free), 3e-4)


# ---- mixes ---------------------------------------------------------------------------------------


def test_a_mix_by_hand() -> None:
    """Times add up over generated tokens, memory is the largest."""
    scenario = corner("qwen3-30b-a3b", 1024, "mixed", 4096, "eagle")
    batches, shares = (1, 33, 65_536), (0.5, 0.3, 0.2)
    parts = [
        Twin(scenario, Design(128, 8, 1, 3, 768), batch, tabulated).figures() for batch in batches
    ]

    def total(name: str) -> Any:
        return sum(share * part[name] for share, part in zip(shares, parts, strict=True))

    def seconds(name: str) -> Any:
        return sum(share / part[name] for share, part in zip(shares, parts, strict=True))

    expected = {
        "sd_tpot_s": total("sd_tpot_s"),
        "cycle_ratio": total("cycle_ratio"),
        "cost_per_million_tokens": total("cost_per_million_tokens"),
        "unique_experts_verify": total("unique_experts_verify"),
        "tokens_per_s": 1 / seconds("tokens_per_s"),
        "sd_tokens_per_s_per_gpu": 1 / seconds("sd_tokens_per_s_per_gpu"),
        "sd_speedup": seconds("tokens_per_s") / seconds("sd_tokens_per_s"),
        "memory_bytes_per_gpu": max(part["memory_bytes_per_gpu"] for part in parts),
        "kv_capacity_sequences": max(part["kv_capacity_sequences"] for part in parts),
    }
    question = Question(scenario, (128, 8, 1, 3, 768), 1)
    mixed = question.ask(batch=batches)
    mixed.scenario = replace(mixed.scenario, shares=shares)
    for name, value in expected.items():
        assert mixed.value(name).item() == pytest.approx(float(value), rel=CLOSED_FORM), name
    assert np.isfinite(mixed.value("sd_goodput_tokens_per_s")).all()
