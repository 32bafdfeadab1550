"""SGLang log lines `Decode batch`: `accept len` includes the bonus token in all versions.

`accept rate` changed its meaning three times and is left alone.
"""

import re
from dataclasses import replace
from typing import Final

from codesign.calibration.accepted.records import AcceptanceRecord
from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.calibration.stream import text_lines
from codesign.errors import CalibrationError

MARK: Final = "Decode batch"
_RUNNING: Final = re.compile(r"#running-req:\s*(\d+)")
_LENGTH: Final = re.compile(r"accept len:\s*(\d+(?:\.\d+)?)\b")


def _lacks(sample: Sample) -> str | None:
    if sample.container not in ("text", "json") or sample.text is None:
        return "is not text"
    if MARK in sample.text and "#running-req" in sample.text:
        return None
    if any(MARK in line and _RUNNING.search(line) for line in text_lines(sample.path)):
        return None
    return f"has no line with {MARK!r} and '#running-req'"


def _read(sample: Sample, _: CalibrationOptions) -> tuple[AcceptanceRecord, ...]:
    file = str(sample.path)
    records = []
    without = 0
    for index, line in enumerate(text_lines(sample.path), start=1):
        running = _RUNNING.search(line) if MARK in line else None
        if running is None:
            continue
        length = _LENGTH.search(line)
        if length is None or float(length.group(1)) < 1 or not int(running.group(1)):
            without += 1
            continue
        records.append(
            AcceptanceRecord(
                f"{file}, line {index}", file, stated_length=float(length.group(1)),
                weight=float(running.group(1)),
            )
        )  # fmt: skip
    if not records:
        raise CalibrationError(f"{file}: no decode line has an accept len: speculation was off")
    note = f"{file}: {len(records)} decode lines used, weighed by running requests"
    if without:
        note += f"; {without} without speculative decoding left out"
    warning = f"{file}: SGLang logs have no counts and no acceptance by position"
    records[0] = replace(records[0], notes=(note,), warnings=(warning,))
    return tuple(records)


READER: Final = Reader("sglang-log", "SGLang log", _lacks, _read)
