"""Readers of the latency section, the most specific first."""

from typing import Any, Final

from codesign.calibration.detect import Reader
from codesign.calibration.latency_readers import (
    aiperf,
    guidellm,
    inference_perf,
    inferencex,
    serve_stdout,
    sglang_log,
    sglang_one_batch,
    sglang_serving,
    sglang_steps,
    tables,
    trtllm_bench,
    vllm_forward,
    vllm_latency,
    vllm_log,
    vllm_serve,
    vllm_sweep,
)

READERS: Final[tuple[Reader[Any], ...]] = (
    vllm_forward.READER,
    sglang_one_batch.READER,
    sglang_one_batch.SERVER_READER,
    sglang_steps.READER,
    sglang_steps.TABLE_READER,
    vllm_serve.READER,
    sglang_serving.READER,
    vllm_sweep.READER,
    vllm_latency.READER,
    vllm_latency.THROUGHPUT_READER,
    guidellm.READER,
    aiperf.READER,
    aiperf.RECORDS_READER,
    inference_perf.READER,
    inferencex.READER,
    trtllm_bench.READER,
    serve_stdout.READER,
    sglang_log.READER,
    vllm_log.READER,
    guidellm.CSV_READER,
    aiperf.CSV_READER,
    tables.STEPS_READER,
    tables.KERNEL_READER,
    tables.UBATCH_READER,
    tables.DRAFTS_READER,
)
