"""Decision figures against independent computations on a small space."""

import itertools
from functools import cache
from typing import Any

import numpy as np
import pytest

from codesign.designs import Designs
from codesign.prediction import predict
from codesign.result import Result
from codesign.search.elasticity import elasticities
from codesign.search.problem import Problem
from codesign.search.variance import AxisVariance
from codesign.spec.study import Study
from codesign.study import make_problem, optimize

SMALL: dict[str, Any] = {
    "hardware": "h100",
    "workload": {"target_batch_size": 32},
    "space": {
        "experts": "64:256:32",
        "top_k": "4:12:2",
        "shared_experts": "0:1",
        "draft_tokens": "3:6",
    },
    "constraints": {"quality": {"epsilon": 0.03}},
    "search": {"engine": "exact"},
}


def study(**fields: Any) -> Study:
    return Study.from_data(SMALL | fields)


@cache
def small_result() -> Result:
    return optimize(study())


@cache
def small_problem() -> Problem:
    return make_problem(study())


def feasible_designs(problem: Problem) -> list[Designs]:
    """Every feasible design, one at a time."""
    found = []
    axes = problem.space.axes
    for values in itertools.product(*axes.values()):
        row = dict(zip(axes, (np.array([float(v)]) for v in values), strict=True))
        if row["top_k"] <= row["experts"]:
            design = problem.space.designs(**row)
            if problem.evaluate(design).violated.sum() == 0:
                found.append(design)
    return found


def mean_speedup(problem: Problem, design: Designs) -> float:
    """The expectation, draw by draw, without the search's own sampling."""
    each = [predict(design, s).value("sd_speedup").item() for s in problem.draws.scenarios]
    return float(np.mean(each))


def test_the_best_maximises_the_expectation_over_draws() -> None:
    problem = small_problem()
    means = [mean_speedup(problem, design) for design in feasible_designs(problem)]
    assert len(means) == small_result().certificate.feasible
    assert small_result().best["objectives"]["sd_speedup"] == pytest.approx(max(means), rel=1e-9)


def test_plateau_counts_the_designs_within_one_per_cent() -> None:
    problem, result = small_problem(), small_result()
    means = np.array([mean_speedup(problem, design) for design in feasible_designs(problem)])
    assert result.plateau is not None
    assert result.plateau["designs"] == int((means >= 0.99 * means.max()).sum())


def test_stability_counts_the_draws_each_design_wins() -> None:
    problem, result = small_problem(), small_result()
    designs = feasible_designs(problem)
    table = np.array(
        [
            [predict(d, s).value("sd_speedup").item() for d in designs]
            for s in problem.draws.scenarios
        ]
    )
    winners = table.argmax(axis=1)
    best = next(i for i, d in enumerate(designs) if d.rows()[0] == result.best["design"])
    assert result.stability is not None
    assert result.stability["best_is_optimal"] == pytest.approx((winners == best).mean())


def test_no_draws_gives_the_values_in_use_exactly() -> None:
    result = optimize(study(uncertainty={"draws": 0}))
    prediction = result.best["prediction"]
    assert result.best["objectives"]["sd_speedup"] == pytest.approx(
        prediction["sd_speedup"], rel=1e-14
    )
    assert result.interval is None and result.stability is None
    assert result.value_of_information is None
    assert "point estimate" in result.verdict["text"]


def test_the_verdict_is_paired() -> None:
    problem, result = small_problem(), small_result()
    row = result.best["design"]
    best = Designs.of(
        row["experts"], row["top_k"], row["shared_experts"], row["draft_tokens"],
        row["expert_width"],
    )  # fmt: skip
    gains = [
        predict(best, s).value("sd_speedup").item()
        / predict(problem.reference.designs, s).value("sd_speedup").item()
        - 1
        for s in problem.draws.scenarios
    ]
    assert result.verdict["gain"] == pytest.approx(np.median(gains))
    assert result.verdict["interval"] == pytest.approx(list(np.quantile(gains, [0.05, 0.95])))
    # Common random numbers: the gain is far better known than either speedup.
    assert result.interval is not None
    low, high = result.interval["best"]
    assert result.verdict["interval"][1] - result.verdict["interval"][0] < 0.2 * (high - low)


