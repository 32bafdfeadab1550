"""Which constants of the step time a set of points can tell, decided before the fit."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from codesign.calibration.step_coordinates import Coordinates
from codesign.model.arrays import FloatArray

NOISE: Final = 0.02
"""Relative scatter of step times that is expected before any is seen."""

INFORMATIVE: Final = 0.5
"""A constant is fitted if its expected standard error is below this share of its prior spread."""

ALIKE: Final = 0.95
"""Two constants whose expected errors correlate more are not told apart."""

POINTS_PER_CONSTANT: Final = 2


@dataclass(frozen=True)
class Choice:
    """Which constants a set of points can tell, and why not the others."""

    fitted: tuple[int, ...]
    reasons: dict[int, str]


def identifiable(coordinates: Coordinates) -> Choice:
    """Choose the constants that the points determine, by how much they move the points.

    Pivoted elimination on the Jacobian scaled by prior spreads: the constant with the largest
    effect that those already chosen cannot imitate comes next, as long as all chosen ones keep an
    expected standard error below `INFORMATIVE` of their spread and correlations below `ALIKE`.
    Decided before the fit from loads and priors alone, so the choice does not follow the noise.
    """
    every = range(len(coordinates.constants))
    # Relative to predicted, not to measured times: the noise must have no say.
    predicted = 1 + coordinates.residuals(coordinates.start, every)
    slopes = coordinates.jacobian(coordinates.start, every) / predicted[:, None]
    scaled = slopes * coordinates.spread / NOISE
    most = max(1, coordinates.measured.size // POINTS_PER_CONSTANT)
    chosen: list[int] = []
    reasons: dict[int, str] = {}
    for _ in range(scaled.shape[1]):
        left = [j for j in range(scaled.shape[1]) if j not in chosen and j not in reasons]
        if not left:
            break
        effects = {j: float(np.linalg.norm(_beyond(scaled, chosen, j))) for j in left}
        best = max(left, key=lambda j: effects[j])
        reason = _refusal(coordinates, scaled, chosen, best, most)
        if reason is None:
            chosen.append(best)
        else:
            reasons[best] = reason
    return Choice(tuple(sorted(chosen)), reasons)


def _beyond(scaled: FloatArray, chosen: list[int], candidate: int) -> FloatArray:
    """A column less what the chosen ones can imitate."""
    column = scaled[:, candidate]
    if not chosen:
        return column
    basis, _ = np.linalg.qr(scaled[:, chosen])
    return np.asarray(column - basis @ (basis.T @ column))


def _refusal(
    coordinates: Coordinates, scaled: FloatArray, chosen: list[int], candidate: int, most: int
) -> str | None:
    """Why a candidate cannot be fitted beside the chosen ones, nothing if it can."""
    alone = float(np.linalg.norm(scaled[:, candidate]))
    if alone == 0:
        return "costs no time at these points"
    if alone < 1 / INFORMATIVE:
        return f"moves these points by {_percent(alone * NOISE / np.sqrt(len(scaled)))} at most"
    if len(chosen) >= most:
        return f"{len(scaled)} points determine {most} constants at most"
    names = [coordinates.constants[j].name for j in chosen]
    errors, correlations = _expected(scaled[:, [*chosen, candidate]])
    if errors is None or errors.max() > INFORMATIVE:
        twin = int(np.argmax(np.abs(correlations[-1, :-1]))) if chosen else 0
        return f"cannot be told from {names[twin]} by these points"
    nearest = int(np.argmax(np.abs(correlations[-1, :-1]))) if chosen else 0
    if chosen and abs(correlations[-1, nearest]) > ALIKE:
        return f"cannot be told from {names[nearest]} (correlation {correlations[-1, nearest]:.2f})"
    return None


def _percent(share: float) -> str:
    return f"{share:.1%}" if share >= 0.001 else "less than 0.1%"


def _expected(scaled: FloatArray) -> tuple[FloatArray | None, FloatArray]:
    """Expected standard errors in prior spreads, and correlations; none where singular."""
    information = scaled.T @ scaled
    size = np.sqrt(np.diag(information))
    cosines = information / np.outer(size, size)
    if np.linalg.cond(cosines) > 1e12:
        return None, cosines
    covariance = np.linalg.inv(information)
    errors = np.sqrt(np.diag(covariance))
    return errors, np.asarray(covariance / np.outer(errors, errors))
