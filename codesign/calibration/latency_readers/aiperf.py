"""aiperf (JSON, CSV, per-request JSON lines) and genai-perf (JSON).

"Inter token latency" is vLLM's TPOT, "inter chunk latency" is vLLM's ITL, one cycle under SD.
genai-perf has no chunk latency, so it cannot tell a cycle.
"""

import csv
import json
from collections.abc import Iterator, Mapping
from statistics import fmean, median
from typing import Any, NamedTuple

from codesign.calibration.detect import Reader
from codesign.calibration.latency_readers.fields import (
    Record,
    lacks_keys,
    number,
    per_record,
    table,
)
from codesign.calibration.observation import Observation, SpeculationCounters, Timing
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.calibration.stream import text_lines
from codesign.errors import DataError

TITLE = "aiperf or genai-perf summary"
CSV_TITLE = "aiperf CSV summary"
RECORDS_TITLE = "aiperf per-request records"


def _lacks(sample: Sample) -> str | None:
    return lacks_keys(sample, "inter_token_latency", "request_throughput", "time_to_first_token")


def _summary(record: Record, where: str) -> Observation:
    token, chunk = _metric(record, "inter_token_latency", where), _chunk(record, where)
    if token is None:
        raise DataError(f"{where}: no inter_token_latency")
    counters = _counters(record, where)
    prompt, output = (_average(record, f"{n}_sequence_length", where) for n in ("input", "output"))
    rate = _average(record, "output_token_throughput", where)
    notes = []
    if chunk is None and counters is None:
        notes.append(
            "no chunk latency (genai-perf): whether speculative decoding was on is not in the "
            "file, and neither is a cycle time"
        )
    return Observation(
        source=where,
        title=TITLE,
        batch_size=_concurrency(record, where),
        mean_batch_size=rate * token.mean if rate and token.mean else None,
        context=None if prompt is None or output is None else prompt + output / 2,
        per_token=token,
        per_chunk=chunk,
        counters=counters,
        samples=int(number(table(record, "request_latency"), "count", where) or 1),
        notes=tuple(notes),
    )


def _metric(record: Record, name: str, where: str) -> Timing | None:
    found = table(record, name)
    if not found:
        return None
    units = {"ms": 1e-3, "us": 1e-6, "ns": 1e-9, "sec": 1.0, "s": 1.0}
    unit = units.get(str(found.get("unit")))
    if unit is None:
        told = str(found.get("unit"))[:20]
        raise DataError(f"{where}: {name} is in {told!r}, which is no unit of time")
    mean, middle = (number(found, key, where, zero=False) for key in ("avg", "p50"))
    return Timing(mean, middle).scaled(unit) if mean or middle else None


def _chunk(record: Record, where: str) -> Timing | None:
    return _metric(record, "inter_chunk_latency", where)


def _average(record: Record, name: str, where: str) -> float | None:
    return number(table(record, name), "avg", where)


def _counters(record: Record, where: str) -> SpeculationCounters | None:
    """Sums over all requests; the histogram in the file is drafts by tokens accepted."""
    drafts = _average(record, "total_spec_decode_steps", where)
    drafted = _average(record, "total_draft_tokens", where)
    accepted = _average(record, "total_accepted_draft_tokens", where)
    if not drafts or drafts < 1 or drafted is None or accepted is None:
        return None
    return SpeculationCounters(drafts, drafted, accepted)


def _concurrency(record: Record, where: str) -> float | None:
    """The one value that keys ending in "concurrency" have anywhere in the run's description."""
    told = [record.get("run_info"), record.get("input_config")]
    values = {value for part in told for value in _values(part)}
    if len(values) > 1:
        raise DataError(f"{where}: several concurrencies in one summary: {sorted(values)}")
    return values.pop() if values else None


def _values(part: Any) -> Iterator[float]:
    for key, value in part.items() if isinstance(part, Mapping) else ():
        if str(key).endswith("concurrency") and isinstance(value, int | float) and 0 < value < 1e9:
            yield float(value)
        yield from _values(value)


def _lacks_csv(sample: Sample) -> str | None:
    if sample.container != "text" or sample.text is None:
        return "not CSV"
    head = sample.text
    wanted = head.startswith("Metric,") and "Inter Token Latency (ms)" in head
    return None if wanted else "no 'Inter Token Latency (ms)' in a table of metrics"