def test_shadow_price_is_what_a_loosened_limit_gains() -> None:
    tight = study(constraints={"quality": {"epsilon": 0.012}})
    loose = study(constraints={"quality": {"epsilon": 0.017}})
    result = optimize(tight)
    assert result.shadow_prices is not None
    price = next(row for row in result.shadow_prices if row["constraint"] == "quality")
    assert price["step"] == 0.005
    best = optimize(loose).best["objectives"]["sd_speedup"]
    assert price["objective"] == pytest.approx(best, rel=1e-12)


def test_acceptance_elasticity_has_a_closed_form() -> None:
    # sd_speedup is AL / R and R knows nothing of acceptance: d ln AL / d ln a = sum i S_i / AL.
    problem = small_problem()
    design = problem.reference.designs
    lengths = int(design.draft_tokens.item())
    survival = problem.scenario.survival[:lengths]
    expected = (survival * np.arange(1, lengths + 1)).sum() / (1 + survival.sum())
    own = elasticities(design, problem.scenario, problem.objectives[0])
    assert own["acceptance"] == pytest.approx(expected, rel=1e-3)


def test_sd_overhead_costs_and_draws_say_so() -> None:
    problem = small_problem()
    own = elasticities(problem.reference.designs, problem.scenario, problem.objectives[0])
    cycle = problem.reference.value("cycle_ratio").item()
    decode = problem.reference.value("step_time_decode_s").item()
    # R = ... + overhead / decode: d ln(1/R) / d ln overhead = -overhead / (decode R).
    assert own["sd_overhead"] == pytest.approx(-0.5e-3 / decode / cycle, rel=1e-3)


def test_information_that_cannot_change_the_choice_is_worth_nothing() -> None:
    one = study(space=SMALL["space"] | {"draft_tokens": 5}, constraints={
        "total_params": {"at_most": "1x"}, "quality": {"epsilon": 0.0001}})  # fmt: skip
    result = optimize(one)
    assert result.certificate.feasible
    rows = result.value_of_information
    assert rows is not None
    if result.certificate.feasible == 1:
        assert all(row["value"] == pytest.approx(0, abs=1e-12) for row in rows)


def brute_indices(values: np.ndarray, valid: np.ndarray) -> list[tuple[float, float]]:
    """First-order and total indices by grouping the list of valid points."""
    points = np.argwhere(valid)
    y = values[valid]
    rows = []
    for axis in range(values.ndim):
        own = points[:, axis]
        others = [tuple(np.delete(point, axis)) for point in points]
        rows.append((_between(y, list(own)) / y.var(), 1 - _between(y, others) / y.var()))
    return rows


def _between(y: np.ndarray, keys: list[Any]) -> float:
    groups: dict[Any, list[float]] = {}
    for key, value in zip(keys, y, strict=True):
        groups.setdefault(key, []).append(float(value))
    means = {key: np.mean(group) for key, group in groups.items()}
    return float(np.var([means[key] for key in keys]))


@pytest.mark.parametrize("step", [1, 2, 5])
def test_axis_indices_equal_brute_force_however_the_space_is_cut(step: int) -> None:
    rng = np.random.default_rng(7)
    values = rng.normal(size=(5, 4, 3, 2)) + np.arange(5)[:, None, None, None]
    valid = rng.random((5, 4, 3, 2)) > 0.2
    whole = AxisVariance()
    for start in range(0, 5, step):
        part = AxisVariance()
        part.add(values[start : start + step], valid[start : start + step])
        whole.merge(part)
    for own, expected in zip(whole.indices(), brute_indices(values, valid), strict=True):
        assert own == pytest.approx(expected, abs=1e-12)


def test_indices_of_an_additive_function_are_its_variance_shares() -> None:
    # y = a + 2 b on a full grid: Sobol's own textbook case.
    a, b = np.arange(4.0)[:, None], np.arange(4.0)[None, :]
    variance = AxisVariance()
    variance.add(a + 2 * b, np.ones((4, 4), dtype=bool))
    assert variance.indices() == [pytest.approx((0.2, 0.2)), pytest.approx((0.8, 0.8))]
