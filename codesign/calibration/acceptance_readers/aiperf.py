"""aiperf JSON with counters of speculative decoding."""

from typing import Any, Final

from codesign.calibration.acceptance_readers.counts import (
    counted,
    number,
    objects,
    survival_of_histogram,
)
from codesign.calibration.accepted.records import MOST_DRAFT_TOKENS, AcceptanceRecord
from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import DataError

COUNTERS: Final = ("total_spec_decode_steps", "total_draft_tokens", "total_accepted_draft_tokens")
HISTOGRAM: Final = "pooled_spec_decode_acceptance_histogram"


def _lacks(sample: Sample) -> str | None:
    if sample.container != "json":
        return "is not JSON"
    if any(item.keys() >= set(COUNTERS) for item in objects(sample)):
        return None
    return f"has no {COUNTERS[0]}"


def _read(sample: Sample, _: CalibrationOptions) -> tuple[AcceptanceRecord, ...]:
    file = str(sample.path)
    items = [item for item in objects(sample) if item.keys() >= set(COUNTERS)]
    return tuple(_record(item, file) for item in items)


def _record(item: dict[str, Any], file: str) -> AcceptanceRecord:
    drafts, drafted, accepted = (_average(item[name], name, file) for name in COUNTERS)
    if not drafts:
        raise DataError(f"{file}: {COUNTERS[0]} is 0")
    survival: tuple[float, ...] = ()
    histogram = item.get(HISTOGRAM)
    if isinstance(histogram, dict) and all(map(_is_position, histogram)):
        steps = [0.0] * (max(map(int, histogram), default=0) + 1)
        for accepted_tokens, count in histogram.items():
            steps[int(accepted_tokens)] = number(count, HISTOGRAM, file)
        if sum(steps):
            survival = survival_of_histogram(steps)
    return counted(file, file, drafts, drafted, accepted, survival)


def _is_position(key: str) -> bool:
    return key.isdecimal() and len(key) < 6 and int(key) <= MOST_DRAFT_TOKENS


def _average(value: object, name: str, file: str) -> float:
    return number(value.get("avg") if isinstance(value, dict) else value, name, file)


READER: Final = Reader("aiperf", "aiperf result with acceptance", _lacks, _read)
