"""What a time means: counters win, medians are never divided, a run counts once."""

import pytest

from codesign.calibration.latency_points import LatencyPoint, settle
from codesign.calibration.observation import Observation, SpeculationCounters, Timing
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.repeated_runs import distinct
from codesign.errors import DataError


def observed(**fields: object) -> tuple[LatencyPoint, tuple[str, ...]]:
    observation = Observation(source="f", title="made", **fields)  # type: ignore[arg-type]
    return settle(observation, CalibrationOptions())


COUNTERS = SpeculationCounters(drafts=1000.0, drafted=3000.0, accepted=1730.0)


def test_counters_win_over_the_ratio_of_gaps() -> None:
    point, notes = observed(
        counters=COUNTERS, per_token=Timing(mean=8e-3), per_chunk=Timing(mean=40e-3)
    )
    assert point.acceptance_length == pytest.approx(2.73)
    assert point.seconds == pytest.approx(2.73 * 8e-3)
    assert any("disagree" in note and "win" in note for note in notes)


@pytest.mark.parametrize(("apart", "warned"), [(1.10, False), (0.90, False), (1.16, True)])
def test_a_warning_is_due_beyond_fifteen_percent(apart: float, warned: bool) -> None:
    _, notes = observed(
        counters=COUNTERS,
        per_token=Timing(mean=8e-3),
        per_chunk=Timing(mean=apart * 2.73 * 8e-3),
    )
    assert bool(notes) == warned


def test_medians_are_not_divided() -> None:
    point, _ = observed(per_token=Timing(median=37.18e-3), per_chunk=Timing(median=22.40e-3))
    assert point.meaning == "per token"
    assert point.acceptance_length is None


def test_means_give_the_length_where_nothing_else_does() -> None:
    point, _ = observed(
        per_token=Timing(mean=10e-3, median=1e-3), per_chunk=Timing(mean=27e-3, median=99e-3)
    )
    assert point.acceptance_length == pytest.approx(2.7)
    assert point.seconds == pytest.approx(27e-3)
    assert point.median_seconds == pytest.approx(99e-3)  # a cross-check, not more


def test_k_follows_from_the_counters_only_where_it_is_a_number() -> None:
    point, _ = observed(counters=COUNTERS, per_token=Timing(mean=8e-3))
    assert point.draft_tokens == 3
    varying = SpeculationCounters(drafts=87, drafted=230, accepted=167)
    point, _ = observed(counters=varying, per_token=Timing(mean=8e-3))
    assert point.draft_tokens is None
    assert point.acceptance_length == pytest.approx(2.9195, rel=1e-4)


def test_no_time_at_all_is_an_error() -> None:
    with pytest.raises(DataError, match="without any latency"):
        observed()


def test_options_fill_gaps_and_never_override() -> None:
    observation = Observation(
        source="f", title="made", batch_size=8.0, step=Timing(mean=1e-2), scope="step"
    )
    options = CalibrationOptions(batch_size=64, draft_tokens=3, context=100)
    point, _ = settle(observation, options)
    assert (point.batch_size, point.draft_tokens, point.context) == (8, 3, 100)


def point(source: str, seconds: float) -> LatencyPoint:
    return LatencyPoint(source, "step", seconds, batch_size=1.0, draft_tokens=0.0, context=1.0)


def test_a_run_in_two_files_counts_once_and_repeats_in_one_file_stay() -> None:
    joined, warnings = distinct([[point("a", 1.0), point("a, row 2", 1.0)], [point("b", 1.0)]])
    assert [p.source for p in joined] == ["a", "a, row 2"]
    assert len(warnings) == 1
    assert "b: the same run as a" in warnings[0]
