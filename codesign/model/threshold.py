"""Selecting the k best of N experts, seen from one expert: its score against a random threshold."""

from typing import Final

import numpy as np
from scipy.special import ndtr, ndtri, owens_t

from codesign.model.arrays import ArrayLike, FloatArray

SOFTENING: Final = 0.3
"""Fitted to exact top-k overlaps, see `effective_correlation`."""

_TINY: Final = np.finfo(np.float64).tiny
"""Makes 0/0 a 0 where k = N: there is no threshold to cross."""


def threshold(activation_ratio: ArrayLike) -> FloatArray:
    """Score that a share u = k/N of the experts exceeds, τ = Φ⁻¹(1 - u) [-]."""
    return np.asarray(-ndtri(np.asarray(activation_ratio, dtype=np.float64)))


def joint_excess(threshold: ArrayLike, correlation: ArrayLike) -> FloatArray:
    """Probability that two correlated scores both exceed τ, less that of independent ones [-].

    Notes
    -----
    P(g > τ, g' > τ) - u² = u - 2 T(τ, √((1-r)/(1+r))) - u², T being Owen's function.
    """
    correlation = np.asarray(correlation, dtype=np.float64)
    selected = ndtr(-np.asarray(threshold, dtype=np.float64))
    angle = np.sqrt((1.0 - correlation) / (1.0 + correlation))
    excess = selected * (1.0 - selected) - 2.0 * owens_t(threshold, angle)
    return np.asarray(np.maximum(excess, 0.0))


def threshold_share(experts: ArrayLike, top_k: ArrayLike) -> FloatArray:
    """Variance of the exact top-k's threshold, as a share of that of score minus threshold [-].

    Parameters
    ----------
    experts, top_k : array_like
        N and k [-].

    Notes
    -----
    An expert is selected if its score exceeds Q, the k-th best of the other N-1. Q has variance
    v = u(1-u) / ((N-1) φ(τ)²) (Bahadur 1966, doi:10.1214/aoms/1177699450); the share is v/(1+v).
    """
    selected = np.asarray(top_k) / np.asarray(experts, dtype=np.float64)
    density = np.exp(-(threshold(selected) ** 2)) / (2.0 * np.pi)
    spread = selected * (1.0 - selected)
    others = np.maximum(np.asarray(experts) - 1.0, 1.0)
    return np.asarray(spread / (spread + others * density + _TINY))


def effective_correlation(
    correlation: ArrayLike, threshold: ArrayLike, share: ArrayLike
) -> FloatArray:
    """Correlation of score minus threshold at two tokens, for an exact top-k [-].

    Parameters
    ----------
    correlation : array_like
        r, of the scores [-].
    threshold, share : array_like
        τ and w, from `threshold` and `threshold_share`; w = 0 is a fixed threshold [-].

    Notes
    -----
    r_eff = (1-w) r + w ρ. The thresholds' correlation ρ is that of soft indicators
    Φ((g - τ')/h), which a finite sample makes of Bahadur's step:
    ρ = excess(r / (1+h²)) / excess(1 / (1+h²)), h² = .3 v². Keeps r = 0 and 1 and is monotone.
    The factor .3 is the only fitted number: with it 2 - overlap, the unique experts of two tokens
    in units of k, is within .03 % of exact quadrature for r <= .6 and k >= 2, and within 1 %
    everywhere (N = 2...4096, k = 1...8, r = .05...0.95; `scripts/decision_figures.py`).
    """
    share = np.asarray(share, dtype=np.float64)
    softness = 1.0 + SOFTENING * (share / (1.0 - share)) ** 2
    alike = joint_excess(threshold, np.asarray(correlation) / softness)
    same = joint_excess(threshold, 1.0 / softness)
    return np.asarray((1.0 - share) * correlation + share * alike / (same + _TINY))
