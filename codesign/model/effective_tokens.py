"""How many independent tokens load as many experts as B sequences of q alike ones.

The number is a smooth function of the threshold and of the exact top-k's threshold variance. It is
integrated once per (router, B, q) at fixed nodes and interpolated by Chebyshev polynomials, so that
a design's figure does not depend on what else is evaluated, nor its cost on the integral's.
"""

from functools import lru_cache
from typing import Final

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander
from numpy.polynomial.hermite_e import hermegauss
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from codesign.model.arrays import ArrayLike, FloatArray, matrix_product
from codesign.model.routing import RouterParameters, mean_decay
from codesign.model.table_grid import TableGrid, chebyshev_fit
from codesign.model.threshold import effective_correlation

LARGEST_CORRELATION: Final = 0.9
"""Higher ones count as this: published ones are lower, and the quadrature needs some noise."""


def _gaussian_trapezoid(nodes: int, reach: float) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of a mean over a standard normal.

    Converges exponentially, as Gauss-Hermite does, but spends its nodes on the steep middle.
    """
    points = np.linspace(-reach, reach, nodes)
    weights = np.exp(-(points**2) / 2)
    return points, weights / weights.sum()


_REACH: Final = 6.5
_POPULARITY, _POPULARITY_WEIGHT = _gaussian_trapezoid(160, _REACH)
_REQUEST, _REQUEST_WEIGHT = _gaussian_trapezoid(20, 5.5)
_BLOCK, _BLOCK_WEIGHT = hermegauss(6)
_BLOCK_WEIGHT = _BLOCK_WEIGHT / _BLOCK_WEIGHT.sum()
_OFFSET: Final = _REACH * chebpts1(16)


_OFFSET_FIT: Final = chebyshev_fit(16)

# k/N from 2.33e-4 to .945, where all experts are soon loaded; share .38 is N = 4, k = 1.
_USUAL: Final = TableGrid((-1.6, 3.5), (0.0, 0.4), (19, 4))
# Down to k/N = 6e-9, and N = 2 and 3: twice the work, so only for designs that need it.
_WIDE: Final = TableGrid((-1.6, 5.7), (0.0, 0.62), (27, 6))


def effective_tokens(
    threshold: ArrayLike,
    share: ArrayLike,
    batch_size: ArrayLike,
    window: ArrayLike,
    router: RouterParameters,
) -> FloatArray:
    """Independent tokens with the same expected unique experts, n in 1 - U/N = (1 - u)^n.

    Parameters
    ----------
    threshold, share : array_like
        τ = Φ⁻¹(1-u) and w of `codesign.model.threshold`, of the design [-]. For u > .945 the value
        at .945 is taken: nearly all experts are loaded by two tokens.
    batch_size, window : array_like of int
        B sequences of q consecutive tokens [sequence], [token].
    router : RouterParameters

    Returns
    -------
    ndarray
        Between 1 and B q; all arguments broadcast [token].

    Notes
    -----
    Three nested means over standard normals, p the probability that an expert fires:
    1 - U/N = E_z[(E_y[(E_x[(1 - p(z, y, x))^b])^(q/b)])^B]. z is the popularity of the expert, y
    the request's context, and x what a block of b neighbouring tokens has in common: b and its
    correlation reproduce the mean and the mean square of r_a·φ^(lag-1) over the pairs of the
    window; decision 3 says how near that is to the autoregressive chain. Interpolation and
    quadrature together err by less than 3e-4 for published routers, and by less than 2e-3 for
    popularity .6, skew .3 or decay .8 (N to 4096, B to 65,536), and by less than 3e-3 for k/N below
    2e-4: `tests/twin/test_router_twin.py`.
    """
    pairs, pair = _distinct(threshold, share)
    rare = (pairs[:, 0] > _USUAL.thresholds[1]) | (pairs[:, 1] > _USUAL.shares[1])
    logarithm = np.zeros(())
    for grid, chosen in ((_USUAL, ~rare), (_WIDE, rare)):
        if chosen.any():
            coefficients, setting = _router_coefficients(grid, router, window, batch_size)
            found = matrix_product(grid.polynomials(*pairs.T), coefficients)[pair, setting]
            logarithm = found if chosen.all() else np.where(chosen[pair], found, logarithm)
    most = np.asarray(batch_size, dtype=np.float64) * window
    return np.asarray(np.clip(np.exp(logarithm), 1.0, most))


def _router_coefficients(
    grid: TableGrid, router: RouterParameters, window: ArrayLike, batch_size: ArrayLike
) -> tuple[FloatArray, NDArray[np.intp]]:
    """Coefficients of distinct settings on the last axis, and which of them each element has."""
    own = (router.skew, router.decay, router.popularity, router.request, router.recency)
    if any(np.size(value) > 1 for value in own):  # draws on an axis of their own
        settings, setting = _distinct(*own, window, batch_size)
        tables = [_coefficients(grid, *row) for row in settings.tolist()]
        return np.stack(tables, axis=-1), setting
    settings, setting = _distinct(window, batch_size)
    total = np.zeros(())
    for part, weight in router.between or ((router, 1.0),):
        values = (part.skew, part.decay, part.popularity, part.request, part.recency)
        scalars = tuple(float(np.reshape(value, -1)[0]) for value in values)
        tables = [_coefficients(grid, *scalars, *row) for row in settings.tolist()]
        total = total + weight * np.stack(tables, axis=-1)
    return total, setting


def _distinct(*arguments: ArrayLike) -> tuple[FloatArray, NDArray[np.intp]]:
    """Distinct rows of arguments that broadcast, and which row each element has."""
    rows, index = np.empty((1, 0)), np.zeros((), dtype=np.intp)
    for argument in arguments:
        values, code = np.unique(np.asarray(argument, dtype=np.float64), return_inverse=True)
        index = index * values.size + code.reshape(np.shape(argument))
        used, inverse = np.unique(index, return_inverse=True)
        index = inverse.reshape(index.shape)
        rows = np.column_stack((rows[used // values.size], values[used % values.size]))
    return rows, index


@lru_cache(maxsize=8192)
def _coefficients(
    grid: TableGrid,
    skew: float,
    decay: float,
    popularity: float,
    request: float,
    recency: float,
    window: float,
    batch_size: float,
) -> FloatArray:
    """Chebyshev coefficients of log n, degrees of threshold and share raveled."""
    spared = _log_spared(grid, skew, decay, popularity, request, recency, window)
    total = _log_mean_exp(batch_size * spared, _POPULARITY_WEIGHT)
    tokens = np.clip(total / log_ndtr(grid.threshold), 1.0, batch_size * window)
    logarithms: FloatArray = np.asarray(np.log(tokens))
    return matrix_product(grid.fit, logarithms)


@lru_cache(maxsize=128)
def _log_spared(
    grid: TableGrid,
    skew: float,
    decay: float,
    popularity: float,
    request: float,
    recency: float,
    window: float,
) -> FloatArray:
    """Log probability that q tokens of a request spare an expert: tabulated (τ, w), popularity."""
    mean, square = float(mean_decay(decay, window)), float(mean_decay(decay**2, window))
    block = 1.0 + (window - 1.0) * mean**2 / square
    if window == 1:
        request = recency = 0.0
    spread, request_spread, block_spread, noise = _spreads(
        grid, popularity, request, recency * square / mean
    )
    bent = (_POPULARITY - skew * (_POPULARITY**2 - 1.0)) / np.sqrt(1.0 + 2.0 * skew**2)
    level = grid.threshold[:, None]
    if skew:
        level = _skewed_threshold(level, bent, spread)
    score = (level - spread * _OFFSET)[..., None] - request_spread[..., None] * _REQUEST
    score = score[..., None] - block_spread[..., None, None] * _BLOCK
    blocks = _log_mean_exp(block * log_ndtr(score / noise[..., None, None]), _BLOCK_WEIGHT)
    spared = _log_mean_exp(window / block * blocks, _REQUEST_WEIGHT)
    # log(-log) is nearly a polynomial in popularity, whose fine grid the batch power needs.
    logarithms: FloatArray = np.log(np.maximum(-spared, np.finfo(np.float64).tiny))
    hazard = matrix_product(logarithms, _OFFSET_FIT.T)
    fine = chebvander(np.clip(bent / _REACH, -1.0, 1.0), _OFFSET.size - 1)
    return np.asarray(-np.exp(matrix_product(hazard, fine.T)))


def _spreads(
    grid: TableGrid, popularity: float, request: float, block: float
) -> tuple[FloatArray, ...]:
    """Standard deviations of the parts of score minus threshold, shape (nodes, 1)."""
    sums = np.minimum(np.cumsum([popularity, request, block]), LARGEST_CORRELATION)
    effective = effective_correlation(sums[:, None], grid.threshold, grid.share)
    parts = np.diff(effective, axis=0, prepend=0.0, append=1.0)
    return tuple(np.sqrt(np.maximum(parts, 0.0))[..., None])


def _skewed_threshold(threshold: FloatArray, bent: FloatArray, spread: FloatArray) -> FloatArray:
    """Threshold that keeps the share of selected experts, by Newton's method, shape (nodes, 1)."""
    level, noise = threshold, np.sqrt(1.0 - spread**2)
    for _ in range(8):
        score = (spread * bent - level) / noise
        excess = matrix_product(ndtr(score), _POPULARITY_WEIGHT) - ndtr(-threshold[:, 0])
        density = np.exp(-(score**2) / 2) / np.sqrt(2 * np.pi) / noise
        slope = matrix_product(density, _POPULARITY_WEIGHT)
        level = level + np.clip(excess / slope, -0.5, 0.5)[:, None]
    return level


def _log_mean_exp(logarithms: FloatArray, weights: FloatArray) -> FloatArray:
    """Log of a weighted mean over the last axis; exact both near 0 and far below."""
    top = logarithms.max(axis=-1, keepdims=True)
    mean = matrix_product(np.expm1(logarithms - top), weights)
    return np.asarray(top[..., 0] + np.log1p(mean))
