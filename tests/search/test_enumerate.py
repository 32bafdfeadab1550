"""Exact enumeration against brute force, on random small studies."""

import random
from functools import cache
from typing import Any

import numpy as np
import pytest

from codesign.answer import front_objectives
from codesign.search import enumerate as enumerate_module
from codesign.search.enumerate import Enumeration, enumerate_space
from codesign.search.problem import Problem, merit
from codesign.spec.study import DEFAULT_CONSTRAINTS, Study
from codesign.study import make_problem
from tests.questions import make_study
from tests.search.brute_force import BruteForce, Judged, Row

NO_DEFAULTS: dict[str, Any] = dict.fromkeys(DEFAULT_CONSTRAINTS, False)
STUDIES = 40


def random_study(seed: int, draws: int = 0) -> Study:
    """A study of some dozens of designs."""
    pick = random.Random(seed)
    arch = pick.choice(["qwen3-30b-a3b", "mixtral-8x7b", "gpt-oss-20b", "deepseek-v3"])
    large = arch == "deepseek-v3"

    def axis(values: list[int], least: int, most: int) -> list[int]:
        chosen = pick.sample(values, pick.randint(least, most))
        pick.shuffle(chosen)
        return chosen

    constraints = dict(NO_DEFAULTS)
    for name in pick.sample(["top_k", "quality", "memory", "divisibility", "expert_width"], 3):
        constraints[name] = True
    for name, limits in (
        ("total_params", {"at_most": pick.choice(["0.9x", "1.1x", "2x"])}),
        ("active_params", {"at_least": "0.8x", "at_most": pick.choice(["1x", "1.1x"])}),
        ("sd_tpot", {"at_most": pick.choice(["0.95x", "1x", "1.2x"])}),
    ):
        if pick.random() < 0.6:
            constraints[name] = limits
    policy = pick.choice(["iso_active", "iso_active", "iso_total", "fixed", "search"])
    space: dict[str, Any] = {
        "experts": axis([4, 8, 12, 16, 32, 64, 96, 128, 160, 256], 1, 4),
        "top_k": axis([1, 2, 4, 5, 6, 8, 12, 16], 1, 3),
        "shared_experts": axis([0, 1, 2, 4], 1, 2),
        "draft_tokens": axis([0, 1, 2, 3, 5, 8], 1, 3),
        "expert_width": policy,
    }
    if policy == "search":
        space["widths"] = axis([128, 512, 1024], 1, 1)
        space["shared_experts"] = [0]
    if pick.random() < 0.2:
        space["fix"] = ["experts"]
    return make_study(
        reference=arch,
        workload={
            "target_batch_size": pick.choice([1, 32, 200, "8:0.3,32:0.7"]),
            "context": pick.choice([512, 4096]),
        },
        deployment=pick.choice(
            [{"gpus": 8, "expert_parallel": 8}, {"gpus": 8}] if large else [{}, {"gpus": 2}]
        ),
        space=space,
        objectives=pick.choice(
            [
                ["sd_speedup"],
                ["sd_tpot"],
                ["sd_speedup", "total_params"],
                ["sd_tokens_per_s_per_gpu", "loss_difference"],
                ["total_params", "sd_speedup", "sd_tpot"],
            ]
        ),
        constraints=constraints,
        uncertainty={"draws": draws},
    )


def row_of(design: Any) -> Row:
    [row] = design.rows()
    return tuple(row.values())


@cache
def problem_of(seed: int, draws: int = 0) -> Problem:
    return make_problem(random_study(seed, draws))


@cache
def brute_force(seed: int, draws: int = 0) -> BruteForce:
    problem = problem_of(seed, draws)
    names = [each.name for each in front_objectives(problem.objectives)]
    return BruteForce(random_study(seed, draws), names, problem.draws.scenarios)


def enumerated(problem: Problem) -> Enumeration:
    return enumerate_space(problem, front_objectives(problem.objectives))


def check(problem: Problem, found: Enumeration, brute: BruteForce) -> None:
    """Compare everything an enumeration says with brute force."""
    first = problem.objectives[0].name
    feasible = brute.feasible()
    assert found.designs == problem.space.size == len(brute.designs)
    assert found.feasible == len(feasible)
    assert found.excluded == {
        each.name: sum(judged.shortfalls[each.name] > 0 for judged in brute.designs)
        for each in problem.constraints
    }
    assert row_of(problem.reference.designs) == brute.reference
    check_best(problem, found, brute, feasible)
    check_front(problem, found, brute)
    for each in problem.constraints:
        check_without(problem, found, brute, each.name, first)


