"""llama.cpp server log lines `draft acceptance = ...`; its draft length varies."""

import re
from typing import Final

from codesign.calibration.acceptance_readers.counts import counted, shares
from codesign.calibration.accepted.records import AcceptanceRecord
from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.calibration.stream import text_lines
from codesign.errors import CalibrationError

_LINE: Final = re.compile(
    r"draft acceptance\s*=\s*[\d.]+\s*\(\s*(\d+) accepted\s*/\s*(\d+) generated\)"
    r".*?acceptance rate per position\s*=\s*\(([\d., ]*)\)"
)


def _lacks(sample: Sample) -> str | None:
    if sample.container != "text" or sample.text is None:
        return "is not text"
    if any(_LINE.search(line) for line in text_lines(sample.path)):
        return None
    return "has no line 'draft acceptance = ... acceptance rate per position = (...)'"


def _read(sample: Sample, _: CalibrationOptions) -> tuple[AcceptanceRecord, ...]:
    file = str(sample.path)
    records = []
    for index, line in enumerate(text_lines(sample.path), start=1):
        match = _LINE.search(line)
        if match is None or not match.group(3).strip():
            continue
        where = f"{file}, line {index}"
        survival = shares(match.group(3).split(","), where)
        accepted, drafted = float(match.group(1)), float(match.group(2))
        if not accepted:
            continue
        # Not printed here, but accepted tokens are drafts times the sum over positions.
        drafts = max(round(accepted / sum(survival)), -(-int(drafted) // len(survival)))
        varies = drafted != drafts * len(survival)
        warning = (
            f"{where}: {drafted:g} tokens in {drafts} drafts, {drafted / drafts:.4g} each: the "
            f"draft length varies up to K = {len(survival)}, so later positions are understated"
        )
        records.append(
            counted(
                where, file, drafts, drafted, accepted, survival, draft_tokens=len(survival),
                warnings=(warning,) if varies else (),
            )
        )  # fmt: skip
    if not records:
        raise CalibrationError(f"{file}: no draft was accepted")
    return tuple(records)


READER: Final = Reader("llama-cpp-log", "llama.cpp server log", _lacks, _read)
