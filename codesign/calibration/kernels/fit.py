"""Floor, bandwidth and compute of a kernel, fitted to its measured times in relative error."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from codesign.calibration.kernels.rows import TimedKernels
from codesign.errors import CalibrationError
from codesign.model.arrays import FloatArray
from codesign.model.roofline import Kernel, kernel_cost
from codesign.model.step_time import narrow_expert_efficiency

OUTLIER: Final = 0.05
"""Relative error from which a row pulls with constant force, not in proportion (soft L1)."""

FOLDS: Final = 20
"""Configurations are left out one at a time, or in this many groups where there are more."""

LEAST_SHARE: Final = 1e-3
ROUNDS: Final = 3
"""Alternations between the constants of unsharded experts and the width of narrow ones."""

START: Final = (10e-6, 2e12, 400e12, 1.5, 64.0)
BOUNDS: Final = ((1e-8, 1e9, 1e11, 1.0, 1.0), (1e-3, 1e14, 1e17, 4.0, 1e3))
NAMES: Final = ("floor", "bandwidth", "compute", "norm", "narrow_width")


@dataclass(frozen=True)
class FitOptions:
    """How a kernel is fitted.

    Parameters
    ----------
    peak : float
        Datasheet compute, which no kernel exceeds [FLOP/s].
    norm : bool
        Byte and FLOP time are joined by a p-norm, p fitted; otherwise they add up.
    least_share : float
        Share of the peak that compute is taken to reach at least: decode attention hardly depends
        on it, so its measurements do not say [-].
    """

    peak: float
    norm: bool = False
    least_share: float = 0.0


@dataclass(frozen=True)
class FittedKernel:
    """Constants of one kernel and how well they describe its measurements.

    Parameters
    ----------
    kernel : Kernel
    samples, configurations : int
        Rows and shapes behind the fit.
    median_error, p90_error : float
        Absolute relative error of the fit [-].
    left_out_error, left_out_p90_error : float
        The same, each shape predicted from the others [-]; nan with a single shape.
    source : str
    left_out : dict of str to int
        Rows not used, by reason.
    """

    kernel: Kernel
    samples: int
    configurations: int
    median_error: float
    p90_error: float
    left_out_error: float
    left_out_p90_error: float
    source: str
    left_out: dict[str, int]


def fit_kernel(timed: TimedKernels, how: FitOptions) -> FittedKernel:
    """Fit the constants of one kernel.

    Parameters
    ----------
    timed : TimedKernels
    how : FitOptions

    Raises
    ------
    CalibrationError
        With fewer than ten rows.

    Notes
    -----
    Minimises soft-L1 of log(predicted / measured). Of routed experts floor, bandwidth and compute
    come from unsharded rows, the width of narrow ones from all, in turns.
    """
    if timed.seconds.size < 10:
        raise CalibrationError(f"{timed.seconds.size} rows are too few to fit a kernel")
    everything = np.ones(timed.seconds.size, dtype=np.bool_)
    start = np.log(np.array(START))
    found = _solve(timed, everything, start, how, ROUNDS)
    errors = np.abs(predict_seconds(timed, found) / timed.seconds - 1.0)
    left_out = np.abs(left_out_seconds(timed, how, found) / timed.seconds - 1.0)
    kernel = _kernel(found)
    return FittedKernel(
        kernel=kernel,
        samples=timed.seconds.size,
        configurations=np.unique(timed.configuration).size,
        median_error=float(np.median(errors)),
        p90_error=float(np.quantile(errors, 0.9)),
        left_out_error=float(np.median(left_out)),
        left_out_p90_error=float(np.quantile(left_out, 0.9)),
        source=timed.source,
        left_out=timed.left_out,
    )


def left_out_seconds(
    timed: TimedKernels, how: FitOptions, start: FloatArray | None = None
) -> FloatArray:
    """Return the time of every row, predicted without its configuration [s].

    Shape (rows,); nan where there is but one configuration.
    """
    first = np.log(np.array(START)) if start is None else start
    fold = _folds(timed.configuration)
    predicted = np.full(timed.seconds.size, np.nan)
    for one in range(fold.max() + 1):
        out = fold == one
        if out.all():
            break
        found = _solve(timed, ~out, first, how, ROUNDS if start is None else 2)
        predicted[out] = predict_seconds(timed, found)[out]
    return predicted


def predict_seconds(timed: TimedKernels, logarithms: FloatArray) -> FloatArray:
    """Return the time of every row by constants given as logarithms, in the order of `NAMES`."""
    kernel = _kernel(logarithms)
    traffic = timed.traffic
    if timed.width is not None:
        traffic = traffic / narrow_expert_efficiency(timed.width, kernel.narrow_width)
    return kernel_cost(kernel, 1.0, traffic, timed.flop).seconds


def _kernel(logarithms: FloatArray) -> Kernel:
    floor, bandwidth, compute, norm, narrow = (float(value) for value in np.exp(logarithms))
    return Kernel(floor, bandwidth, compute, norm, narrow)


def _folds(configuration: NDArray[np.str_]) -> NDArray[np.intp]:
    """Number the configurations, dealt into `FOLDS` groups by turns."""
    number = np.unique(configuration, return_inverse=True)[1]
    return np.asarray(number % FOLDS, dtype=np.intp)


def _solve(
    timed: TimedKernels,
    rows: NDArray[np.bool_],
    start: FloatArray,
    how: FitOptions,
    rounds: int,
) -> FloatArray:
    free = [0, 1, 2, 3] if how.norm else [0, 1, 2]
    found = start.copy()
    if not how.norm:
        found[3] = 0.0
    whole = rows if timed.whole is None else rows & timed.whole
    if not (rows & ~whole).any() or not whole.any():  # nothing tells narrow experts from wide
        found[4] = np.log(BOUNDS[0][4])
        return _descend(timed, rows, found, free, how)
    for _ in range(rounds):
        found = _descend(timed, whole, found, free, how)
        found = _descend(timed, rows, found, [4], how)
    return _descend(timed, whole, found, free, how)


def _descend(
    timed: TimedKernels,
    rows: NDArray[np.bool_],
    start: FloatArray,
    free: list[int],
    how: FitOptions,
) -> FloatArray:
    """Move the free constants of the chosen rows; the others stay."""
    part = timed.only(rows)
    low, high = (np.log(np.array(bound)) for bound in BOUNDS)
    low[2], high[2] = np.log(max(how.least_share, LEAST_SHARE) * how.peak), np.log(how.peak)
    measured = np.log(part.seconds)

    def residuals(moved: FloatArray) -> FloatArray:
        tried = start.copy()
        tried[free] = moved
        return np.asarray(np.log(predict_seconds(part, tried)) - measured)

    inside = np.clip(start[free], low[free] + 1e-9, high[free] - 1e-9)
    fit = least_squares(
        residuals, inside, bounds=(low[free], high[free]), loss="soft_l1", f_scale=OUTLIER
    )
    found = start.copy()
    found[free] = fit.x
    return found
