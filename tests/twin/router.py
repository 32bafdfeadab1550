"""Unique experts of the latent router, by quadrature over each normal of its definition.

Everything is a scalar. `Exactly` is where numbers live: 30 digits. The triple mean of a window is
taken in Python floats with far more nodes than it needs (`floats`), since 30 digits of a million
points take minutes; the two are compared where both are quick.
"""

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from mpmath import MPContext

from codesign.model.routing import RouterParameters

Exactly: Any = MPContext()
Exactly.dps = 30

SOFTENING = 0.3
LARGEST_CORRELATION = 0.9


class Router(NamedTuple):
    """Correlations of the latent scores, as the nomenclature names them."""

    popularity: float
    request: float
    recency: float
    decay: float
    skew: float = 0.0
    groups: int = 1
    groups_per_token: int = 1


def plain(router: RouterParameters) -> Router:
    """A router of the code as numbers."""
    return Router(
        float(router.popularity), float(router.request), float(router.recency),
        float(router.decay), float(router.skew), router.groups, router.groups_per_token,
    )  # fmt: skip


def normal_quantile(share: Any) -> Any:
    """Score that a standard normal exceeds with this probability."""
    return Exactly.sqrt(2) * Exactly.erfinv(1 - 2 * share)


@cache
def excess(threshold: Any, correlation: Any) -> Any:
    """P(g > τ, g' > τ) - u², as the integral of the bivariate density over the correlation."""
    turned = Exactly.asin(correlation)
    return Exactly.quad(
        lambda angle: Exactly.exp(-(threshold**2) / (1 + Exactly.sin(angle))) / (2 * Exactly.pi),
        [0, turned / 2, turned],
    )


@cache
def threshold_and_share(experts: int, top_k: int) -> tuple[Any, Any]:
    """τ, and the share w of the top-k threshold's variance in that of score minus threshold."""
    selected = Exactly.mpf(top_k) / experts
    threshold = normal_quantile(selected)
    density = Exactly.exp(-(threshold**2) / 2) / Exactly.sqrt(2 * Exactly.pi)
    variance = selected * (1 - selected) / ((experts - 1) * density**2)
    return threshold, variance / (1 + variance)


def exact_correlation(correlation: Any, threshold: Any, share: Any) -> Any:
    """r_eff = (1 - w) r + w ρ."""
    softness = 1 + SOFTENING * (share / (1 - share)) ** 2
    alike = excess(threshold, correlation / softness) / excess(threshold, 1 / softness)
    return (1 - share) * correlation + share * alike


def pair_means(decay: float, window: int) -> tuple[Any, Any]:
    """Mean and mean square of φ^(lag-1) over the pairs of a window, summed pair by pair."""
    phi, pairs = Exactly.mpf(decay), Exactly.mpf(window * (window - 1)) / 2
    lags = range(1, window)
    mean = Exactly.fsum((window - lag) * phi ** (lag - 1) for lag in lags) / pairs
    square = Exactly.fsum((window - lag) * phi ** (2 * (lag - 1)) for lag in lags) / pairs
    return mean, square


class Spreads(NamedTuple):
    """What one expert's score minus threshold is made of, at one design and window."""

    threshold: float
    popularity: float
    request: float
    block: float
    noise: float
    block_length: float


@cache
def spreads(experts: int, top_k: int, window: int, router: Router) -> Spreads:
    """Standard deviations of popularity, request, block and noise; exact top-k included."""
    threshold, share = threshold_and_share(experts, top_k)
    request = block = 0.0
    length = Exactly.mpf(1)
    if window > 1:
        mean, square = pair_means(router.decay, window)
        length = 1 + (window - 1) * mean**2 / square
        request, block = router.request, router.recency * square / mean
    sums = [
        min(total, LARGEST_CORRELATION)
        for total in (router.popularity, router.popularity + request,
                      router.popularity + request + block)
    ]  # fmt: skip
    effective = [exact_correlation(Exactly.mpf(each), threshold, share) for each in sums]
    parts = [effective[0], effective[1] - effective[0], effective[2] - effective[1]]
    roots = [float(Exactly.sqrt(max(part, 0))) for part in (*parts, 1 - effective[2])]
    level = _skewed_threshold(threshold, effective[0], router.skew)
    return Spreads(float(level), roots[0], roots[1], roots[2], roots[3], float(length))


def bent(score: Any, skew: float) -> Any:
    """Popularity after the skew."""
    return (score - skew * (score**2 - 1)) / (1 + 2 * skew**2) ** 0.5


