"""inference-perf stage summaries: all times in seconds."""

from collections.abc import Mapping
from typing import Any

from codesign.calibration.detect import Reader
from codesign.calibration.latency_readers.fields import (
    Record,
    lacks_keys,
    mean_context,
    number,
    per_record,
    table,
)
from codesign.calibration.observation import Observation, Timing
from codesign.calibration.sample import Sample
from codesign.errors import DataError

TITLE = "inference-perf stage metrics"


def _lacks(sample: Sample) -> str | None:
    return lacks_keys(sample, "load_summary", "successes", "normalized_time_per_output_token")


def _stage(record: Record, where: str) -> Observation:
    successes = table(record, "successes")
    latency = table(successes, "latency")
    token = _timing(latency, "time_per_output_token", where)
    if token is None:
        raise DataError(f"{where}: no successes.latency.time_per_output_token (streaming off?)")
    prompt, output = (
        number(table(successes, f"{side}_len"), "mean", where) for side in ("prompt", "output")
    )
    rate = number(table(successes, "throughput"), "requests_per_sec", where)
    whole = _timing(latency, "request_latency", where)
    mean = rate * whole.mean if rate and whole and whole.mean else None
    asked = number(table(record, "load_summary"), "concurrency", where, zero=False)
    return Observation(
        source=where,
        title=TITLE,
        batch_size=asked,
        mean_batch_size=mean,
        context=mean_context(prompt, output),
        per_token=token,
        per_chunk=_timing(latency, "inter_token_latency", where),
        samples=int(number(successes, "count", where) or 1),
        notes=("whether speculative decoding was on is not in the file",),
    )


def _timing(latency: Mapping[str, Any], name: str, where: str) -> Timing | None:
    found = table(latency, name)
    mean, median = (number(found, key, where, zero=False) for key in ("mean", "median"))
    return Timing(mean, median) if mean or median else None


READER = Reader("inference-perf", TITLE, _lacks, per_record(_stage))
