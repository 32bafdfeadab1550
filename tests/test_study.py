"""One study from question to answer."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from codesign.errors import InfeasibleError, UsageError
from codesign.prediction import FIGURES
from codesign.report.formats import to_json
from codesign.report.result_tables import certificate_line
from codesign.result import Result
from codesign.spec.study import DEFAULT_CONSTRAINTS
from codesign.study import optimize
from tests.questions import make_study

NO_DEFAULTS: dict[str, Any] = dict.fromkeys(DEFAULT_CONSTRAINTS, False)
SMALL = {"experts": [64, 128], "top_k": [4, 8], "shared_experts": [0, 1], "draft_tokens": "0:4"}
K_ALONE = {"fix": ["experts", "top_k", "shared_experts"], "draft_tokens": "0:4"}


def answer(folder: Path | None = None, **fields: Any) -> Result:
    return optimize(make_study(**({"space": SMALL} | fields)), folder=folder)


# ---- what is answered --------------------------------------------------------------------------

RESULT_KEYS = {
    # product.md, machine-readable output.
    "schema", "study", "verdict", "best", "throughput_best", "reference", "certificate", "front",
    "interval", "stability", "plateau", "shadow_prices", "sensitivity", "assumptions", "versions",
}  # fmt: skip
DESIGN_KEYS = {"experts", "top_k", "shared_experts", "draft_tokens", "expert_width"}
FIGURE_KEYS = {
    "batch_size", "draft_tokens", "tokens", "unique_experts_decode", "unique_experts_verify",
    "unique_experts_uniform", "unique_experts_independent", "overlap_lag1", "step_time_decode_s",
    "step_time_verify_s", "draft_time_s", "routed_time_fraction", "routed_load_fraction",
    "amdahl_ratio", "target_efficiency", "acceptance_length", "cycle_ratio", "sd_speedup",
    "break_even_acceptance_length", "tpot_s", "sd_tpot_s", "tokens_per_s", "sd_tokens_per_s",
    "sd_tokens_per_s_per_gpu", "cost_per_million_tokens", "memory_bytes_per_gpu", "regime",
    "components",
}  # fmt: skip


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"search": {"engine": "exact"}},
        {"search": {"engine": "optuna", "trials": 20}},
        {"uncertainty": {"draws": 4}},
        {"hardware": "l40s", "deployment": {"gpus": 4}},  # no price
        {"objectives": ["total_params", "sd_speedup", "loss_difference"]},
        {"workload": {"target_batch_size": "8:0.3,32:0.7", "context": 0}},
    ],
)
def test_the_stable_keys_are_there_and_no_number_is_none(fields: dict[str, Any]) -> None:
    constraints = {"memory": False, "quality": False, "sd_tpot": False}
    result = answer(constraints=constraints, **fields)
    data = json.loads(to_json(result.to_dict()))  # to_json refuses NaN and infinity
    assert set(data) >= RESULT_KEYS
    assert data["schema"] == "codesign.result/1"
    assert set(data["certificate"]) >= {"kind", "designs", "feasible", "regret", "study_regret"}
    for entry in (data["best"], data["reference"], data["throughput_best"], *data["front"]):
        assert set(entry["design"]) == DESIGN_KEYS
        assert all(isinstance(value, int) for value in entry["design"].values())
        assert all(isinstance(value, int | float) for value in entry["objectives"].values())
        for standing in entry["constraints"].values():
            assert {"value", "limit", "slack", "unit"} <= set(standing)
    for name in ("best", "reference", "throughput_best"):
        for row in data[name]["prediction"]["by_batch_size"]:
            assert set(row) >= FIGURE_KEYS
            assert set(row["components"]) == {"decode", "verify"}
            total = sum(row["components"]["verify"].values())
            assert total == pytest.approx(row["step_time_verify_s"], rel=1e-9)
        assert set(data[name]["prediction"]) >= set(FIGURES)


def test_the_best_is_feasible_and_the_slack_says_by_how_much() -> None:
    result = answer()
    for name, standing in result.best["constraints"].items():
        assert standing["slack"] >= 0, name
        distance = abs(standing["limit"] - standing["value"])
        assert standing["slack"] == pytest.approx(distance, rel=1e-9)


def test_a_space_no_larger_than_the_trials_is_walked_not_sampled() -> None:
    # Case D02: in a small space every design is evaluated once, and no trial is spent.
    certificate = answer().certificate
    assert (certificate.kind, certificate.regret) == ("exact", 0.0)
    assert certificate.designs == 2 * 2 * 2 * 5
    assert (certificate.trials, certificate.study_regret) == (None, None)


def test_a_larger_space_has_a_study_and_its_certificate() -> None:
    result = answer(search={"trials": 15, "batch": 5})
    certificate = result.certificate
    assert (certificate.kind, certificate.designs) == ("exact", 40)
    assert certificate.trials == 15
    assert certificate.distinct_designs is not None and certificate.distinct_designs <= 15
    if certificate.study_regret is not None:
        assert certificate.study_regret >= 0


def test_the_study_alone_proves_nothing() -> None:
    # search.md: never call an uncertified best optimal.
    result = answer(search={"engine": "optuna", "trials": 40})
    certificate = result.certificate
    assert certificate.kind in ("gap", "none")
    best = answer(search={"engine": "exact"}).best["objectives"]["sd_speedup"]
    own = result.best["objectives"]["sd_speedup"]
    assert own <= best * (1 + 1e-9)
    if certificate.regret is not None:  # a stated gap holds
        assert best <= own * (1 + certificate.regret) * (1 + 1e-9)
    assert all(standing["slack"] >= 0 for standing in result.best["constraints"].values())


@pytest.mark.parametrize("engine", ["auto", "optuna"])
def test_the_same_seed_gives_the_same_answer(engine: str) -> None:
    search = {"engine": engine, "trials": 20, "seed": 7}
    first, second = (to_json(answer(search=search).to_dict()) for _ in range(2))
    assert first == second


def test_k_alone() -> None:
    result = answer(space=K_ALONE)
    assert result.certificate.designs == 5
    assert result.best["design"] == result.reference["design"]
    assert result.best["design"]["expert_width"] == 768
    assert result.verdict["choice"] == "reference"
    assert "keep the reference" in result.verdict["text"]


def test_ties_go_to_fewer_draft_tokens() -> None:
    # product.md; the size of a model does not depend on its draft length.
    result = answer(objectives=["total_params"], constraints=NO_DEFAULTS, space=K_ALONE)
    assert result.best["design"]["draft_tokens"] == 0


def test_the_reference_is_shown_with_its_own_best_draft_length() -> None:
    lengths = range(5)
    result = answer()
    speedups = [
        answer(space=K_ALONE | {"draft_tokens": [k]}).best["objectives"]["sd_speedup"]
        for k in lengths
    ]
    assert result.reference["design"]["draft_tokens"] == speedups.index(max(speedups))
    assert result.reference["objectives"]["sd_speedup"] == pytest.approx(max(speedups))


def test_the_throughput_best_is_named_beside_the_best() -> None:
    result = answer(constraints=NO_DEFAULTS)
    best, fast = (
        entry["prediction"]["sd_tokens_per_s"] for entry in (result.best, result.throughput_best)
    )
    assert fast >= best


def test_a_front_of_what_was_asked() -> None:
    result = answer(objectives=["sd_tpot", "loss_difference"], constraints=NO_DEFAULTS)
    assert result.front_objectives == ("sd_tpot", "loss_difference")
    points = [tuple(entry["objectives"].values()) for entry in result.front]
    assert len(points) > 1
    assert points == sorted(points)  # the fastest first
    assert all(slow[1] < fast[1] for fast, slow in pairwise(points))  # and each slower one better
    assert result.front[0]["design"] == result.best["design"]


def test_a_single_objective_is_traded_against_loss() -> None:
    assert answer().front_objectives == ("sd_speedup", "loss_difference")
    alone = answer(objectives=["loss_difference"], constraints=NO_DEFAULTS)
    assert alone.front_objectives == ("loss_difference", "sd_speedup")


def test_a_binding_constraint_is_what_keeps_a_better_design_out() -> None:
    fields: dict[str, Any] = {"constraints": NO_DEFAULTS | {"draft_tokens": {"at_most": 1}}}
    bound, free = answer(**fields), answer(constraints=NO_DEFAULTS)
    assert [row["constraint"] for row in bound.binding] == ["draft_tokens"]
    [row] = bound.binding
    assert row["design_without"] == free.best["design"]
    own, better = (entry.best["objectives"]["sd_speedup"] for entry in (bound, free))
    assert row["objective_without"] == pytest.approx(better)
    assert row["gain_without"] == pytest.approx(better / own - 1)
    assert free.binding == []


def test_a_constraint_that_costs_nothing_does_not_bind() -> None:
    # Whatever its drafts, the model is of one size: K >= 1 excludes an equal, not a better design.
    result = answer(
        objectives=["total_params"],
        space=K_ALONE,
        constraints=NO_DEFAULTS | {"K": {"at_least": 1}},
    )
    assert result.best["design"]["draft_tokens"] == 1
    assert result.binding == []


def test_a_gain_is_an_improvement_in_either_direction() -> None:
    fields: dict[str, Any] = {"objectives": ["sd_tpot"]}
    bound = answer(constraints=NO_DEFAULTS | {"draft_tokens": {"at_most": 1}}, **fields)
    [row] = bound.binding
    assert row["objective_without"] < bound.best["objectives"]["sd_tpot"]
    assert row["gain_without"] == pytest.approx(
        1 - row["objective_without"] / bound.best["objectives"]["sd_tpot"]
    )


def test_a_best_objective_of_zero_has_no_relative_gain() -> None:
    # The reference's own loss difference is 0; twice the experts would be better.
    result = answer(
        objectives=["loss_difference"],
        space={"experts": [128, 256], "top_k": 8, "shared_experts": 0, "draft_tokens": 3,
               "expert_width": "fixed"},
        constraints=NO_DEFAULTS | {"total_params": {"at_most": "1x"}},
    )  # fmt: skip
    assert result.best["objectives"]["loss_difference"] == 0
    assert [(row["constraint"], row["gain_without"]) for row in result.binding] == [
        ("total_params", None)
    ]


def test_a_best_on_the_bound_of_its_axis_is_flagged() -> None:
    result = answer(
        constraints=NO_DEFAULTS,
        objectives=["sd_speedup"],
        space={"experts": 128, "top_k": 8, "shared_experts": "0:2", "draft_tokens": "1:2"},
    )
    assert result.best["design"]["draft_tokens"] == 2
    assert "draft_tokens" in result.on_bounds
    assert "experts" not in result.on_bounds  # one value is no axis
    none = answer(constraints=NO_DEFAULTS, objectives=["total_params"], space=K_ALONE)
    assert none.best["design"]["draft_tokens"] == 0
    assert "draft_tokens" not in none.on_bounds  # no drafts is an end that cannot be moved


def test_a_reference_that_violates_a_constraint_is_not_kept() -> None:
    # Half the size and one draft: slower than the reference, which is allowed neither.
    result = answer(
        space=SMALL | {"experts": [16, 32, 64]},
        constraints=NO_DEFAULTS | {"total_params": {"at_most": "0.6x"}, "K": {"at_most": 1}},
    )
    assert result.verdict["gain"] < 0
    assert result.verdict["choice"] == "best"
    assert result.verdict["text"].startswith("build ")
    assert result.verdict["text"].endswith("against the reference, which violates total_params, K")


# ---- nothing to answer -------------------------------------------------------------------------


def infeasible(**fields: Any) -> str:
    with pytest.raises(InfeasibleError) as caught:
        answer(**fields)
    assert caught.value.exit_status == 3
    return str(caught.value)


def test_infeasible_says_what_excludes_how_many_and_what_to_relax() -> None:
    # product.md: which constraint excludes how many, the least-violating design, what to relax.
    message = infeasible(
        space=K_ALONE,
        constraints=NO_DEFAULTS | {"sd_tokens_per_s": {"at_least": 1e9}, "K": {"at_least": 3}},
    ).split("\n")
    assert message[0] == "no design is feasible: 5 designs, none meets every constraint"
    assert message[1:3] == ["  sd_tokens_per_s excludes 5", "  K excludes 3"]
    assert message[3].startswith("least violating: experts 128, top_k 8, shared_experts 0, draft_t")
    assert message[4].startswith("  sd_tokens_per_s: ") and message[4].endswith(
        "against 1,000,000,000 token/s"
    )
    assert "relax: without sd_tokens_per_s alone a design is feasible" in message
    assert message[-1].startswith("(--no-constraint NAME lifts one, --constraint ")


def test_infeasible_by_several_constraints_blames_none_alone() -> None:
    message = infeasible(
        space=K_ALONE,
        constraints=NO_DEFAULTS | {"sd_speedup": {"at_least": 9}, "tpot": {"at_most": "1 us"}},
    )
    assert "relax: no single constraint is to blame; lift or loosen several" in message


def test_a_study_that_found_nothing_says_how_to_be_sure() -> None:
    message = infeasible(
        constraints=NO_DEFAULTS | {"sd_speedup": {"at_least": 9}},
        search={"engine": "optuna", "trials": 10},
    )
    assert message.startswith("the study found no feasible design in 10 trials of ")
    assert "--engine exact" in message


# ---- extensions --------------------------------------------------------------------------------

OBJECTIVE = """
import numpy as np
from codesign.objectives import Objective

