"""trtllm-bench reports: decoding_stats has a mean length and a share, no counts."""

from typing import Any, Final

from codesign.calibration.acceptance_readers.counts import number, objects
from codesign.calibration.accepted.records import AcceptanceRecord
from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample

STATS: Final = "decoding_stats"


def _stats(item: dict[str, Any]) -> dict[str, Any]:
    found = item.get(STATS)
    return found if isinstance(found, dict) else {}


def _lacks(sample: Sample) -> str | None:
    if sample.container != "json":
        return "is not JSON"
    if any("acceptance_length_percentiles" in _stats(item) for item in objects(sample)):
        return None
    return f"has no {STATS}.acceptance_length_percentiles"


def _read(sample: Sample, _: CalibrationOptions) -> tuple[AcceptanceRecord, ...]:
    file = str(sample.path)
    return tuple(_record(_stats(item), file) for item in objects(sample) if _stats(item))


def _record(stats: dict[str, Any], file: str) -> AcceptanceRecord:
    length = number(_average(stats, "acceptance_length"), "acceptance length", file)
    rate = _average(stats, "draft_acceptance_rate")
    implied = None if not rate else (length - 1.0) / number(rate, "draft acceptance rate", file)
    whole = None if implied is None else round(implied)
    near = implied is not None and whole is not None and abs(implied - whole) <= 0.1
    return AcceptanceRecord(
        file, file, whole if near else None, stated_length=length,
        warnings=(f"{file}: trtllm-bench states averages over requests: no counts",),
    )  # fmt: skip


def _average(stats: dict[str, Any], name: str) -> Any:
    table = stats.get(f"{name}_percentiles")
    return table.get("average") if isinstance(table, dict) else None


READER: Final = Reader("trtllm-bench", "trtllm-bench report with decoding_stats", _lacks, _read)
