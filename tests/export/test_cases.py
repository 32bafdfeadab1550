"""Draft lengths that people measured by load (cases A07 and E07 of ../shared/cases)."""

from pathlib import Path

import pytest

from codesign.export import Served
from codesign.export.engines import vllm
from codesign.export.schedule import Schedule, best_lengths
from codesign.regimes import pays_no_more_from
from tests.export.serving import served

SPARK = """\
name: dgx-spark
title: NVIDIA DGX Spark
peak_compute:
  bf16: {value: 125 TFLOP/s, source: the datasheet's 1 PFLOP/s in sparse fp4 over 8}
  fp4: {value: 500 TFLOP/s, source: the datasheet's 1 PFLOP/s in sparse fp4 over 2}
memory: {value: 128 GB, source: the datasheet}
memory_bandwidth: {value: 273 GB/s, source: the datasheet}
"""

MEASURED = {
    4: "positions:0.844,0.599,0.385,0.271",
    2: "positions:0.766,0.545",
}
"""Survival at the K it was measured with; they disagree at position 1 by chance or by prompts."""


def gemma(tmp_path: Path, acceptance: str) -> Served:
    (tmp_path / "spark.yaml").write_text(SPARK)
    return served(
        "gemma-4-26b-a4b",
        hardware=str(tmp_path / "spark.yaml"),
        workload={"target_batch_size": 8, "context": 2048},
        deployment={"gpus": 1, "dtype": "nvfp4"},
        draft="mtp",
        acceptance=acceptance,
        space={"draft_tokens": "0:4"},
    )


@pytest.mark.parametrize("acceptance", MEASURED.values())
def test_case_a07_gemma_on_a_spark(tmp_path: Path, acceptance: str) -> None:
    """K = 4 and 2 tie alone; at eight requests 2 wins by 1.45."""
    schedule = best_lengths(gemma(tmp_path, acceptance), 8).schedule
    assert schedule.draft_tokens(1) in (1, 2, 3, 4)
    assert schedule.draft_tokens(8) <= 2


def test_case_e07_the_recommendation_depends_on_the_context() -> None:
    """A dense 8B model under heavy load: SD stops paying at short contexts, not at long ones."""
    poor = {"acceptance": "constant:0.4", "space": {"draft_tokens": "0:4"}}
    lengths = []
    for context in (128, 16384):
        workload = {"target_batch_size": 256, "context": context}
        model = served("llama-3.1-8b", workload=workload, **poor)
        lengths.append(best_lengths(model, 256).schedule.draft_tokens(256))
    assert lengths[0] < lengths[1]


def test_case_e07_where_it_stops_paying_is_named() -> None:
    poor = served(
        "llama-3.1-8b",
        workload={"target_batch_size": 8, "context": 128},
        acceptance="constant:0.3",
        space={"draft_tokens": "0:4"},
    )
    schedule = best_lengths(poor, 512).schedule
    [first] = [first for first, _, drafted in schedule.ranges if drafted == 0]
    assert any(f"{first} to 512" in remark for remark in vllm(poor, schedule).remarks)
    single = poor.designs.take(1)
    stops = pays_no_more_from(single, poor.scenario)
    assert stops is not None
    assert stops <= first <= 1.5 * stops


def test_a_schedule_says_at_which_loads_the_draft_is_off() -> None:
    remarks = vllm(served(), Schedule(((1, 3, 3), (4, 64, 0)))).remarks
    assert "speculative decoding does not pay at batch sizes 4 to 64" in remarks
