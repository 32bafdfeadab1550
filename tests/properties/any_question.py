"""Random questions about the whole space: any architecture, device, deployment, load and design.

`CODESIGN_EXAMPLES=20` multiplies the examples of every test that uses `examples`.
"""

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from codesign.architectures import list_architectures
from codesign.designs import Designs
from codesign.hardware import list_hardware
from codesign.model.arrays import FloatArray
from codesign.prediction import FIGURES, Prediction, predict
from codesign.resolve import build_scenario
from codesign.scenario import Scenario
from codesign.spec.precision import DTYPES
from codesign.spec.study import Study

FACTOR = int(os.environ.get("CODESIGN_EXAMPLES", "1"))
LONGEST = 64

Sizes = tuple[int, int, int, int, int]
"""Experts, top_k, shared experts, draft tokens, expert width."""


def examples(count: int) -> settings:
    """Settings of a test with so many examples, times CODESIGN_EXAMPLES."""
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(max_examples=count * FACTOR, deadline=None, suppress_health_check=slow)


@dataclass(frozen=True)
class Question:
    """A design at a batch size in a scenario."""

    scenario: Scenario
    sizes: Sizes
    batch: int

    def ask(self, scenario: Scenario | None = None, **changes: Any) -> Prediction:
        """Predict it, with some of its numbers changed; arrays ask for several at once."""
        names = ("experts", "top_k", "shared_experts", "draft_tokens", "expert_width")
        own: dict[str, Any] = dict(zip(names, self.sizes, strict=True))
        batch = changes.pop("batch", self.batch)
        asked = (scenario or self.scenario).at(tuple(np.atleast_1d(batch)))
        return predict(Designs.of(**(own | changes)), asked)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """What Hypothesis shows of a failing example."""
        printer.text(f"{in_a_line(self.scenario)}, {self.sizes} at {self.batch}")


def in_a_line(scenario: Scenario) -> str:
    """What a scenario is, for messages."""
    replica, draft = scenario.replica, scenario.drafting.draft
    return (
        f"{scenario.reference.name} on {replica.gpus} {replica.hardware.name} (tp "
        f"{replica.tensor_parallel}, ep {replica.expert_parallel}), context {scenario.context}, "
        f"draft {draft.kind}{',parallel' * draft.parallel}"
    )


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Any scenario that can be asked for by flags."""
    gpus = draw(st.sampled_from([1, 1, 2, 3, 8, 16, 64, 1024]))
    degrees = st.sampled_from([each for each in (1, 2, 3, 8, 64, 1024) if gpus % each == 0])
    deployment: dict[str, Any] = {
        "gpus": gpus,
        "expert_parallel": draw(degrees),
        "backend": draw(st.sampled_from(["vllm", "sglang", "trtllm"])),
        "cuda_graphs": draw(st.booleans()),
        "host_time": draw(st.sampled_from(["0 s", "0.3 ms"])),
        "sd_overhead": draw(st.sampled_from(["0 s", "0.5 ms"])),
        "price": "2 USD/h",
    }
    how = draw(st.sampled_from(["tensor", "data", "mixed"]))
    if how == "data":
        deployment["attention_dp"] = True
    if how == "mixed":
        deployment["tensor_parallel"] = draw(degrees)
    if draw(st.booleans()):
        deployment["dtype"] = draw(st.sampled_from(DTYPES))
    context = draw(st.sampled_from([0, 1, 100, 4096, 131_072, 10_000_000]))
    data = {
        "reference": draw(st.sampled_from(list_architectures())),
        "hardware": draw(st.sampled_from(list_hardware())),
        "workload": {"target_batch_size": 1, "context": context, "tpot_limit": "20 ms"},
        "deployment": deployment,
        "routing": draw(st.sampled_from(["own", "generic", "independent", "uniform"])),
        "draft": draw(
            st.sampled_from(
                ["eagle", "mtp", "fraction:0.05", "eagle,parallel", "mtp,parallel",
                 "model:qwen3-0.6b", "model:deepseek-v2-lite", "model:9e8,parallel"]
            )
        ),
        "acceptance": draw(
            st.sampled_from(
                ["constant:0.8", "decay:.7645,.965", "positions:.8,.6,.4", "constant:1",
                 "constant:0", "positions:1,1,0"]
            )
        ),
        "space": {"draft_tokens": [0, LONGEST]},
        "uncertainty": {"draws": 0},
    }  # fmt: skip
    return build_scenario(Study.from_data(data))


@st.composite
def sizes(draw: st.DrawFn) -> Sizes:
    """Any design of a Mixture-of-Experts model."""
    experts = draw(st.sampled_from([1, 2, 3, 4, 8, 60, 128, 511, 4096, 5000]))
    top_k = draw(st.sampled_from([1, 2, 8, 16, experts - 1, experts]))
    return (
        experts,
        min(max(top_k, 1), experts),
        draw(st.sampled_from([0, 1, 4, 64])),
        draw(st.sampled_from([0, 1, 3, 8, LONGEST])),
        draw(st.sampled_from([1, 64, 768, 1407, 65_536])),
    )


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Any design in any scenario; a dense model has its own only."""
    scenario = draw(scenarios())
    chosen = draw(sizes())
    if scenario.reference.moe is None:
        chosen = (1, 1, 0, chosen[3], 1)
    batch = draw(st.sampled_from([1, 2, 7, 33, 256, 4097, 65_536]))
    return Question(scenario, chosen, batch)


def asked_for(scenario: Scenario) -> list[str]:
    """Figures that a scenario has the facts for."""
    lacking = {"energy_per_token_j"} if scenario.replica.hardware.power is None else set()
    return [name for name in FIGURES if name not in lacking]


def numbers(found: Prediction) -> dict[str, FloatArray]:
    """Every figure, over batch sizes and designs."""
    shape = (len(found.scenario.batch_sizes), *found.designs.shape)
    return {
        name: np.broadcast_to(getattr(found, name), shape) for name in asked_for(found.scenario)
    }