def _read_csv(sample: Sample, options: CalibrationOptions) -> list[Observation]:
    """The first table has statistics; the second, after a blank line, single values."""
    where = str(sample.path)
    rows = list(csv.reader(sample.whole_text.splitlines()))
    header = rows[0]
    statistics = {row[0]: dict(zip(header, row, strict=False)) for row in rows[1:] if len(row) > 2}
    single = {row[0]: row[1] for row in rows[1:] if len(row) == 2}
    token, chunk = (
        _csv_metric(statistics, f"Inter {name} Latency (ms)", where) for name in ("Token", "Chunk")
    )
    if token is None:
        raise DataError(f"{where}: no average of 'Inter Token Latency (ms)'")
    rate = number(single, "Output Token Throughput (tokens/sec)", where)
    return [
        Observation(
            source=where,
            title=CSV_TITLE,
            mean_batch_size=rate * token.mean if rate and token.mean else None,
            per_token=token,
            per_chunk=chunk,
        )
    ]


def _csv_metric(rows: Mapping[str, Mapping[str, str]], name: str, where: str) -> Timing | None:
    row = rows.get(name, {})
    mean, middle = (number(row, key, where, zero=False) for key in ("avg", "p50"))
    return Timing(mean, middle).scaled(1e-3) if mean else None


def _lacks_records(sample: Sample) -> str | None:
    return lacks_keys(sample, "request_start_ns", "inter_chunk_latency")


def _read_records(sample: Sample, options: CalibrationOptions) -> list[Observation]:
    where = str(sample.path)
    requests = list(_requests(sample))
    gaps = [gap for request in requests for gap in request.gaps]
    if not gaps:
        raise DataError(f"{where}: no request that ran to its end with a gap between chunks")
    tokens = [request.per_token for request in requests]
    busy = sum(request.end - request.start for request in requests)
    span = max(r.end for r in requests) - min(r.start for r in requests)
    return [
        Observation(
            source=where,
            title=RECORDS_TITLE,
            mean_batch_size=busy / span if span > 0 else None,
            context=fmean(request.context for request in requests),
            per_token=Timing(fmean(tokens), median(tokens)),
            per_chunk=Timing(fmean(gaps), median(gaps)),
            samples=len(tokens),
            notes=("only one request",) if len(tokens) == 1 else (),
        )
    ]


class _Request(NamedTuple):
    """One request that ran to its end; times in seconds."""

    start: float
    end: float
    gaps: list[float]
    per_token: float
    context: float


def _requests(sample: Sample) -> Iterator[_Request]:
    for line, content in enumerate(text_lines(sample.path), start=1):
        if not content.strip():
            continue
        where = f"{sample.path}, line {line}"
        try:
            record = json.loads(content)
        except (ValueError, RecursionError):
            raise DataError(f"{where}: not JSON") from None
        metadata, metrics = table(record, "metadata"), table(record, "metrics")
        if table(record, "error") or metadata.get("was_cancelled"):
            continue
        yield _request(metadata, metrics, where)


def _request(metadata: Record, metrics: Record, where: str) -> _Request:
    token, prompt, output = (
        number(table(metrics, name), "value", where)
        for name in ("inter_token_latency", "input_sequence_length", "output_sequence_length")
    )
    start, end = (_clock(metadata.get(f"request_{edge}_ns")) for edge in ("start", "end"))
    chunks = table(metrics, "inter_chunk_latency").get("value")
    if not isinstance(chunks, list) or start is None or end is None or end < start:
        raise DataError(f"{where}: not a complete aiperf record")
    gaps = [number({"gap": chunk}, "gap", where) for chunk in chunks]
    if token is None or prompt is None or output is None or None in gaps:
        raise DataError(f"{where}: not a complete aiperf record")
    seconds = [gap * 1e-3 for gap in gaps if gap is not None]
    return _Request(start * 1e-9, end * 1e-9, seconds, token * 1e-3, prompt + output / 2)


def _clock(value: object) -> int | None:
    """A Unix time in nanoseconds."""
    return value if isinstance(value, int) and 0 <= value < 1 << 63 else None


READER = Reader("aiperf", TITLE, _lacks, per_record(_summary))
CSV_READER = Reader("aiperf-csv", CSV_TITLE, _lacks_csv, _read_csv)
RECORDS_READER = Reader("aiperf-records", RECORDS_TITLE, _lacks_records, _read_records)
