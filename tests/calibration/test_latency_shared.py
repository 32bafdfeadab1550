"""The engines' own sample files, read as EXPECTED.md beside them says."""

import pytest

from codesign.errors import CalibrationError, DataError
from tests.calibration.latency_files import settled
from tests.shared_data import SHARED, needs_shared

SAMPLES = SHARED / "data" / "trace_samples"

ROWS = [
    # file, batch size, K, context, meaning, time [ms], time per token [ms], acceptance length
    ("latency/vllm_bench_forward_v0.33.json", 0, 1, 0, 1024, "target pass", 4.210, None, None),
    ("latency/vllm_bench_forward_v0.33.json", 1, 1, 3, 1024, "target pass", 5.260, None, None),
    ("latency/vllm_bench_forward_v0.33.json", 2, 8, 0, 1024, "target pass", 7.310, None, None),
    ("latency/vllm_bench_forward_v0.33.json", 3, 8, 3, 1024, "target pass", 9.120, None, None),
    ("latency/sglang_bench_one_batch.jsonl", 0, 1, 0, 1056, "cycle", 6.6, 6.6, 1),
    ("latency/sglang_bench_one_batch.jsonl", 1, 8, 0, 1056, "cycle", 11.2, 11.2, 1),
    ("latency/sglang_bench_one_batch.jsonl", 2, 32, 0, 1056, "cycle", 17.1, 17.1, 1),
    ("latency/sglang_bench_one_batch_server.jsonl", 0, 8, None, 1152, "cycle", 21.826082,
     7.994902, 2.73),
    ("latency/sglang_bench_serving.jsonl", 0, 8, 3, 1152, "cycle", 22.932, 8.4, 2.73),
    ("latency/sglang_dspark_sps.json", 0, None, None, None, "target pass", 5.260389, None, None),
    ("latency/sglang_dspark_sps.json", 5, None, None, None, "target pass", 16.583748, None, None),
    ("latency/sglang_server_info_step_time.json", 0, 1, None, None, "cycle", 6.55, 2.399267, 2.73),
    ("latency/sglang_server_info_step_time.json", 1, 8, None, None, "cycle", 11.2, 4.102564, 2.73),
    ("latency/vllm_bench_serve_v0.33_sd.json", 0, 8, 3, 228, "cycle", 22.931485, 8.4, 2.729939),
    ("latency/vllm_bench_serve_v0.33_nosd.json", 0, 8, 0, 228, "cycle", 17.9, 17.9, 1),
    ("latency/vllm_bench_serve_append.jsonl_like", 0, 8, 3, 228, "cycle", 22.931485, 8.4, 2.729939),
    ("latency/vllm_bench_serve_append.jsonl_like", 1, 8, 0, 228, "cycle", 17.9, 17.9, 1),
    ("latency/vllm_bench_serve_v0.33_detailed.json", 0, 2, 3, 228, "cycle", 22.449733, 8.231569,
     2.727273),
    ("latency/vllm_sweep/summary.csv", 0, 1, 0, 228, "cycle", 6.63, 6.63, 1),
    ("latency/vllm_sweep/summary.csv", 1, 1, 3, 228, "cycle", 3.41 * 2.731395, 3.41, 2.731395),
    ("latency/vllm_sweep/summary.csv", 5, 32, 3, 228, "cycle", 12.8 * 2.727031, 12.8, 2.727031),
    ("latency/vllm_sweep", 0, 1, 0, 228, "cycle", 6.63, 6.63, 1),
    ("latency/vllm_sweep/SERVE--BENCH-max_concurrency=1/summary.json", 0, 1, 0, 228, "cycle",
     6.63, 6.63, 1),
    ("latency/guidellm_v1_benchmarks.json", 0, 8, None, 228, "cycle", 23.016, 8.4, 2.74),
    ("latency/guidellm_v2_benchmarks.json", 0, 8, None, 228, "cycle", 23.016, 8.4, 2.74),
    ("latency/guidellm_benchmarks.csv", 0, 7.9, None, None, "cycle", 23.016, 8.4, 2.74),
    ("latency/profile_export_aiperf.json", 0, 8, 3, 228, "cycle", 22.931485, 8.4, 2.729939),
    ("latency/profile_export_aiperf.csv", 0, None, None, None, "cycle", 22.90, 8.40, 2.726190),
    ("latency/profile_export.jsonl", 0, None, None, 228, "cycle", 22.787234, 8.4, 2.712766),
    ("latency/profile_export_genai_perf.json", 0, 8, None, 228, "per token", 8.4, 8.4, None),
    ("latency/inference_perf_stage_0_lifecycle_metrics.json", 0, 8, None, 266, "cycle", 4.1, 4.1,
     1),
    ("acceptance/vllm_bench_serve_stdout.txt", 0, 8, 3, 228, "cycle", 22.931485, 8.40, 2.729939),
    ("acceptance/vllm_log.txt", 0, 8, 3, None, "cycle", 24.002400, None, 2.730273),
    ("acceptance/sglang_log.txt", 0, 8, 0, None, "cycle", 11.111111, 11.111111, 1),
    ("acceptance/sglang_log.txt", 1, 8, None, None, "cycle", (5 * 23.994199 + 23.864766) / 6,
     None, 2.725),
]  # fmt: skip


@needs_shared
@pytest.mark.parametrize(
    ("file", "index", "batch", "drafted", "context", "meaning", "time", "token", "length"), ROWS
)
def test_sample(
    file: str, index: int, batch: float | None, drafted: float | None, context: float | None,
    meaning: str, time: float, token: float | None, length: float | None,
) -> None:  # fmt: skip
    point = settled(SAMPLES / file)[0][index]
    assert (point.batch_size, point.draft_tokens, point.context) == (batch, drafted, context)
    assert point.meaning == meaning
    assert point.seconds * 1e3 == pytest.approx(time, rel=1e-6)
    if token is not None:
        assert point.token_seconds is not None
        assert point.token_seconds * 1e3 == pytest.approx(token, rel=1e-6)
    if length is None:
        assert point.acceptance_length is None
    else:
        assert point.acceptance_length == pytest.approx(length, rel=1e-6)


@needs_shared
@pytest.mark.parametrize(
    ("file", "mean"),
    [
        ("latency/vllm_bench_serve_v0.33_sd.json", 7.64568),
        ("latency/vllm_bench_serve_v0.33_detailed.json", 1.960595),
        ("latency/profile_export_aiperf.csv", 7.64568),
        ("latency/inference_perf_stage_0_lifecycle_metrics.json", 7.964),
        ("latency/profile_export.jsonl", 1.0),
    ],
)
def test_sequences_that_really_ran_together(file: str, mean: float) -> None:
    (point,), _ = settled(SAMPLES / file)
    assert point.mean_batch_size == pytest.approx(mean, rel=1e-4)


@needs_shared
@pytest.mark.parametrize(
    ("file", "error", "reason"),
    [
        ("latency/vllm_bench_latency_v0.33.json", CalibrationError, "give --batch-size"),
        ("latency/vllm_bench_latency_v0.8-0.32.json", CalibrationError, "give --batch-size"),
        ("latency/vllm_bench_throughput_v0.33.json", DataError, "no step time"),
        ("latency/verify_bs8.rank0.kernels.json", DataError, "calibrate profile"),
        ("profiles/run1.sqlite", DataError, "calibrate profile"),
        ("profiles/vllm_trace_uncompressed.json", DataError, "calibrate profile"),
        ("acceptance/sglang_bench_serving_stdout.txt", DataError, "without TPOT and ITL"),
    ],
)
def test_refused_with_the_reason(file: str, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        settled(SAMPLES / file)
