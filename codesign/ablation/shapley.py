"""Shapley values: what each term contributes, averaged over all orders of adding them."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import factorial

Coalition = frozenset[str]


def coalitions(players: Sequence[str]) -> list[Coalition]:
    """Return every subset, from none to all."""
    sizes = range(len(players) + 1)
    return [frozenset(subset) for size in sizes for subset in combinations(players, size)]


def evaluate_coalitions(
    players: Sequence[str], value: Callable[[Coalition], float]
) -> dict[Coalition, float]:
    """Return the value of every subset."""
    return {subset: value(subset) for subset in coalitions(players)}


def shapley_values(players: Sequence[str], values: Mapping[Coalition, float]) -> dict[str, float]:
    """Return each player's value; they add up to that of all minus that of none.

    Parameters
    ----------
    players : sequence of str
    values : dict
        Of every subset.

    Notes
    -----
    sum over S without i of |S|! (n-|S|-1)! / n! [v(S + i) - v(S)] (Shapley 1953).

    Examples
    --------
    Two terms that only work together share what they do:

    >>> both = {frozenset(): 0.0, frozenset("a"): 0.0, frozenset("b"): 0.0, frozenset("ab"): 1.0}
    >>> shapley_values("ab", both)
    {'a': 0.5, 'b': 0.5}
    """
    count = len(players)
    weights = [
        factorial(size) * factorial(count - size - 1) / factorial(count) for size in range(count)
    ]
    return {
        player: sum(
            weights[len(subset)] * (values[subset | {player}] - values[subset])
            for subset in coalitions([other for other in players if other != player])
        )
        for player in players
    }
