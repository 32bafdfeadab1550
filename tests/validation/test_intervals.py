"""Intervals: right coverage on made-up residuals, sharper where the spread is known."""

import numpy as np
import pytest

from codesign.validation.intervals import HeldOut, score_intervals


def cells(known: bool, groups: int = 40, each: int = 5) -> list[HeldOut]:
    rng = np.random.default_rng(0)
    found = []
    for group in range(groups):
        spread = 0.05 if group % 2 else 0.4
        for _ in range(each):
            reported = float(np.exp(spread * rng.standard_normal()))
            found.append(HeldOut(f"g{group}", 1.0, reported, spread if known else 0.0))
    return found


def test_ninety_per_cent_are_covered_whatever_the_model_leaves_out() -> None:
    for known in (False, True):
        score = score_intervals("made up", cells(known))
        assert score is not None
        assert score.coverage == pytest.approx(0.9, abs=0.05)
        assert (score.cells, score.groups) == (200, 40)


def test_known_spreads_beat_one_constant_error() -> None:
    score = score_intervals("made up", cells(known=True))
    assert score is not None
    assert score.pinball < 0.9 * score.constant_pinball
    blind = score_intervals("made up", cells(known=False))
    assert blind is not None
    assert blind.pinball == pytest.approx(blind.constant_pinball)


def test_a_group_does_not_set_its_own_width() -> None:
    usual = [HeldOut(f"g{i}", 1.0, 1.05) for i in range(10)]
    score = score_intervals("made up", [*usual, HeldOut("odd", 1.0, 3.0)])
    assert score is not None
    assert score.coverage == pytest.approx(10 / 11)


def test_two_groups_say_nothing() -> None:
    assert score_intervals("few", [HeldOut("a", 1, 1.1), HeldOut("b", 1, 1.2)]) is None
