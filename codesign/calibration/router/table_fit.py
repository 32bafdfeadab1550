"""Router parameters from a published table of unique experts and overlaps.

Fitted in the published closed form, a fixed threshold, as the generic router was: the figures that
come out are those of the literature. An exact top-k would move r_p a little.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from codesign.calibration.router.apply import router_beside
from codesign.calibration.router.estimate import GENERIC
from codesign.calibration.router.expected import ExpectedRouting
from codesign.calibration.router.fit import fit_context, fit_popularity
from codesign.calibration.router.trace import LocalityTable
from codesign.errors import CalibrationError
from codesign.model.arrays import FloatArray
from codesign.model.latent_router import unique_experts
from codesign.model.routing import GENERIC_ROUTER, RouterParameters

_CHANGE: Final = 1e-3


@dataclass(frozen=True)
class TableFit:
    """A router fitted to a table.

    Parameters
    ----------
    router : RouterParameters
    popularity_error : float, optional
        From the scatter of the table about the fit [-].
    correlation : dict
        r(lag), by lag [-].
    defaults : dict
        What the table cannot tell, each with the reason.
    """

    router: RouterParameters
    popularity_error: float | None
    correlation: dict[int, float]
    defaults: dict[str, str]

    def unique(self, experts: int, top_k: int, batch_size: int, window: int) -> float:
        """Unique experts in the closed form [-]."""
        return float(
            unique_experts(experts, top_k, batch_size, window, self.router, correct_top_k=False)
        )


def fit_table(table: LocalityTable) -> TableFit:
    """Fit r_p to unique experts by batch size, and r_c, r_a, φ to overlaps by lag.

    Raises
    ------
    CalibrationError
        If the table has neither.
    """
    sizes = [size for size in sorted(table.unique_by_batch) if size > 1]
    lags = sorted(table.overlap_by_lag)
    if not sizes and not lags:
        raise CalibrationError(f"{table.label}: no unique experts of two or more, no overlaps")
    defaults = {"skew": "a table of means does not tell it apart from its rounding"}
    tokens = np.array(sizes or [2], dtype=np.float64)
    expected = ExpectedRouting(table.experts, table.top_k, tokens, exact=False)
    popularity, error = np.array([GENERIC["popularity"]]), None
    if sizes:
        unique = np.array([[table.unique_by_batch[size] for size in sizes]])
        popularity = fit_popularity(expected, unique, skewed=False).popularity
        error = _error(expected, popularity, unique)
    else:
        defaults["popularity"] = "no unique experts by batch size"
    overlap = np.array([[table.overlap_by_lag[lag] for lag in lags]])
    correlation = expected.correlation(np.zeros(1), np.zeros(1), overlap)
    context, reasons = _context(correlation, popularity, lags)
    router = RouterParameters(float(popularity[0]), *context, 0.0)
    found = dict(zip(lags, correlation[0].tolist(), strict=True))
    return TableFit(router, error, found, defaults | reasons)


def _context(
    correlation: FloatArray, popularity: FloatArray, lags: list[int]
) -> tuple[tuple[float, float, float], dict[str, str]]:
    names = ("request", "recency", "decay")
    if len(lags) < 3 or lags != list(range(1, len(lags) + 1)):
        reason = "needs overlaps at lags 1, 2, 3 or more"
        generic = router_beside(float(popularity[0]), 0.0, GENERIC_ROUTER)
        request, recency, decay = (float(getattr(generic, name)) for name in names)
        return (request, recency, decay), dict.fromkeys(names, reason)
    context = fit_context(correlation, popularity, np.ones(len(lags)))
    parts = (context.request, context.recency, context.decay)
    request, recency, decay = (float(part[0]) for part in parts)
    return (request, recency, decay), {}


def _error(expected: ExpectedRouting, popularity: FloatArray, unique: FloatArray) -> float | None:
    """Standard error of r_p from the residuals; unknown where there are none to speak of."""
    if unique.shape[1] < 3:
        return None
    flat = np.zeros(1)
    here = expected.unique(popularity, flat)
    slope = (expected.unique(popularity + _CHANGE, flat) - here) / _CHANGE / unique
    residual = here / unique - 1.0
    variance = (residual**2).sum() / (unique.shape[1] - 1)
    information = float((slope**2).sum())
    return float(np.sqrt(variance / information)) if information > 0 else None
