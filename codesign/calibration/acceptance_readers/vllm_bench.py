"""vLLM `bench serve` results with spec_decode counters: JSON, appended objects, sweeps."""

import ast
import csv
from pathlib import Path
from typing import Any, Final

from codesign.calibration.acceptance_readers.counts import (
    RANDOM_PROMPTS,
    Fields,
    counted,
    number,
    objects,
    shares,
)
from codesign.calibration.accepted.records import AcceptanceRecord
from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import CalibrationError, DataError

PREFIX: Final = "spec_decode_"
DRAFTS: Final = "spec_decode_num_drafts"


def _record(run: Fields, where: str, file: str) -> AcceptanceRecord | None:
    """Nothing for a run without speculative decoding."""
    if run.get(DRAFTS) in (None, ""):
        return None
    drafts, drafted, accepted = (
        number(run.get(PREFIX + name), name, where)
        for name in ("num_drafts", "draft_tokens", "accepted_tokens")
    )
    if not drafts:
        return None
    rates = run.get(PREFIX + "per_position_acceptance_rates") or ()
    if isinstance(rates, str):
        rates = _literal(rates, where)
    if not isinstance(rates, list | tuple):
        raise DataError(f"{where}: acceptance by position is no list")
    warnings: tuple[str, ...] = ()
    if run.get("dataset_name") == "random":
        warnings = (f"{where}: {RANDOM_PROMPTS}",)
    return counted(where, file, drafts, drafted, accepted, shares(rates, where), warnings=warnings)


def _literal(text: str, where: str) -> Any:
    """A list as CSV holds it: a Python literal."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise DataError(f"{where}: {text!r} is no list of rates") from None


def _records(runs: list[tuple[Fields, str]], file: str) -> tuple[AcceptanceRecord, ...]:
    found = [_record(run, where, file) for run, where in runs]
    records = tuple(record for record in found if record is not None)
    if not records:
        raise CalibrationError(
            f"{file}: no spec_decode counters: speculative decoding was off, vLLM is older than "
            "0.14, or the client could not reach /metrics"
        )
    return records


def _lacks(sample: Sample) -> str | None:
    if sample.container != "json":
        return "is not JSON"
    runs = objects(sample)
    if any("request_throughput" in run and "tokenizer_id" in run for run in runs):
        return None
    return "has no request_throughput and tokenizer_id"


def _read(sample: Sample, _: CalibrationOptions) -> tuple[AcceptanceRecord, ...]:
    file, runs = str(sample.path), objects(sample)
    labels = [file if len(runs) == 1 else f"{file}, run {i + 1}" for i in range(len(runs))]
    return _records(list(zip(runs, labels, strict=True)), file)


READER: Final = Reader("vllm-bench-serve", "vLLM bench serve result", _lacks, _read)


def _tables(folder: Path) -> list[Path]:
    whole = folder / "summary.csv"
    return [whole] if whole.is_file() else sorted(folder.glob("**/summary.json"))


def _lacks_sweep(sample: Sample) -> str | None:
    if sample.container == "folder":
        return None if _tables(sample.path) else "has no summary.csv or summary.json"
    if sample.container != "text" or sample.text is None:
        return "is no CSV"
    header = sample.text.split("\n", 1)[0].split(",")
    return None if DRAFTS in header else f"has no column {DRAFTS}"


def _read_sweep(sample: Sample, _: CalibrationOptions) -> tuple[AcceptanceRecord, ...]:
    paths = _tables(sample.path) if sample.container == "folder" else [sample.path]
    runs: list[tuple[Fields, str]] = []
    for path in paths:
        inner = Sample(path)
        if path.suffix == ".json":
            runs += [(run, f"{path}, run {i}") for i, run in enumerate(objects(inner))]
        else:
            rows = csv.DictReader(inner.whole_text.splitlines())
            runs += [(row, f"{path}, row {i}") for i, row in enumerate(rows)]
    return _records(runs, str(sample.path))


SWEEP_READER: Final = Reader(
    "vllm-bench-sweep", "vLLM bench sweep summary", _lacks_sweep, _read_sweep
)
