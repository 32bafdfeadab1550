"""Arithmetic intensity, ridge point, and the regime a pass is in."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from codesign.model.arrays import ArrayLike, FloatArray

PARTIAL_LOAD: Final = 1.1
"""Verification loads this many times the experts of decoding: still filling the expert set."""

REGIMES: Final = ("partial load", "sweet spot", "memory bound", "compute bound")


def arithmetic_intensity(
    tokens: ArrayLike, experts: ArrayLike, top_k: ArrayLike, shared_experts: ArrayLike
) -> FloatArray:
    """T (k+S)/(N+S): token-expert products per expert in a pass that loads them all [-].

    FLOP per weight element, up to the factor 2 / bytes per weight (Cohere study).
    """
    return np.asarray(tokens * (top_k + shared_experts) / (experts + shared_experts))


def ridge_intensity(
    compute: ArrayLike, bandwidth: ArrayLike, bytes_per_weight: float
) -> FloatArray:
    """Intensity at which weights and FLOP take equally long, in `arithmetic_intensity`'s unit.

    Parameters
    ----------
    compute, bandwidth : array_like
        Peak or achieved [FLOP/s], [B/s].
    bytes_per_weight : float
        [B].
    """
    return np.asarray(compute / np.asarray(bandwidth) * (bytes_per_weight / 2.0))


def regime(
    unique_ratio: ArrayLike,
    memory_seconds: ArrayLike,
    compute_seconds: ArrayLike,
    sparse: ArrayLike,
) -> NDArray[np.str_]:
    """Name what limits verification.

    Parameters
    ----------
    unique_ratio : array_like
        U(B,q) / U(B,1) [-].
    memory_seconds, compute_seconds : array_like
        Of all components of the verify pass [s].
    sparse : array_like of bool
        k < N; a dense model has no sweet spot.

    Returns
    -------
    ndarray of str
        One of `REGIMES`. Where experts are still filling up and FLOP dominate at once, the larger
        cost is named.
    """
    partial = np.asarray(unique_ratio) > PARTIAL_LOAD
    compute_bound = np.asarray(compute_seconds) > np.asarray(memory_seconds)
    flat = np.where(np.asarray(sparse), "sweet spot", "memory bound")
    return np.where(compute_bound, "compute bound", np.where(partial, "partial load", flat))
