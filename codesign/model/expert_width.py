"""Width of a routed expert, so that a budget of expert parameters is kept."""

import numpy as np

from codesign.model.arrays import ArrayLike, FloatArray


def rounded_width(budget: ArrayLike, experts_sharing: ArrayLike, step: int) -> FloatArray:
    """Width that spends `budget` over so many experts, to the nearest multiple of `step`.

    Parameters
    ----------
    budget : array_like
        Widths of all the experts together [element].
    experts_sharing : array_like
        k + S for active, N + S for total parameters (shared ones in routed widths) [-].
    step : int
        What the kernels tile by; the result is at least one step.

    Examples
    --------
    Qwen3-30B-A3B spends 8 x 768; nine experts of 704 are its nearest equal.

    >>> float(rounded_width(8 * 768, 9, 64))
    704.0
    """
    exact = np.asarray(budget, dtype=np.float64) / experts_sharing
    return np.asarray(np.maximum(np.round(exact / step), 1.0) * step)
