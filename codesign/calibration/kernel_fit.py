"""Fit one routed-expert kernel: floor, time per loaded expert, time per token."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.optimize import lsq_linear

from codesign.calibration.observation import KernelTime
from codesign.errors import CalibrationError
from codesign.model.arrays import FloatArray
from codesign.model.routing import unique_experts_uniform

SIGNIFICANT: Final = 3.0
SHORTEST: Final = 1e-7
LONGEST: Final = 1e2
MOST_TOKENS: Final = 1e7
NEGLIGIBLE: Final = 1e-6
"""Share of the time below which a coefficient is zero but for the solver's tolerance."""


@dataclass(frozen=True)
class AffineFit:
    """t0 + t1 U(m) + t2 m, by relative error.

    Parameters
    ----------
    coefficients, errors : ndarray, shape (3,)
        Floor [s], time per unique expert [s], time per token [s], and their standard errors; nan
        where a coefficient is at zero or there are no more points than coefficients.
    residuals : ndarray
        Predicted over measured time, minus 1.
    """

    coefficients: FloatArray
    errors: FloatArray
    residuals: FloatArray

    @property
    def rms(self) -> float:
        """Root mean square of the residuals [-]."""
        return float(np.sqrt(np.mean(self.residuals**2)))

    def seconds(self, tokens: FloatArray, unique: FloatArray) -> FloatArray:
        """Return the fitted time [s]."""
        return np.asarray(_design(tokens, unique) @ self.coefficients)

    def crossing(self, experts: int, top_k: int, most: int = 1 << 16) -> float | None:
        """Tokens from which computing takes longer than everything else; nothing below `most`."""
        floor, per_expert, per_token = self.coefficients
        tokens = np.arange(1.0, most + 1)
        rest = floor + per_expert * unique_experts_uniform(experts, top_k, tokens)
        beyond = np.flatnonzero(per_token * tokens > rest)
        return float(tokens[beyond[0]]) if beyond.size else None


def _design(tokens: FloatArray, unique: FloatArray) -> FloatArray:
    return np.stack([np.ones_like(tokens), unique, tokens], axis=1)


def fit_affine(tokens: FloatArray, unique: FloatArray, seconds: FloatArray) -> AffineFit:
    """Fit non-negative coefficients to predicted / measured = 1.

    Parameters
    ----------
    tokens, unique, seconds : ndarray, shape (points,)
        m, U(m) and measured time [s].

    Notes
    -----
    Time per token is left out unless it is `SIGNIFICANT` times its standard error: below saturation
    experts and tokens grow together, and a time per token that the points do not show would only
    take from the time per expert.
    """
    scaled = _design(tokens, unique) / seconds[:, None]
    full = _solve(scaled, [0, 1, 2])
    if full.coefficients[2] > SIGNIFICANT * full.errors[2]:
        return full
    return _solve(scaled, [0, 1])


def _solve(scaled: FloatArray, columns: list[int]) -> AffineFit:
    """Least squares with some of the coefficients, none of them negative, the others zero."""
    part = scaled[:, columns]
    size = np.linalg.norm(part, axis=0)
    found = lsq_linear(part / size, np.ones(len(part)), bounds=(0.0, np.inf), tol=1e-13)
    coefficients, errors = np.zeros(3), np.full(3, np.nan)
    positive = np.asarray(found.x) > NEGLIGIBLE
    active = np.array(columns)[positive]
    coefficients[active] = (np.asarray(found.x) / size)[positive]
    residuals = np.asarray(scaled @ coefficients - 1)
    freedom = len(part) - active.size
    if freedom > 0 and active.size:
        inner = np.linalg.pinv(scaled[:, active].T @ scaled[:, active])
        errors[active] = np.sqrt(np.diag(inner) * np.sum(residuals**2) / freedom)
    return AffineFit(coefficients, errors, residuals)


@dataclass(frozen=True)
class KernelFit:
    """One routed-expert kernel.

    Parameters
    ----------
    tokens, seconds : ndarray
        As measured.
    unique : ndarray
        Experts that independent tokens load.
    fit : AffineFit
    reading_every_pair : AffineFit
        The same with min(N, m k) experts, as a "balanced" benchmark would load.
    """

    tokens: FloatArray
    seconds: FloatArray
    unique: FloatArray
    fit: AffineFit
    reading_every_pair: AffineFit


def fit_kernel(times: Sequence[KernelTime], experts: int, top_k: int) -> KernelFit:
    """Fit kernel times over tokens with independent routing (correlation 0).

    Raises
    ------
    CalibrationError
        If there are fewer than four numbers of tokens.
    """
    tokens = np.array([float(time.tokens) for time in times])
    seconds = np.array([time.seconds for time in times])
    if np.unique(tokens).size < 4:
        raise CalibrationError(
            f"kernel times at {np.unique(tokens).size} numbers of tokens; floor, time per expert "
            "and time per token need four or more"
        )
    if not 1 <= top_k <= experts:
        raise CalibrationError(f"top-k {top_k} of {experts} experts: at most all, at least one")
    if tokens.max() > MOST_TOKENS or seconds.min() < SHORTEST or seconds.max() > LONGEST:
        raise CalibrationError(
            f"{times[0].source}: kernel times of {seconds.min():.3g} to {seconds.max():.3g} s at "
            f"up to {tokens.max():g} tokens cannot be meant; is the unit of the column right?"
        )
    unique = unique_experts_uniform(experts, top_k, tokens)
    every_pair = np.minimum(float(experts), tokens * top_k)
    return KernelFit(
        tokens,
        seconds,
        unique,
        fit_affine(tokens, unique, seconds),
        fit_affine(tokens, every_pair, seconds),
    )
