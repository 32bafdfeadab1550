"""From times to speedup, break-even and cost."""

import numpy as np
import pytest

from codesign.model.speedup import break_even_acceptance, cost_per_million_tokens, cycle_ratio


def test_cycle_ratio_by_hand() -> None:
    assert float(cycle_ratio(2.0, 11.0, 0.5, 9.0, 3)) == pytest.approx(1.5)


def test_without_drafts_the_cycle_is_the_step_whatever_the_overhead() -> None:
    ratios = cycle_ratio(np.array([5.0, 5.0]), 11.0, 0.5, 9.0, np.array([0, 1]))
    assert ratios[0] == 1.0  # exactly: SD is off
    assert ratios[1] > 1.0


@pytest.mark.parametrize(
    ("ratio", "drafted", "needed"),
    [
        (35 / 21, 1, 0.667),  # Case A21 (atlas#346)
        (1699 / 281, 5, 1.009),  # Case A21 (PocketLLM#59): above 1, never
        (817 / 281, 5, 0.381),  # the same after batching experts; reported 37.6 %
        (1.0, 4, 0.0),
        (7.0, 0, 0.0),
    ],
)
def test_break_even_acceptance(ratio: float, drafted: int, needed: float) -> None:
    assert float(break_even_acceptance(ratio, drafted)) == pytest.approx(needed, abs=5e-4)


def test_a_case_that_pays() -> None:
    # Case A21: 61.3 % accepted of K = 5 at a cycle ratio of 817/281: 4.07 / 2.91 = 1.40x.
    accepted = 1 + 5 * 0.613
    assert accepted / float(cycle_ratio(0.0, 817.0, 0.0, 281.0, 5)) == pytest.approx(1.40, abs=0.01)


def test_cost_by_hand() -> None:
    # 3.60 USD per hour is 0.001 per second; at 1,000 tokens per second a million cost 1 USD.
    assert float(cost_per_million_tokens(3.6, 1000.0)) == pytest.approx(1.0)
    assert float(cost_per_million_tokens(3.6, 4000.0)) == pytest.approx(0.25)
