"""Router parameters of a trace with their errors: what it cannot tell stays at its default."""

from dataclasses import dataclass, field
from typing import Final

import numpy as np

from codesign.calibration.router.apply import router_beside
from codesign.calibration.router.cells import LAGS
from codesign.calibration.router.expected import ExpectedRouting, expected_routing
from codesign.calibration.router.fit import (
    FEWEST_SIZES_FOR_SKEW,
    Context,
    Popularity,
    fit_context,
    fit_popularity,
)
from codesign.calibration.router.statistics import Statistics
from codesign.model.arrays import FloatArray
from codesign.model.routing import GENERIC_ROUTER, RouterParameters
from codesign.spec.section import Correlation, Parameter

NAMES: Final = ("popularity", "skew", "request", "recency", "decay")
REPORTED_WINDOWS: Final = (2, 4, 8, 16)

FEWEST_LAGS_FOR_DECAY: Final = 4
FEWEST_LAGS_FOR_CONTEXT: Final = 2
_CHANGE: Final = 0.02

GENERIC: Final[dict[str, float]] = {
    name: float(np.asarray(getattr(GENERIC_ROUTER, name))) for name in NAMES
}


@dataclass(frozen=True)
class RouterEstimate:
    """A fitted router; the first entry of each array is the fit, the others are replicates.

    Parameters
    ----------
    values : dict of ndarray, shape (1 + replicates,)
        By name of the parameter [-].
    correlation : ndarray, shape (1 + replicates, lags)
        r(lag) [-].
    defaults : dict
        Parameters that the trace cannot tell, each with the reason.
    warnings : tuple of str
    """

    values: dict[str, FloatArray]
    correlation: FloatArray
    defaults: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def router(self) -> RouterParameters:
        """The fitted router."""
        value = {name: float(self.values[name][0]) for name in NAMES}
        return RouterParameters(
            value["popularity"], value["request"], value["recency"], value["decay"], value["skew"]
        )

    def parameters(self) -> dict[str, Parameter]:
        """Fitted parameters, those at their default left out."""
        return {name: parameter(self.values[name]) for name in NAMES if name not in self.defaults}

    def window_correlations(self) -> dict[str, Parameter]:
        """Mean correlation in windows of consecutive tokens, by length."""
        found = {}
        for window in REPORTED_WINDOWS:
            if window - 1 > self.correlation.shape[1]:
                break
            weight = window - np.arange(1.0, window)
            mean = self.correlation[:, : window - 1] @ weight / weight.sum()
            found[str(window)] = parameter(mean)
        return found

    def correlations(self) -> tuple[Correlation, ...]:
        """Correlations between the errors of fitted parameters."""
        names = [name for name in self.parameters() if np.ptp(self.values[name]) > 0]
        if len(names) < 2:
            return ()
        matrix = np.corrcoef([self.values[name][1:] for name in names])
        return tuple(
            Correlation(first=names[i], second=names[j], value=round(float(matrix[i, j]), 4))
            for i in range(len(names))
            for j in range(i)
        )


def parameter(values: FloatArray) -> Parameter:
    """Return the first value, with the spread of the others as its standard error."""
    error = float(values[1:].std(ddof=1)) if values.size > 2 else None
    return Parameter(value=float(values[0]), standard_error=error)


def estimate_router(
    statistics: Statistics,
    experts: int,
    top_k: int,
    sizes: tuple[int, ...],
    pair_totals: FloatArray,
    *,
    replicates: int,
    seed: int,
) -> RouterEstimate:
    """Fit the router to one layer's or all layers' statistics.

    Parameters
    ----------
    statistics : Statistics
    experts, top_k : int
        N and k [-].
    sizes : tuple of int
        Batch sizes of `statistics.unique`.
    pair_totals : ndarray, shape (lags,)
        Pairs of tokens at each distance; overlaps without a pair are left out.
    replicates, seed : int
        Draws of the statistics from their errors' distribution, each fitted anew.
    """
    lags = int((pair_totals > 0).sum())
    measured = np.concatenate([statistics.unique, statistics.overlap[:lags]])
    expected = expected_routing(experts, top_k, sizes)
    popularity, defaults = _popularity(expected, measured[None, : len(sizes)], len(sizes))
    correlation = _correlation(expected, popularity, measured[None, len(sizes) :], bool(sizes))
    draws = measured[None]
    if statistics.spread is not None and replicates > 1:
        slope = _slope(experts, top_k, sizes, popularity, correlation)
        draws = _draws(statistics, slope, measured, replicates, seed)
        popularity, _ = _popularity(expected, draws[:, : len(sizes)], len(sizes))
        correlation = _correlation(expected, popularity, draws[:, len(sizes) :], bool(sizes))
    return _assembled(popularity, correlation, pair_totals[:lags], defaults)


