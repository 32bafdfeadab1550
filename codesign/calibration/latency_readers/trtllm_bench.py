"""trtllm-bench ``--report_json``; TPOT only with ``--streaming``."""

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
    text,
)
from codesign.calibration.observation import Observation, Timing
from codesign.calibration.sample import Sample
from codesign.errors import DataError

TITLE = "trtllm-bench report"


def _lacks(sample: Sample) -> str | None:
    return lacks_keys(sample, "world_info", "request_info", "performance")


def _report(record: Record, where: str) -> Observation:
    streaming, requests = table(record, "streaming_metrics"), table(record, "request_info")
    mean = number(streaming, "avg_tpot_ms", where, zero=False)
    if mean is None:
        raise DataError(f"{where}: {TITLE} without streaming_metrics; run it with --streaming")
    median = number(table(streaming, "tpot_percentiles"), "p50", where, zero=False)
    decoding = record.get("decoding_stats")
    length, drafted = _speculation(decoding if isinstance(decoding, Mapping) else {}, where)
    together = number(requests, "avg_num_concurrent_requests", where, zero=False)
    return Observation(
        source=where,
        title=TITLE,
        backend="trtllm",
        model=text(table(record, "engine"), "model"),
        batch_size=together,
        mean_batch_size=together,
        draft_tokens=0.0 if decoding is None else drafted,
        context=mean_context(
            number(requests, "avg_input_length", where),
            number(requests, "avg_output_length", where),
        ),
        per_token=Timing(mean, median).scaled(1e-3),
        stated_length=length,
        samples=int(number(requests, "num_requests", where) or 1),
        notes=("the batch size is the mean number of concurrent requests",),
    )


def _speculation(decoding: Mapping[str, Any], where: str) -> tuple[float | None, float | None]:
    """Acceptance length, and K where it and the share of accepted drafts agree on a number."""
    shares = (
        table(decoding, f"{name}_percentiles")
        for name in ("acceptance_length", "draft_acceptance_rate")
    )
    length, rate = (number(share, "average", where) for share in shares)
    if not length or not rate:
        return length, None
    guess = (length - 1) / rate
    near = abs(guess - round(guess)) <= 0.1
    return length, float(round(guess)) if near else None


READER = Reader("trtllm-bench", TITLE, _lacks, per_record(_report))
