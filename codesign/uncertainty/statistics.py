"""One number from the draws of an objective: mean, quantile, or mean of the worst."""

from typing import Final

import numpy as np

from codesign.model.arrays import FloatArray

FEW: Final = 20
"""With fewer draws none need lie in a tail of 5 %: the interval is narrower than it claims."""


def statistic(name: str, samples: FloatArray, *, larger_is_better: bool) -> FloatArray:
    """Reduce the first axis.

    Parameters
    ----------
    name : str
        ``mean``, ``qNN`` (the quantile at NN %), or ``cvarNN`` (the mean of the worst NN %).
    samples : ndarray, shape (draws, ...)
    larger_is_better : bool
        Which end is the worst.

    Examples
    --------
    >>> draws = np.arange(1.0, 21.0)
    >>> float(statistic("mean", draws, larger_is_better=True))
    10.5
    >>> float(statistic("cvar10", draws, larger_is_better=True))
    1.5
    """
    if name == "mean":  # of rows: summed alike however many designs there are
        return np.asarray(np.ascontiguousarray(np.moveaxis(samples, 0, -1)).mean(axis=-1))
    if name.startswith("q"):
        return np.asarray(np.quantile(samples, int(name[1:]) / 100, axis=0))
    worst = max(1, round(len(samples) * int(name[4:]) / 100))
    ordered = np.sort(samples if larger_is_better else -samples, axis=0)[:worst].mean(axis=0)
    return np.asarray(ordered if larger_is_better else -ordered)


def interval(samples: FloatArray) -> tuple[float, float]:
    """Return the 5 % and 95 % quantiles of one-dimensional samples."""
    low, high = np.quantile(samples, [0.05, 0.95])
    return float(low), float(high)


def of_few(draws: int) -> str:
    """Return what to say after ``5-95 %``: of how many draws, where they are few.

    Examples
    --------
    >>> of_few(64), of_few(8)
    ('', ' of 8 draws')
    """
    return f" of {draws} draws" if draws < FEW else ""
