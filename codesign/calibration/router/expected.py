"""Unique experts and overlaps of the latent router at one N and k, tabulated for fitting.

The same exact top-k as `codesign.model.latent_router` (a test holds them together), but for one
design and many routers, where that is for many designs and few routers.
"""

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander
from scipy.special import ndtr

from codesign.model.arrays import FloatArray
from codesign.model.threshold import (
    effective_correlation,
    joint_excess,
    threshold,
    threshold_share,
)

LARGEST_CORRELATION: Final = 0.89
"""Just below where the model stops telling correlations apart."""
LARGEST_SKEW: Final = 0.5
"""Beyond it the bent score turns within one standard deviation."""

_SPREAD_RANGE: Final = (0.0, float(np.sqrt(LARGEST_CORRELATION)))
_SKEW_RANGE: Final = (-LARGEST_SKEW, LARGEST_SKEW)
_ANGLE_RANGE: Final = (0.0, 1.35)
_DEGREES: Final = (19, 11, 11)

_NORMAL: Final = np.linspace(-6.5, 6.5, 160)
_WEIGHT: Final = np.exp(-(_NORMAL**2) / 2) / np.exp(-(_NORMAL**2) / 2).sum()


class ExpectedRouting:
    """Expected figures of routers with N experts and an exact top-k.

    Parameters
    ----------
    experts, top_k : int
        N and k [-].
    tokens : ndarray of int, shape (sizes,)
        Numbers of independent tokens whose unique experts are wanted.
    exact : bool
        An exact top-k; otherwise the published closed form with a fixed threshold.
    """

    def __init__(
        self, experts: float, top_k: float, tokens: FloatArray, *, exact: bool = True
    ) -> None:
        self.experts, self.top_k, self.tokens = experts, top_k, tokens
        self._threshold = float(threshold(top_k / experts))
        self._share = float(threshold_share(experts, top_k)) if exact else 0.0
        grid = np.linspace(0.0, LARGEST_CORRELATION, 400)
        self._correlations = grid, self._effective(grid)
        spread, skew, angle = (
            _nodes(degree, bounds)
            for degree, bounds in zip(
                _DEGREES, (_SPREAD_RANGE, _SKEW_RANGE, _ANGLE_RANGE), strict=True
            )
        )
        score = self._scores(spread[:, None] ** 2, skew)
        missed = ndtr(score)[..., None] ** tokens
        self._missed = _fit(_fit(np.einsum("rgzb,z->rgb", missed, _WEIGHT), 0), 1)
        both = ndtr(-score) ** 2 @ _WEIGHT
        excess = np.stack([joint_excess(score, np.sin(a)) @ _WEIGHT for a in angle], axis=-1)
        shared = (both[..., None] + excess) * experts / top_k
        self._overlap = _fit(_fit(_fit(shared, 0), 1), 2)

    def unique(self, popularity: FloatArray, skew: FloatArray) -> FloatArray:
        """Unique experts of independent tokens, `tokens` on a new last axis [-].

        Parameters
        ----------
        popularity, skew : ndarray, shape (routers,)
            r_p and g [-].
        """
        missed = _contracted(self._missed, popularity, skew)
        return np.asarray(self.experts * (1.0 - missed))

    def overlap(
        self, popularity: FloatArray, skew: FloatArray, correlation: FloatArray
    ) -> FloatArray:
        """Share of a token's experts that a token of the same request selects too [-].

        Parameters
        ----------
        popularity, skew : ndarray, shape (routers,)
            r_p and g [-].
        correlation : ndarray, shape (routers, lags)
            r of the two tokens' scores, at least r_p [-].
        """
        own = self._effective(popularity)[:, None]
        rest = (self._effective(correlation) - own) / (1.0 - own)
        angle = np.arcsin(np.clip(rest, 0.0, 1.0))
        curve = self._angle_curves(popularity, skew)
        return np.asarray(np.einsum("rli,ri->rl", _basis(angle, 2), curve))

    def correlation(
        self, popularity: FloatArray, skew: FloatArray, overlap: FloatArray
    ) -> FloatArray:
        """Correlation of scores at which the overlap is as given, shape (routers, lags) [-].

        The inverse of `overlap`; an overlap that popularity alone exceeds gives r_p.
        """
        curve = self._angle_curves(popularity, skew)
        angles = np.linspace(*_ANGLE_RANGE, 241)
        levels = curve @ _basis(angles, 2).T
        angle = np.stack([np.interp(x, y, angles) for x, y in zip(overlap, levels, strict=True)])
        own = self._effective(popularity)[:, None]
        effective = own + np.sin(angle) * (1.0 - own)
        grid, known = self._correlations
        return np.asarray(np.interp(effective, known, grid))

    def _angle_curves(self, popularity: FloatArray, skew: FloatArray) -> FloatArray:
        return _contracted(self._overlap, popularity, skew)

    def _effective(self, correlation: FloatArray) -> FloatArray:
        if self._share == 0.0:
            return np.asarray(correlation, dtype=np.float64)
        return effective_correlation(correlation, self._threshold, self._share)

    def _scores(self, popularity: FloatArray, skew: FloatArray) -> FloatArray:
        """Threshold less popularity, in units of the noise; shape (r_p, g, normal)."""
        own = self._effective(popularity)[..., None]
        bent = (_NORMAL - skew[:, None] * (_NORMAL**2 - 1.0)) / np.sqrt(1.0 + 2.0 * skew**2)[
            :, None
        ]
        spread, noise = np.sqrt(own), np.sqrt(1.0 - own)
        level = np.full((*np.broadcast_shapes(popularity.shape, skew.shape), 1), self._threshold)
        for _ in range(8):  # Newton: the skew must not change how many are selected
            score = (level - spread * bent) / noise
            density = np.exp(-(score**2) / 2) / np.sqrt(2.0 * np.pi) / noise
            excess = (1.0 - ndtr(score)) @ _WEIGHT - self.top_k / self.experts
            level = level + np.clip(excess / (density @ _WEIGHT), -0.5, 0.5)[..., None]
        return np.asarray((level - spread * bent) / noise)