def _skewed_threshold(threshold: Any, popularity: Any, skew: float) -> Any:
    """Threshold that keeps the mean share selected under a skewed popularity, by bisection."""
    if skew == 0:
        return threshold
    spread, noise = math.sqrt(popularity), math.sqrt(1 - popularity)
    nodes = [(bent(z, skew), weight) for z, weight in _trapezoid(401, 8.5)]
    wanted = math.erfc(threshold / math.sqrt(2)) / 2

    def selected(level: float) -> float:
        scores = ((level - spread * z) / noise / math.sqrt(2) for z, _ in nodes)
        return math.fsum(
            weight * math.erfc(score) / 2 for score, (_, weight) in zip(scores, nodes, strict=True)
        )

    low, high = float(threshold) - 3, float(threshold) + 3
    for _ in range(54):
        middle = (low + high) / 2
        low, high = (middle, high) if selected(middle) > wanted else (low, middle)
    return low


def _trapezoid(nodes: int, reach: float) -> list[tuple[float, float]]:
    """Nodes and weights of a mean over a standard normal."""
    points = [reach * (2 * place / (nodes - 1) - 1) for place in range(nodes)]
    weights = [math.exp(-(point**2) / 2) for point in points]
    return [(p, w / math.fsum(weights)) for p, w in zip(points, weights, strict=True)]


def _log_spared(score: float) -> float:
    """Log of the probability not to fire, Φ(score); from the upper tail where it is near one."""
    return math.log1p(-math.erfc(score / math.sqrt(2)) / 2) if score > -5 else _log_tail(score)


def _log_tail(score: float) -> float:
    """Log Φ far below zero, by the asymptotic series through mpmath where erfc vanishes."""
    if score > -37:
        return math.log(math.erfc(-score / math.sqrt(2)) / 2)
    return float(Exactly.log(Exactly.erfc(-Exactly.mpf(score) / Exactly.sqrt(2)) / 2))


@dataclass(frozen=True)
class Nodes:
    """How finely each mean is taken."""

    popularity: int = 181
    request: int = 33
    block: int = 21


USUAL = Nodes()


@cache
def hazards(
    experts: int, top_k: int, window: int, router: Router, nodes: Nodes = USUAL
) -> list[tuple[float, float]]:
    """Weight of each popularity, and the log chance that one request's window spares the expert."""
    found = spreads(experts, top_k, window, router)
    block_nodes = _trapezoid(nodes.block, 7.0) if found.block > 0 else [(0.0, 1.0)]
    request_nodes = _trapezoid(nodes.request, 7.5) if found.request > 0 else [(0.0, 1.0)]
    popularity_nodes = _trapezoid(nodes.popularity, 8.5) if found.popularity > 0 else [(0.0, 1.0)]
    length = found.block_length

    def block(level: float) -> float:
        logs = [length * _log_spared((level - found.block * x) / found.noise)
                for x, _ in block_nodes]  # fmt: skip
        return _log_mean(logs, [w for _, w in block_nodes])

    def request(level: float) -> float:
        logs = [window / length * block(level - found.request * y) for y, _ in request_nodes]
        return _log_mean(logs, [w for _, w in request_nodes])

    return [
        (weight, request(found.threshold - found.popularity * bent(z, router.skew)))
        for z, weight in popularity_nodes
    ]


def _log_mean(logs: list[float], weights: list[float]) -> float:
    top = max(logs)
    return top + math.log1p(
        math.fsum(w * math.expm1(each - top) for each, w in zip(logs, weights, strict=True))
    )


def unique(
    experts: int, top_k: int, batch: int, window: int, router: Router, nodes: Nodes = USUAL
) -> float:
    """U(B, q) of N experts, k of them per token."""
    if top_k == experts:
        return float(experts)
    if batch * window == 1:
        return float(top_k)
    if router.groups > router.groups_per_token:
        router = ungrouped(router, correlation_share(experts, top_k, router))
    found = hazards(experts, top_k, window, router, nodes)
    loaded = math.fsum(weight * -math.expm1(batch * log) for weight, log in found)
    return experts * loaded


def ungrouped(router: Router, share: float) -> Router:
    """A free router whose correlations are a share of a group-limited one's."""
    popularity, request, recency, decay, skew, *_ = router
    return Router(popularity * share, request * share, recency * share, decay, skew)


