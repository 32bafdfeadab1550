"""Take numbers from records, refusing what cannot be a time, a count or a rate."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from codesign.calibration.observation import Observation, Timing
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import DataError

Record = Mapping[str, Any]

SMALLEST: Final = 1e-12
LARGEST: Final = 1e15
"""No time, count or rate that an engine writes is beyond, in any of its units."""


def lacks_keys(sample: Sample, *keys: str) -> str | None:
    """Say what a JSON file lacks, judged by its first 64 KiB.

    Examples
    --------
    >>> from pathlib import Path
    >>> lacks_keys(Sample(Path(__file__)), "traceEvents")
    'not JSON'
    """
    if sample.container != "json" or sample.text is None:
        return "not JSON"
    if re.search(r'"traceEvents"\s*:', sample.text):
        return "a profiler trace"
    missing = [key for key in keys if not re.search(rf'"{re.escape(key)}"\s*:', sample.text)]
    return f"no {missing[0]!r}" if missing else None


def records(sample: Sample) -> tuple[Record, ...]:
    """Return the JSON objects of a file: one, one per line, glued together, or in one list.

    Raises
    ------
    DataError
        If the content is cut off, or holds anything but objects.
    """
    found = sample.lines
    if not found:
        raise DataError(f"{sample.path}: the JSON is cut off or broken")
    if len(found) == 1 and isinstance(found[0], list):
        found = tuple(found[0])
    if not all(isinstance(item, dict) for item in found) or not found:
        raise DataError(f"{sample.path}: JSON objects are expected, not {type(found[:1]).__name__}")
    return found  # type: ignore[return-value]


def named(sample: Sample, index: int, count: int) -> str:
    """Return the file, and which of its runs where it has several."""
    return str(sample.path) if count == 1 else f"{sample.path}, run {index + 1}"


def per_record(
    read: Callable[[Record, str], Observation],
) -> Callable[[Sample, CalibrationOptions], list[Observation]]:
    """Return a reader of files whose every JSON object is one run; it is told how to name it."""

    def read_all(sample: Sample, options: CalibrationOptions) -> list[Observation]:
        found = records(sample)
        return [read(record, named(sample, i, len(found))) for i, record in enumerate(found)]

    return read_all


def number(record: Record, key: str, where: str, *, zero: bool = True) -> float | None:
    """Return a finite, non-negative number; nothing where the key is absent, null or empty.

    Raises
    ------
    DataError
        If it is anything else, or zero where that means nothing.
    """
    value = record.get(key)
    if value is None or value == "":
        return None
    try:
        found = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not 0 <= found < LARGEST or (found == 0 and not zero) or 0 < found < SMALLEST:
        rule = "zero or a positive number" if zero else "a positive number"
        raise DataError(f"{where}: {key} must be {rule}, not {str(value)[:40]!r}")
    return found


def timing(record: Record, where: str, mean: str, median: str, unit: float) -> Timing | None:
    """Return a time whose mean and median stand under two keys, `unit` seconds each.

    Raises
    ------
    DataError
        If either is no positive number.
    """
    first = number(record, mean, where, zero=False)
    second = number(record, median, where, zero=False)
    if first is None and second is None:
        return None
    return Timing(first, second).scaled(unit)


def mean_context(
    input_tokens: float | None, output_tokens: float | None, requests: float | None = 1.0
) -> float | None:
    """Mean cached tokens while decoding: prompt + half of the output, per request [token]."""
    if not requests or input_tokens is None or output_tokens is None:
        return None
    return (input_tokens + output_tokens / 2) / requests


def table(record: object, key: str) -> Record:
    """Return a nested object, an empty one where there is none."""
    found = record.get(key) if isinstance(record, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def text(record: Record, key: str) -> str | None:
    """Return a string, nothing where the value is something else."""
    value = record.get(key)
    return value if isinstance(value, str) and value else None
