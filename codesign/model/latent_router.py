"""Unique experts and overlap of the latent-Gaussian router with an exact top-k."""

from typing import Final

import numpy as np

from codesign.model.arrays import ArrayLike, FloatArray
from codesign.model.effective_tokens import effective_tokens
from codesign.model.group_routing import correlation_share
from codesign.model.routing import RouterParameters, unique_experts_uniform
from codesign.model.threshold import (
    effective_correlation,
    joint_excess,
    threshold,
    threshold_share,
)


def overlap_latent(activation_ratio: ArrayLike, correlation: ArrayLike) -> FloatArray:
    """Share of a token's experts that another token selects too, with a fixed threshold [-].

    Parameters
    ----------
    activation_ratio : array_like
        u = k/N [-].
    correlation : array_like
        r, between the scores at the two tokens [-].

    Notes
    -----
    [u - 2 T(τ, √((1-r)/(1+r)))] / u, with Owen's T and τ = Φ⁻¹(1-u).

    Examples
    --------
    >>> overlap_latent(8 / 128, np.array([0.661, 0.589])).round(3)
    array([0.381, 0.326])
    """
    selected = np.asarray(activation_ratio, dtype=np.float64)
    return np.asarray(selected + joint_excess(threshold(selected), correlation) / selected)


def overlap(experts: ArrayLike, top_k: ArrayLike, correlation: ArrayLike) -> FloatArray:
    """Share of a token's experts that another token selects too, with an exact top-k [-].

    Parameters
    ----------
    experts, top_k : array_like
        N and k [-].
    correlation : array_like
        r, between the scores at the two tokens; without popularity skew [-].

    Notes
    -----
    `overlap_latent` at the effective correlation; k/N at r = 0.

    Examples
    --------
    >>> overlap(8, 2, np.array([0.0, 0.6, 1.0])).round(3)
    array([0.25 , 0.518, 1.   ])
    """
    selected = np.asarray(top_k) / np.asarray(experts, dtype=np.float64)
    share = threshold_share(experts, top_k)
    return overlap_latent(selected, effective_correlation(correlation, threshold(selected), share))


def unique_experts(
    experts: ArrayLike,
    top_k: ArrayLike,
    batch_size: ArrayLike,
    window: ArrayLike,
    router: RouterParameters,
    *,
    correct_top_k: bool = True,
) -> FloatArray:
    """Expected unique experts of B sequences of q consecutive tokens, U(B, q) [-].

    Parameters
    ----------
    experts, top_k : array_like of int
        N and k [-].
    batch_size : array_like of int
        B, sequences whose requests have nothing but popularity in common [sequence].
    window : array_like of int
        q, consecutive tokens of each [token].
    router : RouterParameters
    correct_top_k : bool
        Exactly k experts per token; otherwise all above a fixed threshold, k on average: the
        published closed form, 1-7 % low for small k.

    Returns
    -------
    ndarray
        All arguments broadcast; an open mesh is evaluated on the axes it depends on. Between k and
        min(N, k B q); nan where k > N or k < 1.

    Raises
    ------
    ValueError
        If a batch size or window is below 1.

    Notes
    -----
    N [1 - (1-u)^n], with the effective number of independent tokens n(τ, w; B, q) from
    `effective_tokens`. Within 1 % of a simulated exact top-k (N = 8...128, B <= 16, q <= 8,
    r_w(4) <= .71; `scripts/decision_figures.py`).

    A group-limited router's are those of the free one with its correlations scaled down by
    `codesign.model.group_routing.correlation_share`; decision 7 says how many more they are.

    Examples
    --------
    >>> from codesign.model.routing import GENERIC_ROUTER
    >>> batch = np.array([1, 2, 8, 32])
    >>> unique_experts(128, 8, batch, 1, GENERIC_ROUTER, correct_top_k=False).round(2)
    array([ 8.  , 14.72, 40.88, 78.53])
    >>> float(unique_experts(128, 8, 1, 4, GENERIC_ROUTER).round(1))
    20.4
    """
    if np.any(np.less(batch_size, 1)) or np.any(np.less(window, 1)):
        raise ValueError("batch_size and window must be at least 1")
    if router.groups > router.groups_per_token:
        return _group_limited(experts, top_k, batch_size, window, router)
    experts, top_k = np.asarray(experts, dtype=np.float64), np.asarray(top_k, dtype=np.float64)
    selected = np.where((top_k >= 1) & (top_k <= experts), top_k, np.nan) / experts
    share = threshold_share(experts, selected * experts) if correct_top_k else 0.0
    tokens = effective_tokens(threshold(selected), share, batch_size, window, router)
    return unique_experts_uniform(experts, top_k, tokens)


_SHARES: Final = (1.0, 0.9, 0.75, 0.55)
"""Correlation shares between which unique experts are interpolated, not tabulated anew."""


def _group_limited(
    experts: ArrayLike,
    top_k: ArrayLike,
    batch_size: ArrayLike,
    window: ArrayLike,
    router: RouterParameters,
) -> FloatArray:
    """Interpolate in the share of the correlations that each design's groups leave."""
    share = correlation_share(experts, top_k, router.groups, router.groups_per_token)
    total = np.zeros(())
    for node in _SHARES:
        others = [other for other in _SHARES if other != node]
        weight = np.prod([(share - other) / (node - other) for other in others], axis=0)
        total = total + weight * unique_experts(
            experts, top_k, batch_size, window, router.scaled(node)
        )
    return np.clip(total, top_k, experts)  # interpolation may pass the ends by a rounding


def unique_experts_popularity_only(
    experts: ArrayLike, top_k: ArrayLike, tokens: ArrayLike, router: RouterParameters
) -> FloatArray:
    """Expected unique experts of tokens that have nothing but expert popularity in common [-].

    Parameters
    ----------
    experts, top_k : array_like of int
        N and k [-].
    tokens : array_like of int
        T [token].
    router : RouterParameters
        Of which only popularity and skew count.

    Notes
    -----
    What `unique_experts_independent` gives where the popularity of each expert is known.
    """
    return unique_experts(experts, top_k, tokens, 1, router.popularity_only())