def _popularity(
    expected: ExpectedRouting, unique: FloatArray, sizes: int
) -> tuple[Popularity, dict[str, str]]:
    if sizes == 0:
        reason = "fewer than four sequences: what tokens of different requests share is not seen"
        values = np.full(len(unique), GENERIC["popularity"])
        return Popularity(values, np.zeros(len(unique))), {"popularity": reason, "skew": reason}
    if sizes < FEWEST_SIZES_FOR_SKEW:
        reason = "fewer than 16 sequences: unique experts of small batches do not tell it"
        return fit_popularity(expected, unique, skewed=False), {"skew": reason}
    return fit_popularity(expected, unique), {}


def _correlation(
    expected: ExpectedRouting, popularity: Popularity, overlap: FloatArray, known: bool
) -> FloatArray:
    """r(lag); where popularity is not known overlaps may turn out below it."""
    own = popularity.popularity if known else np.zeros(len(overlap))
    return expected.correlation(own, popularity.skew, overlap)


def _slope(
    experts: int,
    top_k: int,
    sizes: tuple[int, ...],
    popularity: Popularity,
    correlation: FloatArray,
) -> FloatArray:
    """Change of the statistics with the number of experts a token selects, relative."""
    ends = []
    for change in (-_CHANGE, _CHANGE):
        expected = expected_routing(experts, top_k, sizes, change)
        one = popularity.popularity[:1], popularity.skew[:1]
        unique = expected.unique(*one)[0, : len(sizes)]
        overlap = expected.overlap(*one, correlation[:1])[0] * expected.top_k / top_k
        ends.append(np.concatenate([unique, overlap]))
    return np.asarray((ends[1] - ends[0]) / (2 * _CHANGE))


def _draws(
    statistics: Statistics, slope: FloatArray, measured: FloatArray, replicates: int, seed: int
) -> FloatArray:
    """The measured statistics, then draws from the distribution of their errors."""
    full = np.concatenate([slope, np.zeros(len(LAGS) - (slope.size - statistics.unique.size))])
    covariance = statistics.covariance(full)
    assert covariance is not None
    covariance = covariance[: measured.size, : measured.size]
    generator = np.random.default_rng(seed)
    drawn = generator.multivariate_normal(measured, covariance, size=replicates, method="eigh")
    return np.vstack([measured, drawn])


def _assembled(
    popularity: Popularity,
    correlation: FloatArray,
    pairs: FloatArray,
    defaults: dict[str, str],
) -> RouterEstimate:
    weight = pairs / pairs.sum() if pairs.size else pairs
    if len(correlation) > 2 and pairs.size:
        weight = 1.0 / np.maximum(correlation[1:].var(axis=0), 1e-10)
    own, warnings = popularity.popularity, []
    if "popularity" in defaults and pairs.size:
        level = _shared_level(correlation, weight)
        if float(level[0]) < GENERIC["popularity"]:
            warnings.append(
                f"distant tokens have r = {level[0]:.3f}, below the default popularity "
                f"{GENERIC['popularity']}: all of it is taken as popularity"
            )
            own = np.minimum(own, level)
    context, reasons = _context(correlation, own, weight)
    values = {
        "popularity": own, "skew": popularity.skew,
        "request": context.request, "recency": context.recency, "decay": context.decay,
    }  # fmt: skip
    return RouterEstimate(values, correlation, defaults | reasons, tuple(warnings))


def _shared_level(correlation: FloatArray, weight: FloatArray) -> FloatArray:
    """What distant tokens of a sequence have in common: popularity and request together."""
    if correlation.shape[1] < FEWEST_LAGS_FOR_CONTEXT:
        return correlation[:, 0]
    return fit_context(
        correlation, np.zeros(len(correlation)), weight, decay=GENERIC["decay"]
    ).request


def _context(
    correlation: FloatArray, own: FloatArray, weight: FloatArray
) -> tuple[Context, dict[str, str]]:
    lags = correlation.shape[1]
    if lags >= FEWEST_LAGS_FOR_DECAY:
        return fit_context(correlation, own, weight), {}
    generic = np.full(len(own), GENERIC["decay"])
    if lags >= FEWEST_LAGS_FOR_CONTEXT:
        reason = f"runs of tokens are too short: overlaps at {lags} distances only"
        return fit_context(correlation, own, weight, decay=GENERIC["decay"]), {"decay": reason}
    if lags == 1:
        reason = "overlaps at one distance only: r_c and r_a share it as in the generic router"
        near = GENERIC["request"] + GENERIC["recency"]
        part = np.maximum(correlation[:, 0] - own, 0.0) / near
        context = Context(part * GENERIC["request"], part * GENERIC["recency"], generic)
        return context, {"decay": reason}
    reason = "no two tokens of a sequence in a row"
    beside = [router_beside(float(value), 0.0, GENERIC_ROUTER) for value in own]
    context = Context(
        np.array([router.request for router in beside]),
        np.array([router.recency for router in beside]),
        generic,
    )
    return context, dict.fromkeys(("request", "recency", "decay"), reason)
