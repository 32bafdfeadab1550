"""Readers of the acceptance section, the most specific first."""

from typing import Any, Final

from codesign.calibration.acceptance_readers import (
    aiperf,
    bench_stdout,
    forced,
    length_lists,
    llama_cpp_log,
    prometheus,
    responses,
    sglang_bench,
    sglang_log,
    trtllm,
    vllm_bench,
    vllm_log,
)
from codesign.calibration.detect import Reader

READERS: Final[tuple[Reader[Any], ...]] = (
    prometheus.VLLM_READER,
    prometheus.SGLANG_READER,
    vllm_log.READER,
    sglang_log.READER,
    llama_cpp_log.READER,
    vllm_bench.READER,
    vllm_bench.SWEEP_READER,
    bench_stdout.READER,
    responses.READER,
    sglang_bench.READER,
    aiperf.READER,
    trtllm.READER,
    length_lists.READER,
    length_lists.CSV_READER,
    forced.READER,
)
