"""Shapley values against their axioms, and against the average over all orders."""

from collections.abc import Callable
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesign.ablation.mechanisms import Mechanisms, weigh
from codesign.ablation.shapley import Coalition, coalitions, evaluate_coalitions, shapley_values
from codesign.spec.ablation import TermName

PLAYERS = ("a", "b", "c")
numbers = st.floats(-10, 10)
games = st.fixed_dictionaries(dict.fromkeys(coalitions(PLAYERS), numbers))


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


def test_what_cancels_has_no_shares() -> None:
    """Two terms that nearly cancel: their contributions stand, shares of nothing would not."""

    def value(gain: float, loss: float) -> Callable[[tuple[TermName, ...]], float]:
        return lambda removed: (
            1.0 + gain * ("kv_cache" not in removed) - loss * ("draft_cost" not in removed)
        )

    mechanisms: Mechanisms = {"gain": ("kv_cache",), "loss": ("draft_cost",)}
    shared = weigh(mechanisms, value(0.5, 0.1))["mechanisms"]
    assert [entry["share"] for entry in shared] == pytest.approx([1.25, -0.25])
    cancelled = weigh(mechanisms, value(0.5, 0.4))["mechanisms"]
    assert [entry["share"] for entry in cancelled] == [None, None]
    assert [entry["shapley"] for entry in cancelled] == pytest.approx([0.5, -0.4])
