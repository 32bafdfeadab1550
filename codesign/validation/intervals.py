"""Do 5-95 % intervals hold the measured value as often as they say, and are they sharp?

The draws of uncertain inputs say how much a prediction varies; what the model leaves out they
cannot say. Its size is taken from the residuals of the *other* groups, so that no group sets the
width of its own interval (normalised conformal prediction, Papadopoulos et al. 2002).
"""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from codesign.model.arrays import NORMAL_95, FloatArray

LEVEL: Final = 0.9
"""Share of measurements between the 5 and 95 % points."""

LEAST_SPREAD: Final = 0.03
"""Log standard deviation that no prediction is better than [-]."""

FEWEST_GROUPS: Final = 3


@dataclass(frozen=True)
class HeldOut:
    """One cell of measurements against a prediction that was not fitted to it.

    Parameters
    ----------
    group : str
        Cells of one group are left out together.
    predicted, reported : float
    spread : float
        Log standard deviation of the prediction's draws; 0 without draws [-].
    """

    group: str
    predicted: float
    reported: float
    spread: float = 0.0

    @property
    def residual(self) -> float:
        """Log of reported over predicted [-]."""
        return float(np.log(self.reported / self.predicted))


@dataclass(frozen=True)
class IntervalScore:
    """How good the intervals of a kind of prediction are.

    Parameters
    ----------
    name : str
    cells, groups : int
    coverage : float
        Share of cells inside their interval [-].
    drawn_coverage : float
        The same of intervals that the draws alone would give, were they normal [-].
    width : float
        Median of upper over lower end, minus 1 [-].
    pinball, constant_pinball : float
        Mean pinball loss of both ends in log units, and that of one constant relative error [-].
    """

    name: str
    cells: int
    groups: int
    coverage: float
    drawn_coverage: float
    width: float
    pinball: float
    constant_pinball: float


def score_intervals(name: str, cells: list[HeldOut]) -> IntervalScore | None:
    """Score 5-95 % intervals; None with fewer than three groups.

    Notes
    -----
    A cell's half width is s q, with s² = spread² + .03² and q the 90 % quantile of |residual| / s
    over the cells of other groups. The constant baseline has the same s everywhere.
    """
    groups = np.array([cell.group for cell in cells])
    if np.unique(groups).size < FEWEST_GROUPS:
        return None
    residuals = np.array([cell.residual for cell in cells])
    drawn = np.array([cell.spread for cell in cells])
    spread = np.hypot(drawn, LEAST_SPREAD)
    half = _half_widths(groups, residuals, spread)
    constant = _half_widths(groups, residuals, np.ones_like(spread))
    return IntervalScore(
        name=name,
        cells=len(cells),
        groups=int(np.unique(groups).size),
        coverage=float(np.mean(np.abs(residuals) <= half)),
        drawn_coverage=float(np.mean(np.abs(residuals) <= NORMAL_95 * drawn)),
        width=float(np.median(np.expm1(2.0 * half))),
        pinball=_pinball(residuals, half),
        constant_pinball=_pinball(residuals, constant),
    )


def _half_widths(groups: NDArray[np.str_], residuals: FloatArray, spread: FloatArray) -> FloatArray:
    """Spread times the other groups' conformal quantile, with its finite-sample correction."""
    scaled = np.abs(residuals) / spread
    half = np.empty_like(scaled)
    for own in np.unique(groups):
        others = scaled[groups != own]
        level = min(1.0, np.ceil((others.size + 1) * LEVEL) / others.size)
        half[groups == own] = np.quantile(others, level, method="higher")
    return np.asarray(half * spread)


def _pinball(residuals: FloatArray, half: FloatArray) -> float:
    """Mean loss of the lower and the upper end."""
    tail = (1.0 - LEVEL) / 2.0
    losses = [
        np.maximum(level * (residuals - end), (level - 1.0) * (residuals - end))
        for level, end in ((tail, -half), (1.0 - tail, half))
    ]
    return float(np.mean(losses))
