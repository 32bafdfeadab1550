"""vLLM ``bench sweep serve``: its ``summary.csv``, or the folder with the runs' own summaries."""

import csv
from pathlib import Path

from codesign.calibration.detect import Reader
from codesign.calibration.latency_readers.fields import records
from codesign.calibration.latency_readers.vllm_serve import serve_run
from codesign.calibration.observation import Observation
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import DataError

TITLE = "vLLM bench sweep summary"
NEEDED = ("tokenizer_id", "mean_tpot_ms", "max_concurrency")


def _lacks(sample: Sample) -> str | None:
    if sample.container == "folder":
        found = _summaries(sample.path)
        return None if found else "no summary.csv or summary.json in the folder"
    if sample.container != "text" or sample.text is None:
        return "not CSV"
    header = sample.text.split("\n", 1)[0].split(",")
    missing = [name for name in NEEDED if name not in header]
    return f"no column {missing[0]!r}" if missing else None


def _summaries(folder: Path) -> list[Path]:
    """The table of all runs if there is one, else each run's own file."""
    table = folder / "summary.csv"
    if table.is_file():
        return [table]
    return sorted(folder.glob("**/summary.json"))


def _read(sample: Sample, options: CalibrationOptions) -> list[Observation]:
    if sample.container != "folder":
        return _rows(sample)
    observations = []
    for path in _summaries(sample.path):
        inner = Sample(path)
        if path.suffix == ".csv":
            observations += _rows(inner)
        else:
            observations += [serve_run(r, f"{path}, run {i}") for i, r in enumerate(records(inner))]
    return observations


def _rows(sample: Sample) -> list[Observation]:
    reader = csv.DictReader(sample.whole_text.splitlines())
    rows = list(reader)
    if not rows:
        raise DataError(f"{sample.path}: a header without rows")
    if any(None in row or None in row.values() for row in rows):
        raise DataError(f"{sample.path}: a row has more or fewer cells than the header")
    return [serve_run(row, f"{sample.path}, row {index}") for index, row in enumerate(rows)]


READER = Reader("vllm-bench-sweep", TITLE, _lacks, _read)
