"""vLLM ``bench latency`` and ``bench throughput``: whole runs, the load not stored."""

import math

from codesign.calibration.detect import Reader
from codesign.calibration.latency_readers.fields import (
    lacks_keys,
    named,
    number,
    records,
    table,
    text,
)
from codesign.calibration.observation import Observation, Timing
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import CalibrationError, DataError

TITLE = "vLLM bench latency result"


def _lacks(sample: Sample) -> str | None:
    return lacks_keys(sample, "avg_latency", "latencies", "percentiles")


def _read(sample: Sample, options: CalibrationOptions) -> list[Observation]:
    found = records(sample)
    observations = []
    for index, record in enumerate(found):
        where = named(sample, index, len(found))
        mean = number(record, "avg_latency", where, zero=False)
        median = number(table(record, "percentiles"), "50", where, zero=False)
        if mean is None and median is None:
            raise DataError(f"{where}: {TITLE} without avg_latency")
        latencies = record.get("latencies")
        runs = latencies if isinstance(latencies, list) else []
        _require_load(where, mean or median or math.nan, options)
        observations.append(
            Observation(
                source=where,
                title=TITLE,
                backend="vllm",
                model=text(record, "model_id"),
                whole_batch=Timing(mean, median),
                samples=max(len(runs), 1),
                notes=(
                    "bench latency sends random token ids: under speculative decoding its "
                    "acceptance is not that of real prompts, and none is read from it",
                ),
            )
        )
    return observations


def _require_load(where: str, seconds: float, options: CalibrationOptions) -> None:
    """The batch size is not in the file, and the tool's default must not be guessed."""
    needed = {
        "--batch-size": options.batch_size,
        "--input-len": options.input_tokens,
        "--output-len": options.output_tokens,
        "--draft-tokens": options.draft_tokens,
    }
    absent = [flag for flag, value in needed.items() if value is None]
    if absent:
        raise CalibrationError(
            f"{where}: {TITLE}: {seconds * 1e3:.4g} ms for a whole batch, prefill and all output "
            "tokens in; the file does not store the load (the tool's defaults, batch size 8, 32 "
            f"in, 128 out, are not assumed): give {', '.join(absent)} (--draft-tokens 0 for a "
            "server without speculative decoding)"
        )


def _lacks_throughput(sample: Sample) -> str | None:
    return lacks_keys(sample, "elapsed_time", "total_num_tokens", "tokens_per_second")


def _refuse(sample: Sample, options: CalibrationOptions) -> list[Observation]:
    raise DataError(
        f"{sample.path}: vLLM bench throughput: prompt and output tokens over the whole run's time "
        "hold no step time; use vllm bench serve or bench forward"
    )


READER = Reader("vllm-bench-latency", TITLE, _lacks, _read)
THROUGHPUT_READER = Reader(
    "vllm-bench-throughput", "vLLM bench throughput result", _lacks_throughput, _refuse
)
