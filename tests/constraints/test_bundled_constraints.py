"""Every bundled constraint, and bounds on figures, keep to the contract and mean what they say."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codesign.constraints import (
    Constraint,
    constraint_class,
    list_constraints,
    make_constraints,
)
from codesign.designs import Designs
from codesign.errors import UsageError
from codesign.prediction import predict
from codesign.scenario import Scenario
from codesign.spec.study import DEFAULT_CONSTRAINTS, Bound
from tests.contracts.constraint_contract import ConstraintContract
from tests.questions import make_scenario

NO_DEFAULTS = dict.fromkeys(DEFAULT_CONSTRAINTS, False)


def only(name: str, choice: Any = True, folder: Path | None = None) -> Constraint:
    """The one constraint of a study without defaults."""
    [constraint] = make_constraints(NO_DEFAULTS | {name: choice}, folder)
    return constraint


class TestTopK(ConstraintContract):
    def make(self) -> Constraint:
        return only("top_k")

    def tighter(self) -> Constraint:
        return only("top_k", {"minimum": 6})


class TestQuality(ConstraintContract):
    def make(self) -> Constraint:
        return only("quality")

    def tighter(self) -> Constraint:
        return only("quality", {"epsilon": -0.02})


class TestMemory(ConstraintContract):
    def make(self) -> Constraint:
        return only("memory")

    def tighter(self) -> Constraint:
        return only("memory_bytes_per_gpu", Bound(at_most="40 GiB"))


class TestDivisibility(ConstraintContract):
    def make(self) -> Constraint:
        return only("divisibility")

    @pytest.fixture
    def scenario(self) -> Scenario:
        # A step of 512 elements over eight GPUs: widths of 384 and 768 are no multiples, and the
        # reference is spared; 8, 96, 128 and 256 experts divide over 32 ranks unequally.
        return make_scenario(deployment={"gpus": 32, "expert_parallel": 32})


class TestExpertWidth(ConstraintContract):
    def make(self) -> Constraint:
        return only("expert_width", {"tolerance": 0.3})

    def tighter(self) -> Constraint:
        return only("expert_width", {"tolerance": 0.03})

    @pytest.fixture
    def scenario(self) -> Scenario:
        return make_scenario()


class TestEffectiveParameters(ConstraintContract):
    def make(self) -> Constraint:
        return only("effective_parameters")

    def tighter(self) -> Constraint:
        return only("effective_parameters", {"share": 1.3})


BOUNDS: list[tuple[str, Bound, Bound]] = [
    ("total_params", Bound(at_most="1.1x"), Bound(at_most="0.5x")),
    (
        "active_params",
        Bound(at_least="0.8x", at_most="1.1x"),
        Bound(at_least="0.95x", at_most="1x"),
    ),
    ("sd_tpot", Bound(at_most="1x"), Bound(at_most="0.9x")),
    ("sd_speedup", Bound(at_least=1.5), Bound(at_least=2.0)),
    ("memory_bytes_per_gpu", Bound(at_most="80 GiB"), Bound(at_most="40 GiB")),
    ("experts", Bound(at_least=16), Bound(at_least=128)),
    ("tpot", Bound(at_most="100 ms"), Bound(at_most="15 ms")),
    ("total_params", Bound(at_most="40B"), Bound(at_most="20B")),
]


@pytest.mark.parametrize("bounds", BOUNDS, ids=lambda bounds: f"{bounds[0]}")
class TestBounds(ConstraintContract):
    @pytest.fixture
    def constraint(self, bounds: tuple[str, Bound, Bound]) -> Constraint:
        self._tighter = only(bounds[0], bounds[2])
        return only(bounds[0], bounds[1])

    def tighter(self) -> Constraint:
        return self._tighter


def test_every_bundled_constraint_is_tested_here() -> None:
    here = {"top_k", "quality", "memory", "divisibility", "expert_width", "effective_parameters"}
    elsewhere = {"user_ablations"}  # needs a file of measurements
    assert set(list_constraints()) == here | elsewhere


@pytest.mark.parametrize("name", list_constraints())
def test_a_file_is_named_as_its_class_says(name: str) -> None:
    kind = constraint_class(name)
    assert kind.name == name
    assert kind.__doc__


def test_the_defaults_are_those_of_product_md() -> None:
    names = [constraint.name for constraint in make_constraints({})]
    assert set(names) == {
        "total_params", "active_params", "top_k", "quality", "memory", "divisibility",
        "expert_width", "sd_tpot",
    }  # fmt: skip
    assert DEFAULT_CONSTRAINTS["total_params"] == Bound(at_most="1.1x")
    assert DEFAULT_CONSTRAINTS["active_params"] == Bound(at_least="0.8x", at_most="1.1x")
    assert DEFAULT_CONSTRAINTS["sd_tpot"] == Bound(at_most="1x")


def slack(constraint: Constraint, designs: Designs, **fields: Any) -> list[float]:
    scenario = make_scenario(**fields)
    reference = predict(Designs.of_architecture(scenario.reference, 3), scenario)
    found = constraint.assess(predict(designs, scenario), reference)
    return [float(value) for value in np.broadcast_to(found.slack, designs.shape)]


def test_top_k_asks_no_more_than_the_reference_has() -> None:
    # product.md: top_k >= 4, or the reference's, if fewer; Mixtral has 2.
    designs = Designs.of(16, np.array([1, 2, 3, 4, 5]), 0, 3, 512)
    assert slack(only("top_k"), designs) == [-3, -2, -1, 0, 1]
    assert slack(only("top_k"), designs, reference="mixtral-8x7b") == [-1, 0, 1, 2, 3]


@pytest.mark.parametrize(
    ("designs", "fields", "violated"),
    [
        # N % ep, N % n_group, attention heads % tp, width % step (product.md).
        ((128, 8, 0, 3, 768), {}, 0),
        ((128, 8, 0, 3, 800), {}, 1),
        ((96, 8, 0, 3, 768), {"deployment": {"gpus": 8, "expert_parallel": 8}}, 0),
        ((100, 8, 0, 3, 768), {"deployment": {"gpus": 8, "expert_parallel": 8}}, 1),
        ((100, 8, 0, 3, 800), {"deployment": {"gpus": 8, "expert_parallel": 8}}, 2),
        ((256, 8, 1, 3, 2048), {"reference": "deepseek-v3", "deployment": {"gpus": 8}}, 0),
        ((252, 8, 1, 3, 2048), {"reference": "deepseek-v3", "deployment": {"gpus": 8}}, 1),
        # 4 of 8 groups hold half of the experts.
        ((16, 8, 1, 3, 2048), {"reference": "deepseek-v3", "deployment": {"gpus": 8}}, 0),
        ((8, 8, 1, 3, 2048), {"reference": "deepseek-v3", "deployment": {"gpus": 8}}, 1),
        # 32 heads over 64 ranks; the reference's own experts keep their width of 768.
        ((128, 8, 0, 3, 768), {"deployment": {"gpus": 64, "expert_parallel": 64}}, 1),
        ((128, 8, 0, 0, 768), {"deployment": {"gpus": 8}}, 0),
        ((128, 8, 0, 0, 704), {"deployment": {"gpus": 8}}, 1),
    ],
)
def test_divisibility_counts_what_does_not_divide(
    designs: tuple[int, ...], fields: dict[str, Any], violated: int
) -> None:
    assert slack(only("divisibility"), Designs.of(*designs), **fields) == [-violated]


def test_expert_width_looks_at_the_rounding_of_the_policy() -> None:
    # Qwen3-30B-A3B spends 8 x 768 = 6144: 9 x 704 is 3.1 % above, 8 x 768 exact.
    designs = Designs.of(128, np.array([8, 9, 6]), 0, 3, np.array([768, 704, 1024]))
    found = slack(only("expert_width"), designs)
    assert found == pytest.approx([0.03, 0.03 - 0.03125, 0.03])
    fixed = slack(only("expert_width"), designs, space={"expert_width": "fixed"})
    assert fixed == pytest.approx([0.03] * 3)  # a policy without a budget rounds nothing


def test_memory_is_the_capacity_times_its_utilisation() -> None:
    designs = Designs.of(128, 8, 0, 8, 768)
    scenario = make_scenario()
    used = predict(designs, scenario).value("memory_bytes_per_gpu").item()
    assert slack(only("memory"), designs) == [pytest.approx(0.9 * 80 * 2**30 - used)]


def test_a_bound_has_two_sides_and_names_the_nearer() -> None:
    scenario = make_scenario()
    reference = predict(Designs.of_architecture(scenario.reference, 3), scenario)
    designs = Designs.of(np.array([8, 64, 128, 500]), 8, 0, 3, 768)
    found = only("experts", Bound(at_least=32, at_most=256)).assess(
        predict(designs, scenario), reference
    )
    assert found.slack.tolist() == [-24, 32, 96, -244]
    assert found.limit.tolist() == [32, 32, 32, 256]
    assert (found.violation > 0).tolist() == [True, False, False, True]


@pytest.mark.parametrize(
    ("name", "choice", "message"),
    [
        ("total_params", Bound(at_most="1.1 x x"), "constraint total_params: not a number"),
        ("total_params", Bound(at_most="-3B"), "constraint total_params: must be finite and not"),
        ("total_params", Bound(at_most="nanx"), "constraint total_params: must be finite ('nanx')"),
        ("sd_speedup", Bound(at_least="inf"), "constraint sd_speedup: must be finite ('inf')"),
        ("sd_speedup", Bound(at_least="fast"), "constraint sd_speedup: not a number ('fast')"),
        ("sd_tpot", Bound(at_most=10.0), "constraint sd_tpot: a time needs a unit"),
        ("sd_tpot", Bound(at_most="10 GB"), "constraint sd_tpot: unknown unit 'GB' for a time"),
        ("sd_tpot", Bound(), "constraint sd_tpot: give at_least or at_most"),
        ("totl_params", Bound(at_most=1.0), "unknown figure 'totl_params'; did you mean"),
        ("tpot", True, "constraint tpot: give at_least or at_most, or false to remove it"),
        ("tpot", {"at_mots": "1x"}, "constraint tpot: unknown option 'at_mots'; did you mean"),
        ("qualty", True, "unknown constraint 'qualty'; did you mean 'quality'?"),
        ("quality", {"epsilan": 1}, "constraint quality: unknown option 'epsilan'; did you mean"),
        ("memory", {"limit": 1}, "constraint memory: unknown option 'limit'; known: none"),
        ("quality", {"epsilon": "much"}, "constraint quality: epsilon must be a finite"),
        ("quality", {"at_most": 1}, "constraint quality: unknown option 'at_most'; known: epsilon"),
        ("quality", {"epsilon": math.nan}, "constraint quality: epsilon must be a finite number"),
        ("top_k", {"minimum": 4.7}, "constraint top_k: minimum must be a whole number, not 4.7"),
        ("top_k", {"minimum": True}, "constraint top_k: minimum must be a whole number, not True"),
        ("quality", {"level": 2}, "constraint quality: level must lie between 0 and 1 (2)"),
        ("none.py", True, "none.py: no such file"),
    ],
)
def test_refuse(name: str, choice: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        only(name, choice)
    assert str(caught.value).startswith(message)


def test_options_reach_the_constraint() -> None:
    designs = Designs.of(128, 5, 0, 3, 768)
    assert slack(only("top_k", {"minimum": 6}), designs) == [-1]
    assert slack(only("top_k", True), designs) == [1]


@pytest.mark.parametrize("name", ["top_k", "expert_width", "memory"])
def test_a_limit_on_a_figure_leaves_the_guard_of_the_same_name(name: str) -> None:
    limits: dict[str, float | str] = {"top_k": 8.0, "expert_width": 512.0, "memory": "60 GiB"}
    made = make_constraints({**NO_DEFAULTS, name: Bound(at_most=limits[name])})
    assert [each.name for each in made] == [name, f"{name}_limit"]
    [guard] = make_constraints(NO_DEFAULTS | {name: True})
    assert type(made[0]) is type(guard)


def test_a_guard_and_a_limit_have_their_own_options() -> None:
    guard, limit = make_constraints({**NO_DEFAULTS, "top_k": {"minimum": 6, "at_most": 7}})
    designs = Designs.of(128, 5, 0, 3, 768)
    assert (slack(guard, designs), slack(limit, designs)) == ([-1], [2])


def test_false_removes_and_true_restores() -> None:
    assert make_constraints(NO_DEFAULTS) == []
    names = [each.name for each in make_constraints(NO_DEFAULTS | {"sd_tpot": True})]
    assert names == ["sd_tpot"]
