"""Records of one draft length merged by weight; different draft lengths never are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.stats import chi2

from codesign.calibration.accepted.records import AcceptanceRecord
from codesign.model.arrays import FloatArray

LARGE_DIFFERENCE: Final = 0.02
LARGE_UNKNOWN: Final = 0.05
ERRORS_APART: Final = 3.0
"""Two curves disagree at a position if they differ by this many errors and a large difference."""


@dataclass(frozen=True)
class Group:
    """What was seen at one draft length.

    Parameters
    ----------
    draft_tokens : int, optional
        K; absent where no file says.
    drafts : float, optional
        Cycles; absent where nothing was counted [-].
    survival, survival_error : ndarray, shape (K,) or (0,)
        Error NaN where not known [-].
    length : float
        Acceptance length [token].
    length_error : float, optional
    records : int
    scatter : float
        By which intervals differ more than independent drafts would.
    """

    draft_tokens: int | None
    drafts: float | None
    survival: FloatArray
    survival_error: FloatArray
    length: float
    length_error: float | None
    records: int
    scatter: float = 1.0


def merged_groups(records: Sequence[AcceptanceRecord]) -> list[Group]:
    """Return one group per draft length, those without one last."""
    lengths = {record.draft_tokens for record in records}
    known = sorted(length for length in lengths if length is not None)
    return [
        _merged([record for record in records if record.draft_tokens == length])
        for length in [*known, *([None] if None in lengths else [])]
    ]


def _merged(records: Sequence[AcceptanceRecord]) -> Group:
    """Counted records alone where there are any: the others could not be weighed against them."""
    counted = [record for record in records if record.drafts]
    if not counted:
        return _uncounted(records)
    drafts = sum(record.drafts or 0.0 for record in counted)
    accepted = sum((record.length - 1.0) * (record.drafts or 0.0) for record in counted)
    curves = [record for record in counted if record.survival]
    weight = np.array([record.drafts for record in curves], dtype=np.float64)
    survival, error = _weighted_survival(curves, weight)
    scatter = _scatter(counted)
    error = scatter * np.sqrt(np.maximum(survival * (1.0 - survival), 0.0) / max(weight.sum(), 1.0))
    length = 1.0 + accepted / drafts
    spread = _length_variance(survival) if curves else _between(counted)
    length_error = None if spread is None else scatter * float(np.sqrt(spread / drafts))
    return Group(
        counted[0].draft_tokens, drafts, survival, error, length, length_error, len(counted),
        scatter,
    )  # fmt: skip


def _uncounted(records: Sequence[AcceptanceRecord]) -> Group:
    weight = np.array([record.weight for record in records])
    curves = [record for record in records if record.survival]
    survival, error = _weighted_survival(curves, np.array([record.weight for record in curves]))
    lengths = np.array([record.length for record in records])
    length = float(np.average(lengths, weights=weight))
    length_error = None
    if len(records) > 2:
        variance = np.average((lengths - length) ** 2, weights=weight)
        length_error = float(np.sqrt(variance / (len(records) - 1)))
    return Group(records[0].draft_tokens, None, survival, error, length, length_error, len(records))


def _weighted_survival(
    records: Sequence[AcceptanceRecord], weight: FloatArray
) -> tuple[FloatArray, FloatArray]:
    if not records:
        return np.empty(0), np.empty(0)
    longest = max(len(record.survival) for record in records)
    curves = np.array([[*r.survival, *[0.0] * (longest - len(r.survival))] for r in records])
    survival = np.average(curves, axis=0, weights=weight)
    return np.minimum.accumulate(survival), np.full(longest, np.nan)


def _length_variance(survival: FloatArray) -> float:
    """Variance of accepted tokens per draft, whose survival function this is."""
    order = 2.0 * np.arange(1, survival.size + 1) - 1.0
    return float(order @ survival - survival.sum() ** 2)


def _between(records: Sequence[AcceptanceRecord]) -> float | None:
    """The same from how intervals differ, where positions are not known."""
    if len(records) < 3:
        return None
    drafts = np.array([record.drafts for record in records], dtype=np.float64)
    lengths = np.array([record.length for record in records])
    mean = np.average(lengths, weights=drafts)
    return float((drafts * (lengths - mean) ** 2).sum() / (len(records) - 1))


def _scatter(records: Sequence[AcceptanceRecord]) -> float:
    """Factor by which intervals scatter more than independent drafts; 1 where they do not."""
    curves = [record for record in records if record.survival and record.drafts]
    if len(curves) < 3:
        return 1.0
    drafts = np.array([record.drafts for record in curves], dtype=np.float64)
    survival, _ = _weighted_survival(curves, drafts)
    lengths = np.array([record.length for record in curves])
    mean = np.average(lengths, weights=drafts)
    variance = max(_length_variance(survival), 1e-12)
    excess = float((drafts * (lengths - mean) ** 2).sum()) / variance
    degrees = len(curves) - 1
    return float(np.sqrt(excess / degrees)) if excess > chi2.ppf(0.95, degrees) else 1.0


def disagreements(groups: Sequence[Group]) -> list[str]:
    """Say where curves of different draft lengths differ by more than their errors."""
    found = []
    curves = [group for group in groups if group.survival.size and group.draft_tokens]
    for index, first in enumerate(curves):
        for second in curves[index + 1 :]:
            shared = min(first.survival.size, second.survival.size)
            gap = np.abs(first.survival[:shared] - second.survival[:shared])
            error = np.hypot(first.survival_error[:shared], second.survival_error[:shared])
            apart = np.where(
                np.isnan(error),
                gap > LARGE_UNKNOWN,
                (gap > ERRORS_APART * error) & (gap > LARGE_DIFFERENCE),
            )
            for position in np.flatnonzero(apart).tolist():
                found.append(_disagreement(first, second, position, float(error[position])))
    return found


def _disagreement(first: Group, second: Group, position: int, error: float) -> str:
    size = (
        "" if np.isnan(error) else f", {_errors(first, second, position, error):.0f} errors apart"
    )
    return (
        f"K = {first.draft_tokens} and K = {second.draft_tokens} disagree at position "
        f"{position + 1}: {first.survival[position]:.3f} against "
        f"{second.survival[position]:.3f}{size}; noise or another mix of prompts"
    )


def _errors(first: Group, second: Group, position: int, error: float) -> float:
    return float(abs(first.survival[position] - second.survival[position]) / error)
