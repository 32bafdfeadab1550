"""guidellm reports: JSON of versions 0.3, 1 and 2, and the CSV with three header rows.

Its "inter token latency" is vLLM's TPOT; its "time per output token" holds the time to first token.
"""

import csv
from collections.abc import Mapping
from typing import Any

from codesign.calibration.detect import Reader
from codesign.calibration.latency_readers.fields import Record, lacks_keys, number, records, table
from codesign.calibration.observation import Observation, Timing
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import DataError

TITLE = "guidellm report"
CSV_TITLE = "guidellm CSV report"
CHUNKS = "acceptance length from streamed chunks: true only if one chunk is one engine step"


def _lacks(sample: Sample) -> str | None:
    return lacks_keys(sample, "benchmarks") and lacks_keys(sample, "guidellm_version")


def _read(sample: Sample, options: CalibrationOptions) -> list[Observation]:
    observations = []
    for record in records(sample):
        benchmarks = record.get("benchmarks")
        if not isinstance(benchmarks, list) or not benchmarks:
            raise DataError(f"{sample.path}: {TITLE} without benchmarks")
        for index, benchmark in enumerate(benchmarks):
            observations.append(_benchmark(benchmark, f"{sample.path}, benchmark {index + 1}"))
    return observations


def _benchmark(benchmark: Record, where: str) -> Observation:
    metrics = table(benchmark, "metrics")
    if "inter_token_latency_ms" not in metrics:
        raise DataError(f"{where}: no metrics.inter_token_latency_ms")
    token = _statistic(metrics, "inter_token_latency_ms", where)
    if token is None:
        raise DataError(f"{where}: no successful request with an inter-token latency")
    length = _mean(metrics, "iter_tokens_per_iteration", where)
    prompt, output = (_mean(metrics, f"{n}_token_count", where) for n in ("prompt", "output"))
    run = table(benchmark, "config") or table(benchmark, "args")
    strategy = table(run, "strategy")
    streams = strategy.get("streams") or strategy.get("max_concurrency")
    mean = _mean(metrics, "request_concurrency", where)
    count = table(metrics, "request_totals")
    return Observation(
        source=where,
        title=TITLE,
        batch_size=float(streams) if isinstance(streams, int) else mean,
        mean_batch_size=mean,
        context=None if prompt is None or output is None else prompt + output / 2,
        per_token=token.scaled(1e-3),
        stated_length=length,
        length_origin="streamed chunks",
        samples=int(number(count, "successful", where) or 1),
        notes=(CHUNKS,) if length else (),
    )


def _statistic(metrics: Mapping[str, Any], name: str, where: str) -> Timing | None:
    """Over successful requests only; errored and incomplete ones are zeros."""
    found = table(table(metrics, name), "successful")
    mean, median = number(found, "mean", where), number(found, "median", where)
    return Timing(mean, median) if mean else None


def _mean(metrics: Mapping[str, Any], name: str, where: str) -> float | None:
    found = _statistic(metrics, name, where)
    return found.mean if found else None


def _lacks_csv(sample: Sample) -> str | None:
    if sample.container != "text" or sample.text is None:
        return "not CSV"
    header = sample.text.split("\n", 1)[0]
    return None if "Inter Token Latency" in header and "Benchmark" in header else "no such header"


def _read_csv(sample: Sample, options: CalibrationOptions) -> list[Observation]:
    rows = list(csv.reader(sample.whole_text.splitlines()))
    if len(rows) < 4:
        raise DataError(f"{sample.path}: three header rows and a row of data are needed")
    columns: list[tuple[str, ...]] = list(zip(*rows[:3], strict=False))
    return [
        _csv_row(dict(zip(columns, row, strict=False)), f"{sample.path}, row {index + 1}")
        for index, row in enumerate(rows[3:])
    ]


def _csv_row(row: Mapping[tuple[str, ...], str], where: str) -> Observation:
    cells = {
        f"{group}|{statistic}": value
        for (group, middle, statistic), value in row.items()
        if middle.startswith("Successful")
    }
    mean = number(cells, "Inter Token Latency|Mean", where, zero=False)
    if mean is None:
        raise DataError(f"{where}: no mean inter-token latency of successful requests")
    median = number(cells, "Inter Token Latency|Median", where, zero=False)
    length = number(cells, "Token Streaming|Mean", where, zero=False)
    together = number(cells, "Server Throughput|Mean", where, zero=False)
    return Observation(
        source=where,
        title=CSV_TITLE,
        batch_size=together,
        mean_batch_size=together,
        per_token=Timing(mean, median).scaled(1e-3),
        stated_length=length,
        length_origin="streamed chunks",
        notes=(CHUNKS, "the batch size is the mean concurrency; what was asked for is not stored"),
    )


READER = Reader("guidellm", TITLE, _lacks, _read)
CSV_READER = Reader("guidellm-csv", CSV_TITLE, _lacks_csv, _read_csv)