class Mine(Objective):
    name = "mine"
    direction = "maximize"
    unit = "-"

    def evaluate(self, prediction):
        {body}
"""

CONSTRAINT = """
import numpy as np
from codesign.constraints import Assessment, Constraint, at_most

class Mine(Constraint):
    name = "{name}"
    unit = "token"

    def __init__(self, most: int = 2) -> None:
        self.most = most

    def assess(self, prediction, reference):
        {body}
"""


def extension(folder: Path, text: str) -> str:
    (folder / "mine.py").write_text(text)
    return "mine.py"


def test_a_constraint_of_the_users_own(tmp_path: Path) -> None:
    body = "return at_most(prediction.designs.draft_tokens, self.most)"
    name = extension(tmp_path, CONSTRAINT.format(name="short_drafts", body=body))
    result = answer(tmp_path, constraints=NO_DEFAULTS | {name: {"most": 1}})
    assert result.best["design"]["draft_tokens"] == 1
    assert result.best["constraints"]["short_drafts"] == {
        "value": 1, "limit": 1, "slack": 0, "unit": "token", "feasible": True,
    }  # fmt: skip
    assert [row["constraint"] for row in result.binding] == ["short_drafts"]
    default = answer(tmp_path, constraints=NO_DEFAULTS | {name: True})
    assert default.best["design"]["draft_tokens"] == 2


def test_an_objective_of_the_users_own(tmp_path: Path) -> None:
    body = "return -np.abs(prediction.designs.draft_tokens - 3.0)"
    name = extension(tmp_path, OBJECTIVE.format(body=body))
    result = answer(tmp_path, objectives=[name], constraints=NO_DEFAULTS)
    assert result.best["design"]["draft_tokens"] == 3
    assert result.best["objectives"] == {"mine": 0}


BROKEN_VALUES = [
    ("raise KeyError('x')", "mine: KeyError: 'x'"),
    ("return prediction.no_such_figure", "mine: AttributeError: "),
    ("return np.full(prediction.designs.shape, np.nan)", "mine: returned NaN or infinity"),
    ("return np.full(prediction.designs.shape, np.inf)", "mine: returned NaN or infinity"),
    ("return None", "mine: returned no number per design"),
    ("return 'fast'", "mine: returned no number per design"),
    ("return prediction.sd_speedup", "mine: returned no number per design"),  # one per batch size
    ("return np.zeros(3)", "mine: returned no number per design"),
    ("return [[1.0], [1.0, 2.0]]", "mine: returned no number per design"),
]


@pytest.mark.parametrize("engine", ["exact", "optuna"])
@pytest.mark.parametrize(("body", "message"), BROKEN_VALUES)
def test_a_broken_objective_is_contained(
    tmp_path: Path, body: str, message: str, engine: str
) -> None:
    name = extension(tmp_path, OBJECTIVE.format(body=body))
    with pytest.raises(UsageError) as caught:
        answer(tmp_path, objectives=[name], search={"engine": engine, "trials": 10})
    assert str(caught.value).startswith(message)
    assert caught.value.exit_status == 2


BROKEN_ASSESSMENTS = [
    ("return 1 / 0", "mine: ZeroDivisionError: division by zero"),
    ("return True", "mine: returned bool, not an Assessment"),
    ("return at_most(prediction.sd_speedup, 1.0)", "mine: returned no number per design"),
    (
        "return Assessment(np.zeros(3), np.zeros(()), np.zeros(()))",
        "mine: returned no number per design",
    ),
    (
        "return Assessment(np.zeros(()), np.full((), np.nan), np.zeros(()))",
        "mine: returned NaN or infinity",
    ),
    ("return at_most(prediction.designs.draft_tokens, np.nan)", "mine: returned NaN or infinity"),
    ("return at_most(prediction.designs.draft_tokens, np.inf)", "mine: returned NaN or infinity"),
]


@pytest.mark.parametrize("engine", ["exact", "optuna"])
@pytest.mark.parametrize(("body", "message"), BROKEN_ASSESSMENTS)
def test_a_broken_constraint_is_contained(
    tmp_path: Path, body: str, message: str, engine: str
) -> None:
    name = extension(tmp_path, CONSTRAINT.format(name="mine", body=body))
    with pytest.raises(UsageError) as caught:
        answer(tmp_path, constraints={name: True}, search={"engine": engine, "trials": 10})
    assert str(caught.value).startswith(message)


def test_an_objective_without_a_direction_is_refused(tmp_path: Path) -> None:
    text = OBJECTIVE.format(body="return prediction.value('sd_speedup')")
    name = extension(tmp_path, text.replace('"maximize"', '"maximise"'))
    with pytest.raises(UsageError) as caught:
        answer(tmp_path, objectives=[name])
    assert str(caught.value) == (
        "objective mine.py: direction is maximize or minimize, not 'maximise'"
    )


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    body = "return at_most(prediction.designs.draft_tokens, 99)"
    name = extension(tmp_path, CONSTRAINT.format(name="memory", body=body))
    with pytest.raises(UsageError) as caught:
        answer(tmp_path, constraints={name: True})
    assert str(caught.value) == "two constraints are named 'memory'; one of them must go"


def test_an_objective_twice_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        answer(objectives=["sd_speedup", "sd_speedup"])
    assert str(caught.value) == "two objectives are named 'sd_speedup'; one of them must go"


@pytest.mark.parametrize("draws", [0, 4])
@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("return prediction.value('shared_experts') * 1.0", "build"),
        ("return prediction.value('draft_time_s') * 0.0", "keep the reference: no"),
    ],
)
def test_a_reference_worth_nothing_is_compared_in_the_objectives_own_unit(
    tmp_path: Path, draws: int, body: str, text: str
) -> None:
    """No gain is a share of 0: there was `+inf%` and a division by zero."""
    name = extension(tmp_path, OBJECTIVE.format(body=body))
    result = answer(
        tmp_path, objectives=[name], uncertainty={"draws": draws}, constraints=NO_DEFAULTS,
        space={"experts": 128, "top_k": 8, "shared_experts": "0,1", "draft_tokens": 0},
    )  # fmt: skip
    assert result.verdict["text"].startswith(text)
    assert result.verdict["gain"] is None
    if text == "build":
        assert result.verdict["text"].endswith(": mine 1 against the reference's 0")
    to_json(result.to_dict())


def test_a_sampled_best_below_the_reference_is_no_tie() -> None:
    search = {"engine": "optuna", "trials": 40}
    result = answer(space={}, search=search, uncertainty={"draws": 0})
    assert result.verdict["gain"] < 0  # of 40 trials; with others this test says nothing
    assert result.verdict["text"].startswith("keep the reference: the best of the designs")
    assert "found none feasible" not in certificate_line(result.to_dict())
