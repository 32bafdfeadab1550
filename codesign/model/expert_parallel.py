"""Load of the busiest rank when experts are spread over GPUs."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from codesign.model.arrays import ArrayLike, FloatArray
from codesign.model.latent_router import unique_experts
from codesign.model.routing import RouterParameters, window_correlation


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
        ep, which divides N; one rank has everything [-].

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
    mean + sd·[m1 + skewness/6·(m2 - 1)]. Against a simulated exact top-k within 5 % where a rank
    holds 8 experts or more; token slots within 7 % with 2-4 and within 11 % with one;
    unique experts up to 18 % too many with 4, and 40 % with 2, if there is a single token.
    """
    experts, tokens = np.asarray(experts, dtype=np.float64), np.asarray(batch_size) * window
    ratio, held = top_k / experts, experts / ranks
    unique = unique_experts(experts, top_k, batch_size, window, router)
    loaded = unique / experts
    alike = _mean_pair_correlation(experts, top_k, batch_size, window, router)
    busiest_unique = _busiest(loaded, np.zeros(()), 1.0, experts, ranks)
    busiest_slots = _busiest(ratio, alike, tokens, experts, ranks)
    return RankLoad(
        np.clip(busiest_unique, unique / ranks, np.minimum(held, unique)),
        np.clip(busiest_slots, tokens * top_k / ranks, tokens * np.minimum(held, top_k)),
    )
