"""vLLM ``bench forward`` (0.33 on): one target pass per case, timed under CUDA graphs."""

from collections.abc import Mapping
from typing import Any

from codesign.calibration.detect import Reader
from codesign.calibration.latency_readers.fields import Record, lacks_keys, number, records, table
from codesign.calibration.observation import Observation, Timing
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import DataError

TITLE = "vLLM bench forward cases"


def _lacks(sample: Sample) -> str | None:
    return lacks_keys(sample, "case", "requests", "query_len", "ranks")


def _read(sample: Sample, options: CalibrationOptions) -> list[Observation]:
    where = f"{sample.path}, case"
    return [_case(record, f"{where} {record.get('case')}") for record in records(sample)]


def _case(record: Record, where: str) -> Observation:
    requests, ranks = record.get("requests"), record.get("ranks")
    if not isinstance(requests, list) or not requests or not isinstance(ranks, list) or not ranks:
        raise DataError(f"{where}: a case needs requests and ranks")
    if not all(isinstance(item, Mapping) for item in (*requests, *ranks)):
        raise DataError(f"{where}: requests and ranks are lists of objects")
    widths = {number(request, "query_len", where, zero=False) for request in requests}
    caches = [number(request, "kv_len", where) for request in requests]
    if len(widths) != 1 or None in widths or None in caches:
        raise DataError(f"{where}: its sequences must have one query_len, and kv_len each")
    width = widths.pop()
    assert width is not None
    latencies = [_latency(rank, where) for rank in ranks]
    slowest = max(latencies, key=lambda timing: timing.median or 0.0)
    return Observation(
        source=where,
        title=TITLE,
        backend="vllm",
        batch_size=float(len(requests)),
        draft_tokens=width - 1,
        context=sum(c for c in caches if c is not None) / len(caches),
        step=Timing(median=slowest.median),  # one fixed graph replayed: the median is the step
        scope="target",
        samples=int(_samples(ranks[0])),
        notes=_traps(ranks),
    )


def _latency(rank: Mapping[str, Any], where: str) -> Timing:
    median = number(table(rank, "latency_us"), "median", where, zero=False)
    if median is None:
        raise DataError(f"{where}: no ranks[].latency_us.median")
    return Timing(median=median * 1e-6)


def _samples(rank: Mapping[str, Any]) -> float:
    return number(table(rank, "latency_us"), "count", "count") or 1.0


def _traps(ranks: list[Mapping[str, Any]]) -> tuple[str, ...]:
    notes = []
    routing = ranks[0].get("routing")
    if routing == "balanced":
        notes.append(
            "routing is 'balanced' on dummy weights: unique experts are min(N, T k), more than any "
            "trained router loads; measure with real weights and routing before fitting"
        )
    scope = ranks[0].get("timing_scope")
    if scope not in (None, "target_only"):
        notes.append(f"timing_scope is {scope!r}, not the target's pass alone")
    if any(rank.get("finite") is False for rank in ranks):
        notes.append("the pass gave values that are not finite")
    return tuple(notes)


READER = Reader("vllm-bench-forward", TITLE, _lacks, _read)
