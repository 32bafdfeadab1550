"""Studies and scenarios that tests ask about, built from as few fields as they need."""

from functools import cache
from typing import Any

from codesign.resolve import build_scenario
from codesign.scenario import Scenario
from codesign.spec.study import Study


def make_study(**fields: Any) -> Study:
    """Return a study: an H100 at batch size 32, values in use only, and what `fields` change."""
    data: dict[str, Any] = {
        "hardware": "h100",
        "workload": {"target_batch_size": 32},
        "uncertainty": {"draws": 0},
    }
    return Study.from_data(data | fields)


def make_scenario(**fields: Any) -> Scenario:
    """Return the scenario of `make_study`."""
    return build_scenario(make_study(**fields))


@cache
def scenario_of(
    arch: str = "qwen3-30b-a3b",
    *,
    hardware: str = "h100",
    context: int = 4096,
    gpus: int | None = None,
    tensor_parallel: int | None = None,
    expert_parallel: int = 1,
    attention_dp: bool = False,
    dtype: str | None = None,
    draft: str = "eagle",
    longest: int = 8,
) -> Scenario:
    """Return a scenario of a bundled architecture; use `Scenario.at` for batch sizes."""
    deployment = {
        "gpus": gpus,
        "tensor_parallel": tensor_parallel,
        "expert_parallel": expert_parallel,
        "attention_dp": attention_dp,
        "dtype": dtype,
    }
    study = make_study(
        reference=arch,
        hardware=hardware,
        workload={"target_batch_size": 1, "context": context},
        deployment={name: value for name, value in deployment.items() if value is not None},
        draft=draft,
        space={"draft_tokens": [0, longest]},
    )
    return build_scenario(study)
