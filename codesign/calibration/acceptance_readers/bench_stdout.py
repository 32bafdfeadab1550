"""The table that vLLM and SGLang print after serving benchmarks; several may be pasted together."""

import re
from typing import Final

from codesign.calibration.acceptance_readers.counts import counted, shares
from codesign.calibration.accepted.records import AcceptanceRecord
from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import CalibrationError

TITLE: Final = "Serving Benchmark Result"
_FIELD: Final = re.compile(r"^\s*([^:\n]+):\s+(-?\d+(?:\.\d+)?|nan)\s*$", re.MULTILINE)
_POSITION: Final = re.compile(r"^\s*Position \d+:\s+(\d+(?:\.\d+)?)\s*$", re.MULTILINE)


def _lacks(sample: Sample) -> str | None:
    if sample.container != "text" or sample.text is None:
        return "is not text"
    return None if TITLE in sample.whole_text else f"has no table {TITLE!r}"


def _read(sample: Sample, _: CalibrationOptions) -> tuple[AcceptanceRecord, ...]:
    file = str(sample.path)
    tables = sample.whole_text.split(TITLE)[1:]
    records = []
    for index, table in enumerate(tables, start=1):
        where = file if len(tables) == 1 else f"{file}, run {index}"
        record = _run(table, where, file)
        if record is not None:
            records.append(record)
    if not records:
        raise CalibrationError(
            f"{file}: {len(tables)} benchmark tables, none with an acceptance length: speculative "
            "decoding was off, or the engine does not print it"
        )
    return tuple(records)


def _run(table: str, where: str, file: str) -> AcceptanceRecord | None:
    fields = {name.strip(): float(value) for name, value in _FIELD.findall(table)}
    survival = shares((float(value) / 100 for value in _POSITION.findall(table)), where)
    drafts = fields.get("Drafts")
    if drafts:
        drafted, accepted = (fields.get(name) for name in ("Draft tokens", "Accepted tokens"))
        if drafted is not None and accepted is not None:
            return counted(where, file, drafts, drafted, accepted, survival)
    length = fields.get("Acceptance length", fields.get("Accept length"))
    if length is None:
        return None
    rate = fields.get("Acceptance rate (%)")
    return AcceptanceRecord(
        where, file, _draft_tokens(survival, length, rate), survival=survival, stated_length=length,
        warnings=(f"{where}: the table has no counts of drafts: no error",),
    )  # fmt: skip


def _draft_tokens(survival: tuple[float, ...], length: float, rate: float | None) -> int | None:
    """Positions listed, else what length and rate imply, if that is nearly a whole number."""
    if survival:
        return len(survival)
    if not rate:
        return None
    implied = 100.0 * (length - 1.0) / rate
    return round(implied) if abs(implied - round(implied)) < 0.05 else None


READER: Final = Reader("bench-stdout", "printed serving benchmark", _lacks, _read)