def check_best(
    problem: Problem, found: Enumeration, brute: BruteForce, feasible: list[Judged]
) -> None:
    best, throughput = found.best.winner(), found.throughput_best.winner()
    if not feasible:
        assert best is None and throughput is None and found.front.designs is None
        nearest = found.nearest.winner()
        least = min(sum(judged.shortfalls.values()) for judged in brute.designs)
        by_row = {judged.row: judged for judged in brute.designs}
        assert nearest is not None
        shortfall = sum(by_row[row_of(nearest)].shortfalls.values())
        assert shortfall == pytest.approx(least, rel=1e-9)
        return
    assert best is not None and throughput is not None
    assert row_of(best) == brute.best(feasible, problem.objectives[0].name).row
    assert row_of(throughput) == brute.best(feasible, "sd_tokens_per_s").row


def check_without(
    problem: Problem, found: Enumeration, brute: BruteForce, name: str, first: str
) -> None:
    """The best of those that violate this constraint and no other."""
    alone = [judged for judged in brute.feasible(lifted=name) if judged.shortfalls[name] > 0]
    champion = found.without.get(name)
    winner = champion.winner() if champion is not None else None
    if not alone:
        assert winner is None
        return
    assert winner is not None
    assert row_of(winner) == brute.best(alone, first).row


def check_front(problem: Problem, found: Enumeration, brute: BruteForce) -> None:
    names = tuple(each.name for each in front_objectives(problem.objectives))
    by_hand = np.array(sorted(brute.front(names))).reshape(-1, len(names))
    merits = found.front.merits.reshape(-1, len(names))
    ours = merits[np.lexsort(merits.T[::-1])]
    assert ours.shape == by_hand.shape
    np.testing.assert_allclose(ours, by_hand, rtol=1e-9)
    if found.front.designs is not None:
        evaluation = problem.evaluate(found.front.designs)
        for column, objective in enumerate(problem.objectives):
            values = merit(objective, evaluation.objectives[objective.name])
            if not problem.draws:
                np.testing.assert_allclose(
                    np.broadcast_to(values, len(merits)), merits[:, column], rtol=1e-12
                )


@pytest.mark.parametrize("seed", range(STUDIES))
def test_enumeration_equals_brute_force(seed: int) -> None:
    problem = problem_of(seed)
    check(problem, enumerated(problem), brute_force(seed))


@pytest.mark.parametrize("seed", range(4))
def test_expected_objectives_equal_brute_force_over_the_draws(seed: int) -> None:
    problem = problem_of(100 + seed, 4)
    assert len(problem.draws) == 4
    found, brute = enumerated(problem), brute_force(100 + seed, 4)
    # The quality constraint looks at its own draws, which brute force does not repeat.
    feasible = brute.feasible()
    if "quality" not in {each.name for each in problem.constraints}:
        assert found.feasible == len(feasible)
        check_best(problem, found, brute, feasible)


def test_the_random_studies_are_of_every_kind() -> None:
    """Else the comparison would prove less than it says."""
    brutes = [brute_force(seed) for seed in range(STUDIES)]
    empty = [not brute.feasible() for brute in brutes]
    assert 2 <= sum(empty) <= STUDIES // 2
    assert any(
        judged.row[1] == judged.row[0] for brute in brutes for judged in brute.designs
    )  # k = N
    assert max(len(brute.designs) for brute in brutes) > 60
    policies = {random_study(seed).space.expert_width for seed in range(STUDIES)}
    assert policies == {"iso_active", "iso_total", "fixed", "search"}


@pytest.mark.parametrize("points", [1, 7, 50])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_answer_does_not_depend_on_the_size_of_chunks(
    seed: int, points: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = problem_of(seed)
    monkeypatch.setattr(enumerate_module, "POINTS_AT_ONCE", points)
    check(problem, enumerated(problem), brute_force(seed))


@pytest.mark.parametrize("seed", range(5))
def test_the_order_in_which_axes_are_written_does_not_matter(seed: int) -> None:
    study = random_study(seed)
    data = study.to_data()
    for axis in ("experts", "top_k", "shared_experts", "draft_tokens"):
        data["space"][axis] = data["space"][axis][::-1] * 2
    again = make_problem(Study.from_data(data))
    check(again, enumerated(again), brute_force(seed))


def test_progress_adds_up_to_the_space() -> None:
    problem = problem_of(0)
    told: list[int] = []
    enumerate_space(problem, front_objectives(problem.objectives), told.append)
    assert sum(told) == problem.space.size


def test_the_default_space_has_22680_designs() -> None:
    # product.md: experts 8-128 by 8, -256 by 16, -512 by 32; top_k 1-16; S 0-4; K 0-8; k <= N.
    pairs = sum(
        min(experts, 16)
        for experts in [*range(8, 129, 8), *range(144, 257, 16), *range(288, 513, 32)]
    )
    assert pairs * 5 * 9 == 22_680
    assert make_problem(make_study()).space.size == 22_680
