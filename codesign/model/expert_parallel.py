"""Load of the busiest rank when experts are spread over GPUs."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from codesign.model.arrays import ArrayLike, FloatArray, matrix_product
from codesign.model.latent_router import unique_experts
from codesign.model.routing import RouterParameters, window_correlation

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RankLoad:
    """Expected load of the busiest rank, per MoE layer.

    Parameters
    ----------
    unique_experts : ndarray
        Distinct routed experts it loads [-].
    token_slots : ndarray
        Pairs of a token and one of its experts; T k / ep on average [-].
    """

    unique_experts: FloatArray
    token_slots: FloatArray


def busiest_rank(
    experts: ArrayLike,
    top_k: ArrayLike,
    batch_size: ArrayLike,
    window: ArrayLike,
    router: RouterParameters,
    ranks: ArrayLike,
) -> RankLoad:
    """Expected unique experts and token slots on the busiest of the ranks that share the experts.

    Parameters
    ----------
    experts, top_k : array_like of int
        N and k [-].
    batch_size, window : array_like of int
        B sequences of q consecutive tokens, of all ranks together [sequence], [token].
    router : RouterParameters
    ranks : array_like of int
        ep; one rank has everything. Where it does not divide N, ranks hold ⌈N/ep⌉ experts and those
        that are left over count as a part of one [-].

    Returns
    -------
    RankLoad
        The two maxima are taken apart, they need not be on the same rank.

    Notes
    -----
    The load of one expert is beta-binomial over T = B q tokens, with the mean pair correlation of
    its selection by the latent router; being loaded is the same with a single draw. Mean, variance
    and skewness of a rank of N/ep experts follow, and the maximum of ep of them by Cornish and
    Fisher's expansion, m1 and m2 being the first moments of the maximum of ep standard normals:
    mean + sd·[m1 + skewness/6·(m2 - 1)]; all experts of the rank where fewer than (m1/2)² are
    missing on average. `scripts/decision_figures.py` compares with a simulated exact top-k: of 8
    and 64 tokens both are within 3 % where a rank holds 8 or 16 experts, and within 8 % where it
    holds fewer; of a single token they are up to 6 % too many with 16 experts, 15 % with 8, 31 %
    with 4 and 49 % with 2.
    """
    experts, tokens = np.asarray(experts, dtype=np.float64), np.asarray(batch_size) * window
    ranks = experts / np.ceil(experts / ranks)
    unique = unique_experts(experts, top_k, batch_size, window, router)
    if np.all(np.equal(ranks, 1)):
        return RankLoad(unique, np.asarray(tokens * top_k, dtype=np.float64))
    alike = _mean_pair_correlation(experts, top_k, batch_size, window, router)
    most_unique = _busiest(unique / experts, 0.0, 1.0, experts, ranks)
    most_slots = _busiest(top_k / experts, alike, tokens, experts, ranks)
    held = experts / ranks
    most_unique = np.where(_surely_all(unique / experts, experts, ranks), held, most_unique)
    return RankLoad(
        np.clip(most_unique, unique / ranks, np.minimum(held, unique)),
        np.clip(most_slots, tokens * top_k / ranks, tokens * np.minimum(held, top_k)),
    )


def _mean_pair_correlation(
    experts: FloatArray,
    top_k: ArrayLike,
    batch_size: ArrayLike,
    window: ArrayLike,
    router: RouterParameters,
) -> FloatArray:
    """Correlation of an expert's selection at two of the B q tokens, mean over pairs [-]."""
    beyond = window_correlation(router, window) - router.popularity
    request = replace(router, request=beyond, recency=0.0)
    within = 2.0 - unique_experts(experts, top_k, 1, 2, request) / top_k
    across = 2.0 - unique_experts(experts, top_k, 2, 1, router) / top_k
    partners = np.asarray(window) - 1.0, (np.asarray(batch_size) - 1.0) * window
    pairs = np.maximum(partners[0] + partners[1], 1.0)
    both, ratio = (partners[0] * within + partners[1] * across) / pairs, top_k / experts
    unselected = np.maximum(1.0 - ratio, np.finfo(np.float64).tiny)
    return np.asarray(np.maximum(both - ratio, 0.0) / unselected)


def _busiest(
    probability: FloatArray,
    correlation: ArrayLike,
    draws: ArrayLike,
    experts: FloatArray,
    ranks: ArrayLike,
) -> FloatArray:
    """Expected maximum over ranks of their experts' beta-binomial counts."""
    variance = draws * probability * (1.0 - probability) * (1.0 + (draws - 1.0) * correlation)
    # Standard deviation times skewness of one expert.
    lean = (1.0 - 2.0 * probability) * (1.0 + (2.0 * draws - 1.0) * correlation)
    lean = lean / (1.0 + correlation)
    # The ranks share a fixed total, so one is above the mean by what the others lack.
    fixed_total = np.sqrt(experts / np.maximum(experts - 1.0, 1.0))
    first, second = _maximum_moments(ranks)
    spread = np.sqrt(experts / ranks * variance)
    above = spread * first + lean * (second - 1.0) / 6.0
    return np.asarray(experts / ranks * draws * probability + fixed_total * above)


def _surely_all(probability: FloatArray, experts: FloatArray, ranks: ArrayLike) -> Flags:
    """Whether some rank has all its experts loaded: where the expansion would fall again.

    Missing m = N/ep·(1-p) experts on average, a rank is above that by about √m·m1 at best; with
    fewer missing than (m1/2)² more loaded experts would lower the maximum, by its skewness.
    """
    first, _ = _maximum_moments(ranks)
    fixed_total = experts / np.maximum(experts - 1.0, 1.0)
    missing = experts / ranks * (1.0 - probability)
    return np.asarray(missing <= fixed_total * first**2 / 4.0)


def _maximum_moments(ranks: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """First two moments of the largest of so many standard normals [-]."""
    points = np.linspace(-8.0, 8.0, 801)
    count = np.asarray(ranks, dtype=np.float64)[..., None]
    density = np.exp(-(points**2) / 2.0) * ndtr(points) ** (count - 1.0)
    density = density / density.sum(axis=-1, keepdims=True)
    return matrix_product(density, points), matrix_product(density, points**2)
