"""vLLM log lines: `Speculative metrics` of V0, `SpecDecoding metrics` of V1."""

import re
from dataclasses import replace
from typing import Final

from codesign.calibration.acceptance_readers.counts import counted
from codesign.calibration.accepted.records import AcceptanceRecord
from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.calibration.stream import text_lines
from codesign.errors import CalibrationError, DataError

FIRST_GENERATION: Final = "Speculative metrics:"
LINE: Final = "SpecDecoding metrics:"

_NUMBER: Final = r"\d+(?:\.\d+)?|nan"
_FIELD: Final = rf"{{}}:\s*({_NUMBER})\b"
_POSITIONS: Final = re.compile(
    rf"Per-position acceptance rate:\s*((?:{_NUMBER})(?:,\s*(?:{_NUMBER}))*)(?![\d.])"
)
_DEPTH: Final = re.compile(_FIELD.format("Current speculative depth"))
_MEAN: Final = re.compile(_FIELD.format("Mean acceptance length"))
_ACCEPTED: Final = re.compile(r"\bAccepted:\s*(\d+) tokens")
_DRAFTED: Final = re.compile(r"\bDrafted:\s*(\d+) tokens")
_V0: Final = {
    name: re.compile(rf"Number of {name} tokens:\s*(\d+)")
    for name in ("speculative", "accepted", "draft", "emitted")
}


def _lacks(sample: Sample) -> str | None:
    if sample.container not in ("text", "json") or sample.text is None:
        return "is not text"
    marks = (LINE, FIRST_GENERATION)
    if any(mark in sample.text for mark in marks):
        return None
    if any(mark in line for line in text_lines(sample.path) for mark in marks):
        return None
    return f"has no line with {LINE!r} or {FIRST_GENERATION!r}"


def _read(sample: Sample, _: CalibrationOptions) -> tuple[AcceptanceRecord, ...]:
    file = str(sample.path)
    records: list[AcceptanceRecord] = []
    empty = 0
    notes: set[str] = set()
    for index, line in enumerate(text_lines(sample.path), start=1):
        where = f"{file}, line {index}"
        record = None
        if FIRST_GENERATION in line:
            record = _first_generation(line, where, file)
            notes.add("V0 lines judge each token on its own: emitted tokens are used")
        elif LINE in line:
            record = _interval(line, where, file, notes)
        else:
            continue
        if record is None:
            empty += 1
        else:
            records.append(record)
    if not records:
        raise CalibrationError(f"{file}: {empty} intervals, none with a draft")
    fact = f"{file}: {len(records)} intervals used, {empty} empty"
    warnings = (*records[0].warnings, *(f"{file}: {note}" for note in sorted(notes)))
    records[0] = replace(records[0], notes=(fact,), warnings=warnings)
    return tuple(records)


def _first_generation(line: str, where: str, file: str) -> AcceptanceRecord | None:
    found = {name: pattern.search(line) for name, pattern in _V0.items()}
    values = {name: float(match.group(1)) for name, match in found.items() if match}
    if len(values) < len(_V0):
        raise DataError(f"{where}: {FIRST_GENERATION} without {', '.join(_V0.keys() - values)}")
    if not values["draft"]:
        return None
    drafts = values["draft"] / values["speculative"]
    return AcceptanceRecord(
        where, file, int(values["speculative"]), drafts, values["emitted"] - drafts
    )


def _interval(line: str, where: str, file: str, notes: set[str]) -> AcceptanceRecord | None:
    accepted, drafted, positions = (
        pattern.search(line) for pattern in (_ACCEPTED, _DRAFTED, _POSITIONS)
    )
    if accepted is None or drafted is None:
        raise DataError(f"{where}: {LINE} without accepted and drafted tokens (cut off?)")
    total, passed = float(drafted.group(1)), float(accepted.group(1))
    if total == 0:
        return None
    survival = _survival(positions)
    depth = _DEPTH.search(line)
    mean = _MEAN.search(line)
    draft_tokens = _draft_tokens(survival, depth, mean, total, passed)
    if draft_tokens is None:
        raise CalibrationError(f"{where}: neither acceptance by position nor a mean length")
    if mean is not None and survival and abs(float(mean.group(1)) - sum(survival)) < 0.02:
        notes.add("mean acceptance lengths without the bonus token (vLLM 0.8.5) were not used")
    return counted(
        where, file, total / draft_tokens, total, passed, survival, draft_tokens=draft_tokens
    )


def _survival(match: re.Match[str] | None) -> tuple[float, ...]:
    values = match.group(1).split(",") if match else []
    return tuple(float(value) for value in values if value.strip() != "nan")


def _draft_tokens(
    survival: tuple[float, ...],
    depth: re.Match[str] | None,
    mean: re.Match[str] | None,
    drafted: float,
    accepted: float,
) -> int | None:
    """The current depth, else the positions listed, else what the mean length implies."""
    if depth is not None:
        return int(float(depth.group(1)))
    if survival:
        return len(survival)
    if mean is None or mean.group(1) == "nan" or float(mean.group(1)) <= 1 or not accepted:
        return None
    return max(1, round(drafted * (float(mean.group(1)) - 1.0) / accepted))


READER: Final = Reader("vllm-log", "vLLM log", _lacks, _read)
