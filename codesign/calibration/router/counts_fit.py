"""Popularity from counts of selections alone: no order of tokens, so nothing of their context."""

from typing import Final

import numpy as np

from codesign.calibration.router.cells import LAGS
from codesign.calibration.router.estimate import RouterEstimate, estimate_router
from codesign.calibration.router.statistics import Statistics
from codesign.model.arrays import FloatArray

SIZES: Final = (2, 4, 8, 16, 32)


def estimate_from_counts(
    counts: FloatArray, top_k: int, *, estimated: bool, replicates: int, seed: int
) -> RouterEstimate:
    """Fit r_p and g to how often experts were selected.

    Parameters
    ----------
    counts : ndarray, shape (layers, N)
        Selections, or loads in any unit.
    top_k : int
        k [-].
    estimated : bool
        Loads, whose noise is not known; counts are corrected for it.
    replicates, seed : int

    Notes
    -----
    1 - (1 - p)^B of each expert; for counts the unbiased hypergeometric form, which takes
    different tokens. Errors are clustered by expert. Tokens of one request are alike, so few
    requests make experts look more popular than they are.
    """
    layers, experts = counts.shape
    by_expert = _unique_by_expert(counts, top_k, estimated)
    share = counts / counts.sum(axis=1, keepdims=True)
    statistics = np.concatenate([share[None], by_expert])
    deviations = statistics - statistics.mean(axis=2, keepdims=True)
    flat = deviations.reshape(len(deviations), -1)
    spread = np.zeros((len(statistics) + len(LAGS),) * 2)
    scale = experts / max(experts - 1, 1) / layers**2
    spread[: len(flat), : len(flat)] = flat @ flat.T * scale
    unique = by_expert.sum(axis=2).mean(axis=1)
    return estimate_router(
        Statistics(unique, np.zeros(len(LAGS)), spread),
        experts, top_k, SIZES, np.zeros(len(LAGS)), replicates=replicates, seed=seed,
    )  # fmt: skip


def _unique_by_expert(counts: FloatArray, top_k: int, estimated: bool) -> FloatArray:
    """Probability that any of B tokens selects an expert, shape (sizes, layers, N)."""
    total = counts.sum(axis=1, keepdims=True)
    if estimated:
        chosen = np.minimum(top_k * counts / total, 1.0)
        return np.stack([1.0 - (1.0 - chosen) ** size for size in SIZES])
    tokens, spared, found = total / top_k, np.ones_like(counts), []
    for drawn in range(SIZES[-1]):
        left = np.maximum(tokens - drawn, 1.0)
        spared = spared * np.clip(1.0 - counts / left, 0.0, 1.0)
        if drawn + 1 in SIZES:
            found.append(1.0 - spared)
    return np.stack(found)
