"""Group-limited routing: a token's experts come from a few groups only (DeepSeek-V2 and V3).

With experts alike in all groups the limit makes nearby tokens choose *less* alike: which groups a
token keeps is a further, noisy choice. Unique experts are those of the free router with all
correlations scaled down.
"""

from functools import lru_cache
from typing import Final

import numpy as np
from scipy.special import ndtri

from codesign.model.arrays import ArrayLike, FloatArray

DRAWS: Final = 400
RANKS_PER_GROUP: Final = 16
"""The best experts of so many ranks per group decide; a group's best two are among them."""

MOST_PLACES: Final = 4096
"""Experts that are simulated; among more of them the best are spread as they are among these."""

LOSS_FACTOR: Final = 0.7
LOSS_POWER: Final = 1.8


def correlation_share(
    experts: ArrayLike, top_k: ArrayLike, groups: int, groups_per_token: int
) -> FloatArray:
    """Share of the free router's correlations that a group-limited one seems to have [-].

    Parameters
    ----------
    experts, top_k : array_like of int
        N and k [-].
    groups, groups_per_token : int
        Groups of equal size, and from how many of them a token's experts come.

    Returns
    -------
    ndarray
        In (0, 1]; 1 without a limit.

    Notes
    -----
    1 - .7 x^1.8, x being the share of a token's free top-k that the limit excludes
    (`excluded_share`). Fitted to simulated exact routers of N = 64...512, k = 4...16, G = 4...8
    with 2...6 kept, r_w(4) = .36, .62, .71. Unique experts are within .4 % rms of simulation for
    DeepSeek-V2's and V3's groups, 1.6 % where a fourth of the groups is kept
    (`scripts/decision_figures.py`; the generic router, which is among those fitted).

    Examples
    --------
    >>> float(correlation_share(256, 8, 8, 4).round(2))  # DeepSeek-V3
    0.97
    """
    excluded = excluded_share(experts, top_k, groups, groups_per_token)
    return np.asarray(1.0 - LOSS_FACTOR * excluded**LOSS_POWER)


def excluded_share(
    experts: ArrayLike, top_k: ArrayLike, groups: int, groups_per_token: int
) -> FloatArray:
    """Share of the best k of N experts that lie outside the groups kept [-].

    The groups kept are those whose two best experts add up to most, by simulation of independent
    normal scores; N is taken down to a multiple of the groups, k to `RANKS_PER_GROUP` per group.
    """
    counts, place = np.unique(np.asarray(experts, dtype=np.int64), return_inverse=True)
    table = [_excluded(int(count), groups, groups_per_token) for count in counts]
    longest = max(row.size for row in table)
    padded = np.stack([np.pad(row, (0, longest - row.size), mode="edge") for row in table])
    last = np.minimum(np.asarray(top_k, dtype=np.int64), longest) - 1
    return np.asarray(padded[place.reshape(np.shape(experts)), np.maximum(last, 0)])


@lru_cache(maxsize=1024)
def _excluded(experts: int, groups: int, kept: int) -> FloatArray:
    """Excluded share of the best k, k = 1, 2, ... on the axis."""
    size = max(experts // groups, 1)
    total = size * groups
    size = min(size, max(MOST_PLACES // groups, 1))
    ranks = np.arange(1, min(total, RANKS_PER_GROUP * groups) + 1)
    # Ranks instead of scores: the i-th best has about the quantile's score, its group is random.
    scores = -ndtri((ranks - 0.4) / (total + 0.2))
    order = np.argsort(np.random.default_rng(0).random((DRAWS, size * groups)), axis=1)
    group = order[:, : ranks.size] // size
    member = group[:, :, None] == np.arange(groups)
    nth = np.cumsum(member, axis=1)
    best_two = (member * (nth <= 2) * scores[:, None]).sum(axis=1)
    keeps = np.argsort(best_two, axis=1)[:, groups - kept :]
    inside = (group[:, :, None] == keeps[:, None, :]).any(axis=2)
    return np.asarray(1.0 - np.cumsum(inside, axis=1).mean(axis=0) / ranks)
