"""How many experts the benchmarks of the tables loaded: their own routing, re-created.

The collector routes ``balanced``, every expert in turn, or by a power law: the tokens of an expert
are drawn from a truncated power law, scaled and rounded to T k, no expert getting more than T;
what is over goes to the experts with fewest, what is too much is taken from those with most
(aiconfigurator collector/helper.py, power_law_logits_v3).
"""

from functools import cache
from typing import Final

import numpy as np

from codesign.errors import DataError

DRAWS: Final = 200
"""The benchmark times the mean of five draws; this is the expectation over many."""

HEAVY_SHARE: Final = 0.8
"""An expert is drawn up to this share of the tokens."""


def benchmark_unique_experts(distribution: str, experts: int, top_k: int, tokens: int) -> float:
    """Return the expected unique experts of a benchmark row [-].

    Parameters
    ----------
    distribution : str
        ``balanced``, or ``power_law_`` and its exponent.
    experts, top_k, tokens : int
        N, k and T.

    Raises
    ------
    DataError
        If the distribution is unknown.

    Examples
    --------
    >>> benchmark_unique_experts("balanced", 128, 8, 4)
    32.0
    >>> round(benchmark_unique_experts("power_law_1.2", 128, 8, 16), 1)
    59.3
    """
    if distribution == "balanced":
        return float(min(experts, tokens * top_k))
    kind, _, exponent = distribution.rpartition("_")
    if kind != "power_law":
        raise DataError(f"unknown benchmark distribution {distribution!r}")
    return _power_law_unique(experts, top_k, tokens, float(exponent))


@cache
def _power_law_unique(experts: int, top_k: int, tokens: int, exponent: float) -> float:
    slots = tokens * top_k
    low, high = (1.0, HEAVY_SHARE * tokens) if slots > experts else (0.01, 2.0)
    draws = np.random.default_rng(0).random((DRAWS, experts))
    power = 1.0 - exponent
    weights = ((high**power - low**power) * draws + low**power) ** (1.0 / power)
    counts = np.rint(weights / weights.sum(axis=1, keepdims=True) * slots)
    over = np.maximum(counts - tokens, 0.0).sum(axis=1)
    counts = np.minimum(counts, tokens)
    missing = slots - counts.sum(axis=1) - over
    empty = (counts == 0).sum(axis=1)
    given = over + np.maximum(missing, 0.0)
    unique = experts - np.maximum(empty - given, 0.0)
    # Taking from the fullest empties an expert only once none holds more than one token.
    spare = np.maximum(counts - 1.0, 0.0).sum(axis=1) + np.maximum(over - empty, 0.0)
    return float((unique - np.maximum(-missing - spare, 0.0)).mean())