@lru_cache(maxsize=8)
def expected_routing(
    experts: int, top_k: int, sizes: tuple[int, ...], change: float = 0.0
) -> ExpectedRouting:
    """Return expected figures, for a token that selects relatively more experts than k."""
    tokens = np.array(sizes or (2,), dtype=np.float64)
    return ExpectedRouting(experts, min(top_k * (1.0 + change), experts - 1e-6), tokens)


_RANGES: Final = (_SPREAD_RANGE, _SKEW_RANGE, _ANGLE_RANGE)


def _nodes(degree: int, bounds: tuple[float, float]) -> FloatArray:
    low, high = bounds
    return np.asarray((low + high + (high - low) * chebpts1(degree + 1)) / 2.0)


def _basis(values: FloatArray, axis: int) -> FloatArray:
    low, high = _RANGES[axis]
    scaled = (2.0 * np.clip(values, low, high) - low - high) / (high - low)
    return np.asarray(chebvander(scaled, _DEGREES[axis]))


def _contracted(table: FloatArray, popularity: FloatArray, skew: FloatArray) -> FloatArray:
    """A table over (√r_p, g, ...) at the given routers."""
    rows = _basis(np.sqrt(popularity), 0) @ table.reshape(table.shape[0], -1)
    at_popularity = rows.reshape(len(rows), *table.shape[1:])
    return np.asarray((at_popularity * _basis(skew, 1)[..., None]).sum(axis=1))


def _fit(values: FloatArray, axis: int) -> FloatArray:
    """Chebyshev coefficients along one axis of values at its nodes."""
    solve = np.linalg.inv(chebvander(chebpts1(_DEGREES[axis] + 1), _DEGREES[axis]))
    return np.moveaxis(np.tensordot(solve, values, axes=(1, axis)), 0, axis)
