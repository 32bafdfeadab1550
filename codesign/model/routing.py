"""How alike the experts of different tokens are, and the published counts of unique experts."""

from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from codesign.model.arrays import ArrayLike, FloatArray

ROUNDING: Final = 1e-9
"""Slack for sums that are 1 but for rounding."""

SLOW_DECAY: Final = 0.1
"""Decay over a window below which its mean is summed as a series; the two meet within 1e-12."""


@dataclass(frozen=True)
class RouterParameters:
    """Correlations between the latent scores of one expert at two tokens.

    Each is a number, or an array of draws that broadcasts against the designs.

    Parameters
    ----------
    popularity : array_like
        r_p, shared by all tokens [-].
    request : array_like
        r_c, shared by the tokens of one request [-].
    recency : array_like
        r_a, shared by neighbouring tokens of a request [-].
    decay : array_like
        φ, what is left of recency per further token of distance [-].
    skew : array_like
        g, bends popularity: positive means no very popular experts but some that are hardly
        used [-].
    between : tuple of (RouterParameters, float)
        Routers and weights from which this one's unique experts are interpolated, where many
        similar routers are drawn: a table of each would cost more than the draw is worth.
    groups, groups_per_token : int
        Group-limited routing: from how many of the groups a token's experts come. Correlations
        that were measured with the limit in force need no such correction.

    Raises
    ------
    ValueError
        If a correlation is negative, decay is not between 0 and 1, or the scores' variance
        popularity + request + recency / decay exceeds 1.

    Notes
    -----
    Expert e fires at token t when its score is above a threshold. The score has unit variance:
    √r_p·Z_e + √r_c·C_(e, request) + √(r_a/φ)·A_(e, t) + noise, A autoregressive of order one with
    coefficient φ. The skew replaces Z by (Z - g(Z² - 1)) / √(1 + 2g²).
    """

    popularity: ArrayLike
    request: ArrayLike
    recency: ArrayLike
    decay: ArrayLike
    skew: ArrayLike = 0.0
    between: "tuple[tuple[RouterParameters, float], ...]" = ()
    groups: int = 1
    groups_per_token: int = 1

    def __post_init__(self) -> None:
        for name in ("popularity", "request", "recency"):
            values = np.asarray(getattr(self, name))
            _require(f"{name} >= 0", values >= 0, values)
        decay = np.asarray(self.decay)
        _require("0 < decay < 1", (decay > 0) & (decay < 1), decay)
        variance = self.popularity + self.request + np.asarray(self.recency) / decay
        rule = "popularity + request + recency / decay <= 1"
        _require(rule, variance <= 1 + ROUNDING, variance)

    def popularity_only(self) -> "RouterParameters":
        """Return the router whose tokens are independent, given how popular each expert is."""
        return replace(self, request=0.0, recency=0.0, between=())

    def scaled(self, share: float) -> "RouterParameters":
        """Return the router without groups, all its correlations a share of these."""
        return RouterParameters(
            popularity=np.asarray(self.popularity) * share,
            request=np.asarray(self.request) * share,
            recency=np.asarray(self.recency) * share,
            decay=self.decay,
            skew=self.skew,
            between=tuple((part.scaled(share), weight) for part, weight in self.between),
        )


def _require(rule: str, holds: NDArray[np.bool_], values: ArrayLike) -> None:
    if not np.all(holds):
        broken = np.broadcast_to(values, np.shape(holds))[~np.asarray(holds)]
        raise ValueError(f"router needs {rule}, not {broken.flat[0]:g}")


GENERIC_ROUTER: Final = RouterParameters(
    popularity=0.292, request=0.245, recency=0.124, decay=0.42, skew=0.0
)
"""Fitted to the Cohere study's table and lag overlaps (N=128, k=8)."""


def lag_correlation(router: RouterParameters, lag: ArrayLike) -> FloatArray:
    """Correlation of two tokens of one request, r_p + r_c + r_a·φ^(lag-1) [-].

    Parameters
    ----------
    router : RouterParameters
    lag : array_like of int
        Distance, at least 1 [token].

    Examples
    --------
    >>> round(float(lag_correlation(GENERIC_ROUTER, 1)), 3)
    0.661
    """
    shared = np.asarray(router.popularity) + router.request
    return np.asarray(shared + router.recency * np.asarray(router.decay) ** (np.asarray(lag) - 1.0))


def mean_decay(decay: ArrayLike, window: ArrayLike) -> FloatArray:
    """Mean of decay^(lag-1) over the pairs of tokens in a window [-].

    Parameters
    ----------
    decay : array_like
        Between 0 and 1 [-].
    window : array_like of int
        q; one token has no pair and is given the value of two, 1 [token].

    Notes
    -----
    2 / (q (q-1)) · Σ_l (q-l) φ^(l-1) over l = 1...q-1, summed in closed form. Near φ = 1 that is a
    difference of nearly equal numbers, and the binomial series in 1 - φ takes its place.
    """
    q, rest = np.maximum(window, 2.0), 1.0 - np.asarray(decay, dtype=np.float64)
    closed = 2.0 * (q * rest - (1.0 - decay**q)) / (q * (q - 1.0) * rest**2)
    term = series = np.ones(())
    for power in range(1, 10):
        term = -term * rest * (q - 1.0 - power) / (power + 2.0)
        series = series + term
    return np.asarray(np.where(q * rest < SLOW_DECAY, series, closed))