@cache
def correlation_share(experts: int, top_k: int, router: Router, draws: int = 4000) -> float:
    """1 - .7 x^1.8, x being the share of a free top-k outside the groups kept, by Monte Carlo."""
    rng = random.Random(20)
    size = max(experts // router.groups, 1)
    outside = 0
    for _ in range(draws):
        scores = [(rng.gauss(0, 1), place // size) for place in range(size * router.groups)]
        best_two = [
            sum(sorted((score for score, own in scores if own == group), reverse=True)[:2])
            for group in range(router.groups)
        ]
        bar = sorted(best_two, reverse=True)[router.groups_per_token - 1]
        best = sorted(scores, reverse=True)[:top_k]
        outside += sum(best_two[group] < bar for _, group in best)
    return float(1 - 0.7 * (outside / draws / top_k) ** 1.8)


def unique_exactly(experts: int, top_k: int, batch: int, router: Router) -> Any:
    """U(B, 1) with adaptive quadrature in 30 digits."""
    threshold, share = threshold_and_share(experts, top_k)
    correlation = exact_correlation(Exactly.mpf(router.popularity), threshold, share)
    spread, noise = Exactly.sqrt(correlation), Exactly.sqrt(1 - correlation)

    def spared(z: Any) -> Any:
        fires = Exactly.ncdf((spread * z - threshold) / noise)
        return Exactly.npdf(z) * (1 - (1 - fires) ** batch)

    return experts * Exactly.quad(spared, [-14, *range(-8, 9), 14])


def uniform(experts: int, top_k: int, tokens: int) -> Any:
    """N (1 - (1 - k/N)^T) in 30 digits."""
    return experts * (1 - (1 - Exactly.mpf(top_k) / experts) ** tokens)


Unique = Callable[[int, int, int, int, Router], Any]


class Load(NamedTuple):
    """Of the busiest rank: distinct experts, and pairs of a token and one of its experts."""

    unique: Any
    slots: Any


def busiest(
    experts: int, top_k: int, batch: int, window: int, router: Router, ranks: Any, unique_of: Unique
) -> Load:
    """Busiest of the ranks that share the experts, from beta-binomial moments."""
    tokens, loaded = batch * window, unique_of(experts, top_k, batch, window, router)
    most_held = -(-experts // ranks)
    if most_held == experts:
        return Load(loaded, tokens * top_k)
    share = Exactly.mpf(top_k) / experts
    alike = _alike(experts, top_k, batch, window, router, unique_of)
    held = Exactly.mpf(most_held)
    ranks = experts / held
    most = _maximum(loaded / Exactly.mpf(experts), 0, 1, experts, ranks)
    spread = Exactly.mpf(experts) / max(experts - 1, 1) * (largest_of(ranks)[0] / 2) ** 2
    if held * (1 - loaded / Exactly.mpf(experts)) <= spread:
        most = held
    slots = _maximum(share, alike, tokens, experts, ranks)
    return Load(
        min(max(most, loaded / ranks), held, loaded),
        min(max(slots, Exactly.mpf(tokens) * top_k / ranks), tokens * min(held, top_k)),
    )


def _alike(
    experts: int, top_k: int, batch: int, window: int, router: Router, unique_of: Unique
) -> Any:
    """Correlation of an expert's selection at two of the tokens, mean over their pairs."""
    mean = pair_means(router.decay, max(window, 2))[0]
    beyond = float(router.request + router.recency * mean)
    within = 2 - unique_of(experts, top_k, 1, 2, router._replace(request=beyond, recency=0.0)) / (
        Exactly.mpf(top_k)
    )
    across = 2 - unique_of(experts, top_k, 2, 1, router) / Exactly.mpf(top_k)
    near, far = window - 1, (batch - 1) * window
    both = (near * within + far * across) / max(near + far, 1)
    share = Exactly.mpf(top_k) / experts
    return max(both - share, 0) / (1 - share) if share < 1 else 0


def _maximum(probability: Any, alike: Any, draws: int, experts: int, ranks: Any) -> Any:
    """Expected largest of the ranks' counts: mean + sd [m1 + skewness/6 (m2 - 1)]."""
    held = Exactly.mpf(experts) / ranks
    variance = draws * probability * (1 - probability) * (1 + (draws - 1) * alike)
    lean = (1 - 2 * probability) * (1 + (2 * draws - 1) * alike) / (1 + alike)
    correction = Exactly.sqrt(Exactly.mpf(experts) / max(experts - 1, 1))
    first, second = largest_of(ranks)
    above = Exactly.sqrt(held * variance) * first + lean * (second - 1) / 6
    return held * draws * probability + correction * above


@cache
def largest_of(ranks: Any) -> tuple[Any, Any]:
    """First two moments of the largest of so many standard normals."""

    def density(x: Any) -> Any:
        return ranks * Exactly.npdf(x) * Exactly.ncdf(x) ** (ranks - 1)

    cuts = [-12, -4, -2, 0, 1, 2, 3, 4, 6, 12]
    return (
        Exactly.quad(lambda x: x * density(x), cuts),
        Exactly.quad(lambda x: x * x * density(x), cuts),
    )
