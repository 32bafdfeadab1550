"""Records from counts, refusing what cannot be one."""

import reprlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from codesign.calibration.accepted.records import AcceptanceRecord
from codesign.calibration.sample import Sample
from codesign.errors import DataError

Fields = Mapping[str, Any]

LARGEST_COUNT: Final = 1e15

WHOLE: Final = 0.02
"""Drafted per draft may miss a whole number by this: the last drafts of a request are shorter."""

RANDOM_PROMPTS: Final = (
    "the dataset is random: tokens that mean nothing are accepted far less often than text, so "
    "this acceptance is not that of a service"
)


def objects(sample: Sample) -> tuple[dict[str, Any], ...]:
    """Return the JSON objects of a file: one, a list of them, one per line or glued together."""
    found = sample.lines
    if len(found) == 1 and isinstance(found[0], list):
        found = tuple(found[0])
    return tuple(item for item in found if isinstance(item, dict))


def number(value: object, what: str, where: str) -> float:
    """Return a number that can be a count, a length or a share.

    Raises
    ------
    DataError
        If it is none.
    """
    try:
        found = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{where}: {what} is not a number: {reprlib.repr(value)}") from None
    if not 0 <= found <= LARGEST_COUNT:
        raise DataError(f"{where}: {what} cannot be {found:g}")
    return found


def whole(value: object, what: str, where: str) -> int:
    """Return a whole number; one with a fraction is refused, not rounded.

    Raises
    ------
    DataError
        If it is none.
    """
    found = number(value, what, where)
    if not found.is_integer():
        raise DataError(f"{where}: {what} must be a whole number, not {found:g}")
    return int(found)


def shares(values: Iterable[object], where: str) -> tuple[float, ...]:
    """Return survival by position.

    Raises
    ------
    DataError
        If a value is no share, or later positions are accepted more often.
    """
    found = tuple(number(value, "acceptance by position", where) for value in values)
    if any(value > 1 for value in found):
        raise DataError(f"{where}: acceptance by position above 1: {max(found):g}")
    return found


def survival_of_histogram(steps: Sequence[float]) -> tuple[float, ...]:
    """Turn counts of cycles with 0, 1, 2, ... accepted tokens into survival by position.

    Examples
    --------
    >>> survival_of_histogram([1, 0, 1, 1])
    (0.6666666666666666, 0.6666666666666666, 0.3333333333333333)
    """
    total = sum(steps)
    return tuple(sum(steps[accepted:]) / total for accepted in range(1, len(steps)))


def whole_draft_tokens(drafts: float, drafted: float) -> int | None:
    """Return K where every draft had as many tokens, nothing where the number varies."""
    mean = drafted / drafts
    near = abs(mean - round(mean)) <= WHOLE * max(mean, 1.0)
    return round(mean) if near and mean >= 1 - WHOLE else None


def counted(
    label: str,
    file: str,
    drafts: float,
    drafted: float,
    accepted: float,
    survival: tuple[float, ...] = (),
    *,
    draft_tokens: int | None = None,
    warnings: tuple[str, ...] = (),
) -> AcceptanceRecord:
    """Return the record of a run with counters.

    Raises
    ------
    DataError
        If more was accepted than drafted.
    """
    if accepted > drafted:
        raise DataError(f"{label}: {accepted:g} tokens accepted of {drafted:g} drafted")
    whole = draft_tokens or whole_draft_tokens(drafts, drafted)
    if whole is None:
        warnings = (
            *warnings,
            f"{label}: {drafted / drafts:.4g} tokens per draft: the draft length varies",
        )
        whole = len(survival) or None
    return AcceptanceRecord(
        label, file, whole, drafts, accepted, survival[:whole], warnings=warnings
    )
