"""The best design, and which of equals it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesign.designs import Designs
from codesign.search.champion import Champion

Row = tuple[int, int, int, int, int]
ROWS: list[Row] = [
    (128, 8, 0, 3, 768),
    (64, 8, 0, 5, 768),
    (64, 8, 0, 3, 768),
    (256, 8, 0, 1, 768),
]


def designs(*rows: Row) -> Designs:
    return Designs.of(*(np.array(column, dtype=np.float64) for column in zip(*rows, strict=True)))


def champion(*competing: tuple[Row, float]) -> Champion:
    """Of designs with scores; more experts are more parameters."""
    found = Champion()
    if competing:
        listed = designs(*(row for row, _ in competing))
        scores = np.array([score for _, score in competing])
        found.challenge(listed, scores, np.ones(len(scores), dtype=bool), listed.experts * 1e8)
    return found


def winner(found: Champion) -> tuple[int, ...] | None:
    best = found.winner()
    return None if best is None else tuple(best.rows()[0].values())


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        ([1.0, 2.0, 1.5, 0.0], 1),  # the highest score
        ([2.0, 2.0, 2.0, 0.0], 2),  # of equals: fewer draft tokens, then fewer parameters
        ([2.0, 2.0, 2.0, 2.0], 3),  # fewer draft tokens before fewer parameters
        ([2.0, 2.0 * (1 + 5e-10), 1.0, 1.0], 0),  # a difference of 5e-10 is a tie
        ([2.0, 2.0 * (1 + 5e-9), 1.0, 1.0], 1),  # one of 5e-9 is none
        ([-2.0, -1.0, -1.0, -3.0], 2),  # negative merits, of objectives to be minimised
        ([0.0, 0.0, 0.0, -1.0], 2),
    ],
)
def test_ties(scores: list[float], best: int) -> None:
    assert winner(champion(*zip(ROWS, scores, strict=True))) == ROWS[best]


def test_only_the_eligible_compete() -> None:
    found, eligible = Champion(), np.array([True, False, True, False])
    found.challenge(designs(*ROWS), np.array([1.0, 9.0, 2.0, 9.0]), eligible, 1.0)
    assert winner(found) == ROWS[2]


def test_without_eligible_designs_there_is_no_winner() -> None:
    found = Champion()
    found.challenge(designs(*ROWS), np.full(4, np.nan), np.zeros(4, dtype=bool), 1.0)
    assert found.winner() is None


@given(
    scores=st.lists(
        st.sampled_from([1.0, 1.0 + 4e-10, 1.0 + 8e-10, 1.0 + 2e-9, 2.0]), min_size=4, max_size=4
    ),
    order=st.permutations(range(4)),
    cuts=st.tuples(st.integers(0, 4), st.integers(0, 4)),
)
def test_neither_order_nor_parts_matter(
    scores: list[float], order: list[int], cuts: tuple[int, int]
) -> None:
    competing = list(zip(ROWS, scores, strict=True))
    low, high = sorted(cuts)
    parts = Champion()
    for places in (order[:low], order[low:high], order[high:]):
        parts.merge(champion(*(competing[place] for place in places)))
    level = max(scores) * (1 - 1e-9)
    preferred = min((row[3], row[0], row) for row, score in competing if score >= level)
    assert winner(parts) == winner(champion(*competing)) == preferred[2]


def test_a_plateau_keeps_one_design_not_all() -> None:
    """No design is in time, say: goodput is 0 everywhere."""
    found, rng = Champion(), np.random.default_rng(0)
    for _ in range(20):
        experts, lengths = rng.integers(8, 512, (2, 1000)).astype(np.float64)
        listed = Designs.of(experts, 8, 0, lengths, np.full(1000, 768.0))
        found.challenge(listed, np.zeros(1000), np.ones(1000, dtype=bool), experts)
    assert found.tied is not None and found.tied.shape == (1,)