def window_correlation(router: RouterParameters, window: ArrayLike) -> FloatArray:
    """Mean correlation of the pairs of tokens in a window of one request, r_w(q) [-].

    Parameters
    ----------
    router : RouterParameters
    window : array_like of int
        q consecutive tokens; a single one gets the correlation at lag 1 [token].

    Examples
    --------
    >>> window_correlation(GENERIC_ROUTER, np.array([2, 4, 8])).round(3)
    array([0.661, 0.62 , 0.585])
    """
    shared = np.asarray(router.popularity) + router.request
    return np.asarray(shared + router.recency * mean_decay(router.decay, window))


def router_from_window_correlation(correlation: ArrayLike) -> RouterParameters:
    """Turn one published figure, r_w(4), into parameters of the generic router's shape.

    Parameters
    ----------
    correlation : array_like
        Mean correlation of the pairs in four consecutive tokens [-].

    Returns
    -------
    RouterParameters
        The generic popularity with request and recency scaled, or all three where `correlation`
        is below the generic popularity; the decay is kept.

    Raises
    ------
    ValueError
        If negative, or above about .722: a generic decay allows no more.

    Examples
    --------
    >>> mixtral = router_from_window_correlation(0.20)
    >>> round(float(window_correlation(mixtral, 4)), 12)
    0.2
    """
    generic, wanted = GENERIC_ROUTER, np.asarray(correlation, dtype=np.float64)
    whole = window_correlation(generic, 4)
    beyond = (wanted - generic.popularity) / (whole - generic.popularity)
    scale = np.where(beyond >= 0, beyond, wanted / whole)
    popularity = np.where(beyond >= 0, 1.0, scale) * generic.popularity
    return RouterParameters(
        popularity, scale * generic.request, scale * generic.recency, generic.decay, generic.skew
    )


def with_shared_experts(
    router: RouterParameters, shared_experts: ArrayLike, relative_drop: ArrayLike = 0.045
) -> RouterParameters:
    """Lower all correlations by a share per always-on expert.

    Parameters
    ----------
    router : RouterParameters
    shared_experts : array_like
        S [-].
    relative_drop : array_like
        Of r per shared expert; an assumption [-].
    """
    kept = (1.0 - np.asarray(relative_drop)) ** shared_experts
    return replace(
        router,
        popularity=router.popularity * kept,
        request=router.request * kept,
        recency=router.recency * kept,
    )


def unique_experts_uniform(experts: ArrayLike, top_k: ArrayLike, tokens: ArrayLike) -> FloatArray:
    """Expected unique experts if every token chose uniformly, N (1 - (1 - k/N)^T) [-].

    Parameters
    ----------
    experts, top_k : array_like
        N and k [-].
    tokens : array_like
        T [token].

    Returns
    -------
    ndarray
        nan where k > N or k < 1: a mesh of designs holds points that are none.

    Examples
    --------
    >>> unique_experts_uniform(128, 8, np.array([1, 8, 64])).round(1)
    array([  8. ,  51.6, 125.9])
    """
    experts, top_k = np.asarray(experts, dtype=np.float64), np.asarray(top_k, dtype=np.float64)
    selected = np.where((top_k >= 1) & (top_k <= experts), top_k, np.nan) / experts
    with np.errstate(divide="ignore"):  # k = N: every expert is loaded
        return np.asarray(experts * -np.expm1(tokens * np.log1p(-selected)))


def unique_experts_independent(
    selection_probabilities: NDArray[Any], tokens: ArrayLike
) -> FloatArray:
    """Expected unique experts of independent tokens with known popularity, Σ (1 - (1 - p)^T) [-].

    Parameters
    ----------
    selection_probabilities : ndarray, shape (..., N)
        Probability that a token selects each expert; adds up to k [-].
    tokens : array_like, shape (...)
        T [token].
    """
    missed = (1.0 - np.asarray(selection_probabilities)) ** np.asarray(tokens)[..., None]
    return np.asarray((1.0 - missed).sum(axis=-1))


def overlap_uniform(experts: ArrayLike, top_k: ArrayLike) -> FloatArray:
    """Share of a token's experts that an unrelated token selects too, k/N [-]."""
    return np.asarray(top_k / np.asarray(experts, dtype=np.float64))


def overlap_independent(selection_probabilities: NDArray[Any]) -> FloatArray:
    """Share of a token's experts that an independent token selects too, Σ p² / Σ p [-].

    Parameters
    ----------
    selection_probabilities : ndarray, shape (..., N)
        Probability that a token selects each expert [-].
    """
    chosen = np.asarray(selection_probabilities, dtype=np.float64)
    return np.asarray((chosen**2).sum(axis=-1) / chosen.sum(axis=-1))


def unique_experts_measured(selections: NDArray[np.integer[Any]], window: int) -> float:
    """Mean unique experts over all windows of consecutive tokens of a trace, kept in order [-].

    Parameters
    ----------
    selections : ndarray of int, shape (tokens, k)
        Experts of each token.
    window : int
        q [token].

    Raises
    ------
    ValueError
        If the trace is shorter than the window.

    Examples
    --------
    >>> unique_experts_measured(np.array([[0, 1], [1, 2], [0, 1]]), 2)
    3.0
    """
    tokens, top_k = selections.shape
    if not 1 <= window <= tokens:
        raise ValueError(f"window must be 1 to {tokens}, the tokens of the trace, not {window}")
    chosen = selections.ravel()
    order = np.argsort(chosen, kind="stable")
    at, expert = np.repeat(np.arange(tokens), top_k)[order], chosen[order]
    before = np.where(np.r_[False, expert[1:] == expert[:-1]], np.roll(at, 1), -1)
    # A selection adds an expert to the windows that contain it but not the one before it.
    first = np.maximum(before + 1, at - window + 1)
    last = np.minimum(at, tokens - window)
    return float(np.maximum(last - first + 1, 0).sum() / (tokens - window + 1))
