"""Exact Pareto fronts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesign.designs import Designs
from codesign.search.pareto import Front, nondominated

coordinates = st.integers(0, 6).map(float)
points = st.integers(1, 3).flatmap(
    lambda columns: st.lists(
        st.lists(coordinates, min_size=columns, max_size=columns), min_size=1, max_size=40
    )
)


def beaten(point: list[float], others: list[list[float]]) -> bool:
    """By the definition: no worse anywhere, better somewhere."""
    return any(
        all(a >= b for a, b in zip(other, point, strict=True)) and other != point
        for other in others
    )


@given(merits=points)
def test_a_point_is_kept_if_no_other_beats_it(merits: list[list[float]]) -> None:
    kept = nondominated(np.array(merits))
    chosen = [point for point, keep in zip(merits, kept, strict=True) if keep]
    expected = {tuple(point) for point in merits if not beaten(point, merits)}
    assert {tuple(point) for point in chosen} == expected
    assert len(chosen) == len(expected)  # of equal ones the first alone


@given(merits=points, data=st.data())
def test_a_front_gathered_in_parts_is_that_of_the_whole(
    merits: list[list[float]], data: st.DataObject
) -> None:
    designs = Designs.of(np.arange(1.0, len(merits) + 1), 1, 0, 0, 1)
    whole, parts = Front(), Front()
    whole.add(designs, np.array(merits))
    cut = data.draw(st.integers(0, len(merits)))
    for places in (np.arange(cut), np.arange(cut, len(merits))):
        parts.add(designs.take(places), np.array(merits).reshape(len(merits), -1)[places])
    assert whole.designs is not None and parts.designs is not None
    assert whole.designs.rows() == parts.designs.rows()
    np.testing.assert_array_equal(whole.merits, parts.merits)


def test_an_empty_front() -> None:
    front = Front()
    front.add(Designs.of(np.zeros(0), 1, 0, 0, 1), np.zeros((0, 2)))
    assert front.designs is None


def test_a_known_front() -> None:
    # (1,4) and (4,1) trade off, (3,3) beats (2,2), (4,0) loses to (4,1).
    merits = np.array([[1, 4], [2, 2], [3, 3], [4, 0], [4, 1]], dtype=float)
    assert nondominated(merits).tolist() == [True, False, True, False, True]


def test_infinities_are_ordered_too() -> None:
    merits = np.array([[-np.inf, 1.0], [0.0, 1.0]])
    assert nondominated(merits).tolist() == [False, True]


@pytest.mark.parametrize("size", [1, 5000])
def test_one_objective_keeps_its_best(size: int) -> None:
    merits = np.random.default_rng(1).normal(size=(size, 1))
    assert np.flatnonzero(nondominated(merits)).tolist() == [int(np.argmax(merits))]
