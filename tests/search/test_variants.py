"""Further axes: hidden size, layers, degrees, formats and drafts around the designs."""

from typing import Any

import numpy as np
import pytest

from codesign.designs import Designs
from codesign.errors import UsageError
from codesign.further_axes import make_variants, varied
from codesign.result import Result
from codesign.search.engines import Run
from codesign.search.lattice import Lattice
from codesign.search.variants import Variants
from codesign.spec.study import Study
from codesign.study import optimize
from tests.questions import make_study

SMALL: dict[str, Any] = {"experts": "32:128:32", "top_k": "4:8:2", "shared_experts": 0}
FREE = {"sd_tpot": False, "memory": False}
"""Relative to the reference's own replica, or bound to it: not the same in separate studies."""


def space_study(further: dict[str, Any], **fields: Any) -> Study:
    return make_study(space=SMALL | further, **fields)


def exact(study: Study, **run: Any) -> Result:
    return optimize(study.revised(search={"engine": "exact"}), run=Run(**run))


@pytest.mark.parametrize(
    ("further", "count"),
    [
        ({"hidden_size": [1536, 2048]}, 2),
        ({"layers": [24, 32]}, 3),
        ({"draft_ffn_width": "2048:8192:x2"}, 4),
        ({"expert_dtype": ["bf16", "fp8"]}, 2),
        ({"tensor_parallel": [1, 2, 4], "expert_parallel": [1, 4]}, 6),
        ({"drafts": ["eagle", "mtp", "model:1.2e9@decay:.85,.97"]}, 3),
    ],
)
def test_every_combination_is_a_variant(further: dict[str, Any], count: int) -> None:
    variants = make_variants(space_study(further))
    own = {"layers": 48}.keys() & further.keys()
    assert len(variants) == count, own
    result = exact(space_study(further, constraints=FREE))
    assert result.certificate.designs == variants.size == count * variants.own.space.size
    axes = set(variants.axes)
    assert axes <= result.best["design"].keys()
    assert all(axes <= each["design"].keys() for each in result.front)


def test_the_best_degree_is_the_best_of_separate_studies() -> None:
    further = {"tensor_parallel": [1, 2, 4], "expert_parallel": [1, 2]}
    whole = exact(space_study(further, deployment={"gpus": 4}, constraints=FREE))
    separate = {}
    for tensor in further["tensor_parallel"]:
        for expert in further["expert_parallel"]:
            deployment = {"gpus": 4, "tensor_parallel": tensor, "expert_parallel": expert}
            one = exact(make_study(space=SMALL, deployment=deployment, constraints=FREE))
            separate[tensor, expert] = one.best
    best = max(separate, key=lambda key: separate[key]["objectives"]["sd_speedup"])
    design = whole.best["design"]
    assert (design["tensor_parallel"], design["expert_parallel"]) == best
    assert whole.best["objectives"] == separate[best]["objectives"]
    assert {k: design[k] for k in separate[best]["design"]} == separate[best]["design"]


def test_the_front_is_that_of_all_variants() -> None:
    further = {"tensor_parallel": [1, 2]}
    whole = exact(space_study(further, deployment={"gpus": 2}, constraints=FREE))
    points = []
    for tensor in (1, 2):
        deployment = {"gpus": 2, "tensor_parallel": tensor}
        one = exact(make_study(space=SMALL, deployment=deployment, constraints=FREE))
        points += [tuple(each["objectives"].values()) for each in one.front]
    wanted = {
        (speed, loss)
        for speed, loss in points
        if not any((a >= speed and b < loss) or (a > speed and b <= loss) for a, b in points)
    }
    assert {tuple(each["objectives"].values()) for each in whole.front} == wanted


def test_workers_do_not_change_the_answer() -> None:
    study = space_study({"hidden_size": [1536, 2048], "layers": [32, 48]}, constraints=FREE)
    assert exact(study, workers=2).to_dict() == exact(study).to_dict()


def test_another_hidden_size_or_depth_keeps_the_budget_of_active_experts() -> None:
    variants = make_variants(space_study({"hidden_size": [1024, 2048], "layers": [24, 48]}))
    own = variants.own.scenario.reference
    assert own.moe is not None
    budget = own.moe.layers * own.hidden_size * own.moe.top_k * own.moe.expert_width
    for index in range(len(variants)):
        space = variants.problem(index).space
        model = space.scenario.reference
        assert model.moe is not None
        design = space.designs(
            experts=np.array([128.0]), top_k=np.array([8.0]), shared_experts=np.array([0.0]),
            draft_tokens=np.array([3.0]),
        )  # fmt: skip
        spent = model.moe.layers * model.hidden_size * 8 * float(design.expert_width[0])
        assert spent == pytest.approx(budget, rel=0.03)
        assert model.moe.layers == model.layers


def test_the_reference_stays_the_studys_own() -> None:
    result = exact(space_study({"hidden_size": [1024, 2048]}, constraints=FREE))
    reference = Designs.of_architecture(make_variants(make_study()).own.scenario.reference, 0)
    assert result.reference["design"]["experts"] == reference.experts[0]
    assert result.reference["prediction"]["loss_difference"] == 0


def test_the_study_searches_further_axes_too() -> None:
    study = space_study(
        {"drafts": ["eagle", "mtp"], "tensor_parallel": [1, 2]}, deployment={"gpus": 2},
        constraints=FREE, search={"engine": "optuna", "trials": 60},
    )  # fmt: skip
    result = optimize(study)
    assert result.best["design"]["draft"] in ("eagle", "mtp")
    assert result.best["design"]["tensor_parallel"] in (1, 2)


def test_hybrid_finds_the_certified_best_of_a_small_space() -> None:
    study = space_study({"tensor_parallel": [1, 2]}, deployment={"gpus": 2}, constraints=FREE)
    best = exact(study).best
    hybrid = optimize(study.revised(search={"engine": "hybrid", "trials": 40}))
    assert hybrid.certificate.kind == "gap"
    assert hybrid.certificate.regret is not None and hybrid.certificate.regret > 0
    assert hybrid.best["objectives"]["sd_speedup"] == pytest.approx(
        best["objectives"]["sd_speedup"], rel=0.02
    )


def test_positions_name_variants() -> None:
    variants = make_variants(space_study({"layers": [24, 48], "hidden_size": [1024, 2048]}))
    for index in range(len(variants)):
        settings = variants.settings(index)
        places = {axis: variants.axes[axis].index(value) for axis, value in settings.items()}
        assert variants.index(places) == index
    lattice = Lattice(variants)
    assert lattice.row((0,) * len(lattice.shape))[0] == 0


def test_a_study_without_further_axes_has_one_variant() -> None:
    variants = make_variants(make_study())
    assert (len(variants), variants.settings(0)) == (1, {})
    assert isinstance(variants, Variants)


@pytest.mark.parametrize(
    ("further", "message"),
    [
        ({"tensor_parallel": [3]}, r"tensor_parallel \d"),
        ({"layers": [0]}, "layers 0"),
        ({"hidden_size": [0]}, "hidden_size 0"),
        ({"drafts": ["nonsense"]}, "a draft is"),
    ],
)
def test_a_value_that_cannot_be_is_a_usage_error(further: dict[str, Any], message: str) -> None:
    with pytest.raises((UsageError, ValueError), match=message):
        make_variants(space_study(further, deployment={"gpus": 4}))


def test_a_drafts_own_acceptance_replaces_the_studys() -> None:
    one = varied(make_study(), {"draft": "mtp@constant:.5"})
    assert one.draft.kind == "mtp"
    assert one.acceptance.values == (0.5,)
