"""Prediction-draws per second: every design of a mesh under every draw."""

from typing import Any

import pytest

from codesign.search.problem import Problem, sample_objectives
from codesign.spec.study import Study
from codesign.study import make_problem

CASES = {
    "64 draws, the default grid": (64, {}),
    "256 draws, 1e5 designs": (
        256,
        {"experts": "8:512:8", "top_k": "1:20", "shared_experts": "0:7"},
    ),
}


def problem_of(draws: int, space: dict[str, str]) -> Problem:
    data: dict[str, Any] = {
        "hardware": "h100",
        "workload": {"target_batch_size": 32},
        "space": space,
        "uncertainty": {"draws": draws},
    }
    return make_problem(Study.from_data(data))


@pytest.mark.parametrize("name", CASES)
def bench_prediction_draws(benchmark: Any, name: str) -> None:
    # Among the tests, where nothing is measured, a small case shows that the benchmark still runs.
    draws, space = (2, {"experts": "64", "top_k": "8"}) if benchmark.disabled else CASES[name]
    problem = problem_of(draws, space)
    designs, valid = problem.space.mesh()
    # One piece of draws at a time bounds the memory; tables of the routers are made on the way.
    benchmark.pedantic(
        sample_objectives, (designs, problem.objectives, problem.draws), rounds=3, warmup_rounds=0
    )
    count = int(valid.sum() + (~valid).sum()) * draws
    benchmark.extra_info["prediction_draws"] = count
    if benchmark.stats is not None:
        benchmark.extra_info["million_per_second"] = count / benchmark.stats["min"] / 1e6
