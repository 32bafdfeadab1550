"""Draft length by batch size: its rules, and what the model chooses."""

import json

import numpy as np
import pytest

from codesign.errors import UsageError
from codesign.export.schedule import Schedule, batch_sizes, best_lengths
from codesign.prediction import predict
from tests.export.serving import served
from tests.shared_data import SHARED, needs_shared


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ([], "starts at batch size 1"),
        ([(2, 4, 5)], "starts at batch size 1"),
        ([(1, 8, 5), (8, 32, 3)], "overlap"),
        ([(1, 8, 5), (40, 32, 3)], "empty"),
        ([(1, 8, -1)], "less than nothing"),
    ],
)
def test_what_vllm_would_refuse_is_refused(
    ranges: list[tuple[int, int, int]], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        Schedule(tuple(ranges))


def test_gaps_and_the_end_inherit_the_length_before() -> None:
    schedule = Schedule(((1, 4, 5), (8, 32, 3)))
    assert [schedule.draft_tokens(size) for size in (1, 6, 8, 999)] == [5, 5, 3, 3]


@needs_shared
def test_case_e03() -> None:
    """The tables made to exercise vLLM's rules."""
    tables = json.loads((SHARED / "cases/files/e03_dynamic_sd_tables.json").read_text())
    for name, ranges in tables.items():
        if name.startswith("bad"):
            with pytest.raises(UsageError):
                Schedule(tuple(map(tuple, ranges)))
        elif name != "source":
            schedule = Schedule(tuple(map(tuple, ranges)))
            assert schedule.draft_tokens(6) == (5 if name.startswith("gap") else 3)


def test_every_batch_size_has_one_length() -> None:
    found = best_lengths(served(), 100)
    ranges = found.schedule.ranges
    covered = [size for first, last, _ in ranges for size in range(first, last + 1)]
    assert covered == list(range(1, 101))
    own = [found.schedule.draft_tokens(size) for size in found.batch_sizes]
    assert tuple(own) == found.draft_tokens


def test_the_length_is_the_best_or_within_half_a_per_cent() -> None:
    model = served()
    found = best_lengths(model, 256)
    speedups = predict(model.designs, model.scenario.at(found.batch_sizes)).sd_speedup
    assert np.all(found.speedups >= speedups.max(axis=1) * 0.995)


def test_an_moe_model_may_draft_more_at_a_larger_batch() -> None:
    """From batch size 1 to a moderate one verification gets cheaper (case E03)."""
    schedule = best_lengths(served()).schedule
    assert schedule.rising
    assert schedule.draft_tokens(1) < schedule.longest


@pytest.mark.parametrize("reference", ["llama-3.1-8b", "qwen3-8b"])
def test_a_dense_model_never_drafts_more_at_a_larger_batch(reference: str) -> None:
    schedule = best_lengths(served(reference)).schedule
    lengths = [drafted for _, _, drafted in schedule.ranges]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] < lengths[0]


def test_the_recommendation_depends_on_the_context() -> None:
    """Case E07: long contexts make verification cheap, so that SD pays at larger batch sizes."""
    workload = {"target_batch_size": 128}
    short, long = (
        best_lengths(served("llama-3.1-8b", workload=workload | {"context": context}), 128)
        for context in (128, 16384)
    )
    assert short.schedule.draft_tokens(128) < long.schedule.draft_tokens(128)


def test_a_poor_draft_is_not_used_at_all() -> None:
    schedule = best_lengths(served(acceptance="constant:0.05")).schedule
    assert schedule.longest == 0


def test_draws_are_averaged() -> None:
    certain = best_lengths(served(), 16)
    drawn = best_lengths(served(uncertainty={"draws": 4}), 16)
    assert not np.allclose(certain.speedups, drawn.speedups)


def test_batch_sizes_end_where_asked() -> None:
    assert batch_sizes(1) == (1,)
    assert batch_sizes(100)[-1] == 100
