"""The best design, and which of equals it is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesign.designs import Designs
from codesign.search.champion import Champion
from codesign.search.problem import Problem
from codesign.study import make_problem
from tests.questions import make_study


@pytest.fixture(scope="module")
def problem() -> Problem:
    return make_problem(make_study(space={"fix": ["experts", "top_k", "shared_experts"]}))


def designs(*rows: tuple[int, int, int, int, int]) -> Designs:
    return Designs.of(*(np.array(column, dtype=np.float64) for column in zip(*rows, strict=True)))


def winner(champion: Champion, problem: Problem) -> tuple[int, ...] | None:
    best = champion.winner(problem)
    return None if best is None else tuple(best.rows()[0].values())


ROWS = [(128, 8, 0, 3, 768), (64, 8, 0, 5, 768), (64, 8, 0, 3, 768), (256, 8, 0, 1, 768)]


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
def test_ties(scores: list[float], best: int, problem: Problem) -> None:
    champion = Champion()
    champion.challenge(designs(*ROWS), np.array(scores), np.ones(4, dtype=bool))
    assert winner(champion, problem) == ROWS[best]


def test_only_the_eligible_compete(problem: Problem) -> None:
    champion = Champion()
    champion.challenge(designs(*ROWS), np.array([1.0, 9.0, 2.0, 9.0]), np.array([1, 0, 1, 0]) > 0)
    assert winner(champion, problem) == ROWS[2]


def test_without_eligible_designs_there_is_no_winner(problem: Problem) -> None:
    champion = Champion()
    champion.challenge(designs(*ROWS), np.full(4, np.nan), np.zeros(4, dtype=bool))
    assert champion.winner(problem) is None


@given(
    scores=st.lists(st.sampled_from([1.0, 1.0 + 4e-10, 1.0 + 2e-9, 2.0]), min_size=4, max_size=4),
    order=st.permutations(range(4)),
    cut=st.integers(0, 4),
)
def test_neither_order_nor_parts_matter(
    problem: Problem, scores: list[float], order: list[int], cut: int
) -> None:
    whole, parts = Champion(), Champion()
    whole.challenge(designs(*ROWS), np.array(scores), np.ones(4, dtype=bool))
    for places in (order[:cut], order[cut:]):
        if places:
            part = Champion()
            chosen = designs(*(ROWS[place] for place in places))
            part.challenge(chosen, np.array(scores)[list(places)], np.ones(len(places), dtype=bool))
            parts.merge(part)
    assert winner(parts, problem) == winner(whole, problem)
