"""SGLang ``bench_one_batch`` and ``bench_one_batch_server`` JSON lines, in seconds."""

from codesign.calibration.detect import Reader
from codesign.calibration.latency_readers.fields import (
    Record,
    lacks_keys,
    mean_context,
    number,
    per_record,
)
from codesign.calibration.observation import Observation, Timing
from codesign.calibration.sample import Sample
from codesign.errors import DataError

TITLE = "SGLang bench_one_batch result"
SERVER_TITLE = "SGLang bench_one_batch_server result"


def _lacks(sample: Sample) -> str | None:
    return lacks_keys(sample, "batch_size", "input_len", "output_len", "median_decode_latency")


def _run(record: Record, where: str) -> Observation:
    step = number(record, "median_decode_latency", where, zero=False)
    if step is None:
        raise DataError(f"{where}: no median_decode_latency")
    return Observation(
        source=where,
        title=TITLE,
        backend="sglang",
        batch_size=number(record, "batch_size", where, zero=False),
        draft_tokens=0.0,
        context=_context(record, where),
        step=Timing(median=step),
        samples=int(number(record, "output_len", where) or 1),
        notes=("bench_one_batch runs without scheduler and without speculative decoding",),
    )


def _context(record: Record, where: str) -> float | None:
    return mean_context(number(record, "input_len", where), number(record, "output_len", where))


def _lacks_server(sample: Sample) -> str | None:
    return lacks_keys(sample, "batch_size", "input_len", "output_len", "last_ttft")


def _server_run(record: Record, where: str) -> Observation:
    """Latency is the whole batch's: time per token is what is left after the first token."""
    whole = number(record, "latency", where, zero=False)
    first = number(record, "last_ttft", where)
    tokens = number(record, "output_len", where, zero=False)
    if whole is None or first is None or tokens is None or tokens < 2 or first >= whole:
        raise DataError(f"{where}: latency, a smaller last_ttft and output_len > 1 are needed")
    length = number(record, "acc_length", where, zero=False)
    off = length is None or length <= 1.0
    return Observation(
        source=where,
        title=SERVER_TITLE,
        backend="sglang",
        batch_size=number(record, "batch_size", where, zero=False),
        draft_tokens=0.0 if off and "acc_length" in record else None,
        context=_context(record, where),
        per_token=Timing(mean=(whole - first) / (tokens - 1)),
        stated_length=length,
        samples=int(tokens),
        notes=(
            "latency is that of the whole batch, prefill included; time to first token is taken "
            "off",
        ),
    )


READER = Reader("sglang-bench-one-batch", TITLE, _lacks, per_record(_run))
SERVER_READER = Reader(
    "sglang-bench-one-batch-server", SERVER_TITLE, _lacks_server, per_record(_server_run)
)
