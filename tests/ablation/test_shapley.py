"""Shapley values against their axioms, and against the average over all orders."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesign.ablation.shapley import Coalition, coalitions, evaluate_coalitions, shapley_values

PLAYERS = ("a", "b", "c")
numbers = st.floats(-10, 10)
games = st.fixed_dictionaries({subset: numbers for subset in coalitions(PLAYERS)})


@given(games)
def test_they_add_up_to_what_all_do_over_none(game: dict[Coalition, float]) -> None:
    total = game[frozenset(PLAYERS)] - game[frozenset()]
    assert sum(shapley_values(PLAYERS, game).values()) == pytest.approx(total, abs=1e-9)


@given(games)
def test_they_are_the_mean_over_all_orders_of_adding(game: dict[Coalition, float]) -> None:
    own = shapley_values(PLAYERS, game)
    for player in PLAYERS:
        added = []
        for order in permutations(PLAYERS):
            before = frozenset(order[: order.index(player)])
            added.append(game[before | {player}] - game[before])
        assert own[player] == pytest.approx(sum(added) / len(added), abs=1e-9)


def test_who_changes_nothing_gets_nothing() -> None:
    values = evaluate_coalitions(PLAYERS, lambda present: float("a" in present))
    assert shapley_values(PLAYERS, values) == pytest.approx({"a": 1.0, "b": 0.0, "c": 0.0})


def test_equals_share_equally() -> None:
    values = evaluate_coalitions(PLAYERS, lambda present: float(len(present) == 3))
    assert shapley_values(PLAYERS, values) == pytest.approx(dict.fromkeys(PLAYERS, 1 / 3))
