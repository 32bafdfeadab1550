"""Each latency format is read with the meaning that its engine gives it."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from codesign.calibration.options import CalibrationOptions
from codesign.errors import CalibrationError, DataError
from tests.calibration.latency_files import (
    settled,
    sglang_line,
    vllm_forward_case,
    vllm_serve,
    written,
)


def test_bench_forward_is_the_target_alone_in_microseconds(tmp_path: Path) -> None:
    cases = [vllm_forward_case("d", 8, 1, 7310.0), vllm_forward_case("v", 8, 4, 9120.0)]
    points, notes = settled(written(tmp_path, "f.json", cases))
    assert [point.meaning for point in points] == ["target pass", "target pass"]
    assert [(point.batch_size, point.draft_tokens, point.context) for point in points] == [
        (8, 0, 1024),
        (8, 3, 1024),
    ]
    assert [point.seconds for point in points] == pytest.approx([7.31e-3, 9.12e-3])
    assert not notes


def test_balanced_routing_on_dummy_weights_is_flagged(tmp_path: Path) -> None:
    cases = [vllm_forward_case("d", 8, 1, 7310.0, routing="balanced")]
    _, notes = settled(written(tmp_path, "f.json", cases))
    assert any("balanced" in note and "dummy weights" in note for note in notes)


def test_serve_with_counters_is_acceptance_length_times_tpot(tmp_path: Path) -> None:
    record = vllm_serve(tpot_ms=8.4, itl_ms=22.9, counters=(7502, 22506, 12978))
    (point,), notes = settled(written(tmp_path, "s.json", record))
    assert point.meaning == "cycle"
    assert point.acceptance_length == pytest.approx(1 + 12978 / 7502)
    assert point.seconds == pytest.approx(8.4e-3 * (1 + 12978 / 7502))
    assert point.token_seconds == pytest.approx(8.4e-3)
    assert (point.batch_size, point.draft_tokens, point.context) == (8, 3, 228)
    assert not notes


def test_serve_without_counters_and_without_gap_is_plain(tmp_path: Path) -> None:
    (point,), _ = settled(written(tmp_path, "s.json", vllm_serve(tpot_ms=17.9, itl_ms=17.8)))
    assert (point.draft_tokens, point.acceptance_length) == (0, 1.0)
    assert point.seconds == pytest.approx(17.9e-3)


def test_absent_counters_alone_do_not_mean_that_sd_was_off(tmp_path: Path) -> None:
    (point,), notes = settled(written(tmp_path, "s.json", vllm_serve(tpot_ms=8.4, itl_ms=22.9)))
    assert point.draft_tokens is None
    assert "--draft-tokens" in point.missing
    assert point.seconds == pytest.approx(22.9e-3)
    assert any("no spec_decode counters" in note for note in notes)


def test_append_result_concatenates_objects(tmp_path: Path) -> None:
    with_drafts = vllm_serve(tpot_ms=8.4, itl_ms=22.9, counters=(7502, 22506, 12978))
    plain = vllm_serve(tpot_ms=17.9, itl_ms=17.8)
    text = json.dumps(with_drafts) + "\n" + json.dumps(plain)
    points, notes = settled(written(tmp_path, "a.json", text))
    assert [point.draft_tokens for point in points] == [3, 0]
    assert any("2 results" in note for note in notes)


def test_two_requests_cannot_fill_eight_slots(tmp_path: Path) -> None:
    record = vllm_serve(completed=2, total_input_tokens=200, total_output_tokens=512,
                        output_throughput=1.96 / 9.0e-3)  # fmt: skip
    (point,), notes = settled(written(tmp_path, "s.json", record))
    assert point.batch_size == 2
    assert any("only 2 requests" in note for note in notes)


def test_a_server_that_was_not_full_has_its_mean_as_batch_size(tmp_path: Path) -> None:
    record = vllm_serve(batch_size=64, output_throughput=40 / 9.0e-3)
    (point,), notes = settled(written(tmp_path, "s.json", record))
    assert point.batch_size == pytest.approx(40)
    assert any("64 were asked for" in note for note in notes)


def test_sweep_cells_are_python_literals_and_empty_is_absent(tmp_path: Path) -> None:
    plain = vllm_serve(batch_size=1, tpot_ms=6.63, itl_ms=6.61)
    drafts = vllm_serve(batch_size=1, tpot_ms=3.41, itl_ms=9.29, counters=(7498, 22494, 12982))
    drafts["speculative_config"] = "{'method': 'mtp', 'num_speculative_tokens': 3}"
    text = io.StringIO()
    writer = csv.DictWriter(text, ["", *drafts])
    writer.writeheader()
    writer.writerows([plain, drafts])
    points, _ = settled(written(tmp_path, "summary.csv", text.getvalue()))
    assert [point.draft_tokens for point in points] == [0, 3]
    assert points[1].seconds == pytest.approx(3.41e-3 * (1 + 12982 / 7498))
    # The folder holds the same runs twice: each counts once.
    written(tmp_path, "SERVE--max_concurrency=1/summary.json", [plain])
    again, _ = settled(tmp_path)
    assert len(again) == 2


def test_bench_latency_asks_for_the_load(tmp_path: Path) -> None:
    record = {"avg_latency": 0.894, "latencies": [0.894], "percentiles": {"50": 0.894}}
    path = written(tmp_path, "l.json", record)
    with pytest.raises(CalibrationError, match="--batch-size, --input-len, --output-len"):
        settled(path)
    known = CalibrationOptions(batch_size=8, input_tokens=32, output_tokens=128, draft_tokens=0)
    (point,), notes = settled(path, known)
    assert point.seconds == pytest.approx(0.894 / 128)  # 6.98 ms, an upper bound
    assert point.context == 96
    assert any("upper bound" in note for note in notes)


def test_bench_latency_with_drafts_has_no_acceptance(tmp_path: Path) -> None:
    record = {"model_id": "m", "avg_latency": 1.578, "latencies": [1.578], "percentiles": {}}
    known = CalibrationOptions(batch_size=8, input_tokens=32, output_tokens=128, draft_tokens=2)
    (point,), notes = settled(written(tmp_path, "l.json", record), known)
    assert point.meaning == "per token"
    assert point.token_seconds == pytest.approx(12.33e-3, rel=1e-3)
    assert "acceptance length" in point.missing
    assert any("random token ids" in note for note in notes)


def test_bench_throughput_is_refused_with_the_reason(tmp_path: Path) -> None:
    record = {"elapsed_time": 12.5, "num_requests": 100, "total_num_tokens": 25600,
              "tokens_per_second": 2048.0}  # fmt: skip
    with pytest.raises(DataError, match="hold no step time"):
        settled(written(tmp_path, "t.json", record))


def test_one_batch_is_in_seconds_and_without_sd(tmp_path: Path) -> None:
    record = {"run_name": "default", "batch_size": 8, "input_len": 1024, "output_len": 64,
              "median_decode_latency": 0.0112, "total_latency": 1.03}  # fmt: skip
    text = json.dumps(record) + "\n" + json.dumps(record | {"batch_size": 32})
    points, _ = settled(written(tmp_path, "o.jsonl", text))
    assert [point.batch_size for point in points] == [8, 32]
    assert points[0].seconds == pytest.approx(11.2e-3)
    assert (points[0].draft_tokens, points[0].context) == (0, 1056)


def test_one_batch_server_takes_the_prefill_off(tmp_path: Path) -> None:
    record = {"run_name": "default", "batch_size": 8, "input_len": 1024, "output_len": 256,
              "latency": 2.31, "last_ttft": 0.2713, "acc_length": 2.73}  # fmt: skip
    (point,), _ = settled(written(tmp_path, "o.jsonl", record))
    assert point.token_seconds == pytest.approx((2.31 - 0.2713) / 255)
    assert point.seconds == pytest.approx(2.73 * (2.31 - 0.2713) / 255)
    assert point.draft_tokens is None  # SD was on, how long the drafts were is not in the file


def sglang_serving(**changes: Any) -> dict[str, Any]:
    record: dict[str, Any] = {
        "tag": None, "backend": "sglang", "dataset_name": "sharegpt", "request_rate": 4.0,
        "max_concurrency": 8,
        "server_info": {"speculative_algorithm": "EAGLE", "speculative_num_steps": 3,
                        "speculative_eagle_topk": 1, "speculative_num_draft_tokens": 4},
        "completed": 80, "total_input_tokens": 81920, "total_output_tokens": 20480,
        "total_output_tokens_retokenized": 20450, "output_throughput": 910.0,
        "mean_tpot_ms": 8.4, "median_tpot_ms": 8.35, "mean_itl_ms": 8.4, "median_itl_ms": 7.9,
        "concurrency": 7.9, "accept_length": 2.73,
    }  # fmt: skip
    return record | changes


def test_sglang_serving_itl_is_already_per_token(tmp_path: Path) -> None:
    text = json.dumps(sglang_serving(request_rate=float("inf")))
    assert "Infinity" in text
    (point,), _ = settled(written(tmp_path, "s.jsonl", text))
    assert point.seconds == pytest.approx(8.4e-3 * 2.73)
    assert (point.draft_tokens, point.batch_size, point.context) == (3, 8, 1152)


def test_sglang_tree_is_named(tmp_path: Path) -> None:
    info = {"speculative_num_steps": 5, "speculative_eagle_topk": 4,
            "speculative_num_draft_tokens": 8}  # fmt: skip
    (point,), notes = settled(written(tmp_path, "s.jsonl", sglang_serving(server_info=info)))
    assert point.draft_tokens == 7
    assert any("tree" in note for note in notes)


def test_sglang_without_accept_length_is_plain(tmp_path: Path) -> None:
    record = sglang_serving(accept_length=None, server_info={})
    (point,), _ = settled(written(tmp_path, "s.jsonl", record))
    assert point.draft_tokens == 0
    assert point.seconds == pytest.approx(8.4e-3)


def test_step_time_dict_is_sorted_by_number_and_in_seconds(tmp_path: Path) -> None:
    state = {"step_time_dict": {"16": [0.02], "1": [0.0066, 0.0065], "8": [0.0111, 0.0113]},
             "avg_spec_accept_length": 2.73}  # fmt: skip
    points, _ = settled(written(tmp_path, "i.json", {"internal_states": [state]}))
    assert [point.batch_size for point in points] == [1, 8, 16]
    assert points[0].seconds == pytest.approx(6.55e-3)
    assert points[0].token_seconds == pytest.approx(6.55e-3 / 2.73)


def test_dspark_table_knows_tokens_only(tmp_path: Path) -> None:
    table = {"sample_batch_tokens": [4, 8], "sample_steps_per_sec": [190.1, 165.0],
             "max_batch_tokens": 1024}  # fmt: skip
    path = written(tmp_path, "d.json", table)
    points, notes = settled(path)
    assert [point.tokens for point in points] == [4, 8]
    assert points[0].seconds == pytest.approx(1 / 190.1)
    assert points[0].batch_size is None
    assert any("above 8 tokens" in note for note in notes)
    given, _ = settled(path, CalibrationOptions(batch_size=2))
    assert [point.draft_tokens for point in given] == [1, 3]


def guidellm_statistic(mean: float) -> dict[str, Any]:
    return {"successful": {"mean": mean, "median": mean, "count": 78},
            "errored": {"mean": 0.0, "median": 0.0, "count": 0}}  # fmt: skip


@pytest.mark.parametrize("place", ["args", "config"])
def test_guidellm_inter_token_latency_is_tpot(tmp_path: Path, place: str) -> None:
    metrics = {
        "request_totals": {"successful": 78},
        "request_concurrency": guidellm_statistic(7.9),
        "inter_token_latency_ms": guidellm_statistic(8.4),
        "time_per_output_token_ms": guidellm_statistic(8.55),  # holds the time to first token
        "prompt_token_count": guidellm_statistic(100),
        "output_token_count": guidellm_statistic(256),
        "iter_tokens_per_iteration": guidellm_statistic(2.74),
    }
    benchmark = {place: {"strategy": {"streams": 8}}, "metrics": metrics}
    report = {"metadata": {"guidellm_version": "0.6.1"}, place: {}, "benchmarks": [benchmark]}
    (point,), notes = settled(written(tmp_path, "g.json", report))
    assert point.token_seconds == pytest.approx(8.4e-3)
    assert point.seconds == pytest.approx(8.4e-3 * 2.74)
    assert (point.batch_size, point.context, point.draft_tokens) == (8, 228, None)
    assert any("streamed chunks" in note for note in notes)


def test_guidellm_csv_has_three_header_rows(tmp_path: Path) -> None:
    text = (
        "Run Info,Benchmark,Time per Output Token,Inter Token Latency,Inter Token Latency,"
        "Server Throughput,Token Streaming\n"
        "Run ID,Strategy,Successful ms,Successful ms,Successful ms,Successful Concurrency,"
        "Successful Iter Tokens/Iter\n"
        ",,Mean,Mean,Median,Mean,Mean\n"
        "r0,concurrent,8.55,8.4,8.35,7.9,2.74\n"
    )
    (point,), _ = settled(written(tmp_path, "g.csv", text))
    assert point.token_seconds == pytest.approx(8.4e-3)
    assert point.seconds == pytest.approx(8.4e-3 * 2.74)
    assert point.batch_size == 7.9


def aiperf_metric(mean: float, unit: str = "ms") -> dict[str, Any]:
    return {"unit": unit, "avg": mean, "p50": mean, "count": 80}


def test_aiperf_chunk_latency_is_the_cycle(tmp_path: Path) -> None:
    summary = {
        "aiperf_version": "0.13.0",
        "request_throughput": {"unit": "requests/sec", "avg": 3.55},
        "time_to_first_token": aiperf_metric(45.0),
        "inter_token_latency": aiperf_metric(8.4),
        "inter_chunk_latency": aiperf_metric(22.9),
        "input_sequence_length": aiperf_metric(100, "tokens"),
        "output_sequence_length": aiperf_metric(256, "tokens"),
        "total_spec_decode_steps": {"unit": "count", "avg": 7502.0},
        "total_accepted_draft_tokens": {"unit": "tokens", "avg": 12978.0},
        "total_draft_tokens": {"unit": "tokens", "avg": 22506.0},
        "pooled_spec_decode_acceptance_histogram": {"0": 1605, "3": 2775},
        "run_info": {"variation_values": {"phases.profiling.concurrency": 8}},
    }
    (point,), _ = settled(written(tmp_path, "p.json", summary))
    assert point.seconds == pytest.approx(8.4e-3 * (1 + 12978 / 7502))
    assert (point.batch_size, point.draft_tokens, point.context) == (8, 3, 228)


def test_genai_perf_tells_no_cycle(tmp_path: Path) -> None:
    summary = {
        "request_throughput": {"unit": "requests/sec", "avg": 3.55},
        "time_to_first_token": aiperf_metric(45.0),
        "inter_token_latency": aiperf_metric(8.4),
        "input_config": {"perf_analyzer": {"stimulus": {"concurrency": 8}}},
    }
    path = written(tmp_path, "p.json", summary)
    (point,), _ = settled(path)
    assert point.meaning == "per token"
    assert point.batch_size == 8
    assert "acceptance length" in point.missing
    (plain,), _ = settled(path, CalibrationOptions(draft_tokens=0))
    assert plain.meaning == "cycle"
    assert plain.seconds == pytest.approx(8.4e-3)


def test_aiperf_csv_has_two_tables(tmp_path: Path) -> None:
    text = (
        "Metric,avg,min,max,p50\n"
        "Inter Chunk Latency (ms),22.90,20.00,30.20,22.40\n"
        "Inter Token Latency (ms),8.40,7.50,10.10,8.35\n\n"
        "Metric,Value\nOutput Token Throughput (tokens/sec),910.20\n"
    )
    (point,), _ = settled(written(tmp_path, "p.csv", text))
    assert point.seconds == pytest.approx(22.9e-3)
    assert point.median_seconds == pytest.approx(22.4e-3)
    assert point.mean_batch_size == pytest.approx(910.2 * 8.4e-3)
    assert point.batch_size is None


def test_aiperf_records_pool_all_gaps(tmp_path: Path) -> None:
    def record(gaps: list[float], *, error: object = None) -> str:
        metrics = {
            "input_sequence_length": {"value": 100}, "output_sequence_length": {"value": 10},
            "inter_chunk_latency": {"value": gaps, "unit": "ms"},
            "inter_token_latency": {"value": 8.0, "unit": "ms"},
        }  # fmt: skip
        span = {"request_start_ns": 0, "request_end_ns": 10**9, "was_cancelled": False}
        return json.dumps({"metadata": span, "metrics": metrics, "error": error})

    text = "\n".join([record([20.0, 24.0]), record([22.0, 26.0]), record([1.0], error={"code": 1})])
    (point,), _ = settled(written(tmp_path, "r.jsonl", text))
    assert point.seconds == pytest.approx(23e-3)
    assert point.mean_batch_size == pytest.approx(2.0)


def test_inference_perf_is_in_seconds(tmp_path: Path) -> None:
    def seconds(value: float) -> dict[str, float]:
        return {"mean": value, "median": value}

    stage = {
        "load_summary": {"count": 80, "concurrency": 8},
        "successes": {
            "count": 80,
            "latency": {
                "request_latency": seconds(0.5589),
                "normalized_time_per_output_token": seconds(0.004299),
                "time_per_output_token": seconds(0.0041),
                "inter_token_latency": seconds(0.0041),
            },
            "throughput": {"requests_per_sec": 14.25},
            "prompt_len": {"mean": 201.0},
            "output_len": {"mean": 130.0},
        },
    }
    (point,), _ = settled(written(tmp_path, "stage.json", stage))
    assert point.seconds == pytest.approx(4.1e-3)
    assert (point.batch_size, point.context) == (8, 266)
    assert point.draft_tokens is None  # equal times make SD off likely, they do not prove it


@pytest.mark.parametrize("key", ["mean_tpot", "mean_tpot_ms"])
def test_inferencex_is_in_seconds_whatever_the_key(tmp_path: Path, key: str) -> None:
    aggregate = {"hw": "h200", "tp": 8, "ep": 1, "conc": 16, "model": "m", "framework": "sglang",
                 "precision": "fp8", "tput_per_gpu": 900.0, "isl": 1024, "osl": 1024,
                 key: 0.0125, "mean_intvty": 80.0, "spec_decoding": "none"}  # fmt: skip
    (point,), _ = settled(written(tmp_path, "agg.json", aggregate))
    assert point.seconds == pytest.approx(12.5e-3)
    assert (point.batch_size, point.draft_tokens, point.context) == (16, 0, 1536)
    assert point.backend == "sglang"


def test_trtllm_bench_needs_streaming(tmp_path: Path) -> None:
    report = {
        "engine": {"model": "m"}, "world_info": {"tp_size": 1},
        "request_info": {"num_requests": 80, "avg_num_concurrent_requests": 7.9,
                         "avg_input_length": 1024.0, "avg_output_length": 256.0},
        "performance": {"total_latency_ms": 1.0},
    }  # fmt: skip
    with pytest.raises(DataError, match="--streaming"):
        settled(written(tmp_path, "t.json", report))
    report["streaming_metrics"] = {"avg_tpot_ms": 8.4, "tpot_percentiles": {"p50": 8.3}}
    report["decoding_stats"] = {
        "mode": "EAGLE3",
        "acceptance_length_percentiles": {"average": 2.73},
        "draft_acceptance_rate_percentiles": {"average": 0.5767},
    }
    (point,), _ = settled(written(tmp_path, "t.json", report))
    assert point.draft_tokens == 3
    assert point.seconds == pytest.approx(8.4e-3 * 2.73)


def test_vllm_log_recomputes_the_mean_from_counts(tmp_path: Path) -> None:
    log = (
        "INFO [loggers.py:331] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation "
        "throughput: 910.0 tokens/s, Running: 8 reqs, Waiting: 0 reqs\n"
        "INFO [metrics.py:120] SpecDecoding metrics: Mean acceptance length: 1.73, Accepted: 5767 "
        "tokens, Drafted: 9999 tokens, Per-position acceptance rate: 0.786, 0.574, 0.370\n"
        "INFO [loggers.py:331] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation "
        "throughput: 0.0 tokens/s, Running: 0 reqs, Waiting: 0 reqs\n"
        "INFO [metrics.py:120] SpecDecoding metrics: Mean acceptance length: nan, Accepted: 0 "
        "tokens, Drafted: 0 tokens, Per-position acceptance rate: nan, nan, nan\n"
    )
    (point,), _ = settled(written(tmp_path, "v.log", log))
    assert point.acceptance_length == pytest.approx(1 + 5767 / 3333)
    assert point.seconds == pytest.approx(8 * (1 + 5767 / 3333) / 910)
    assert point.draft_tokens == 3


def test_vllm_log_without_any_acceptance_is_plain(tmp_path: Path) -> None:
    line = "Avg generation throughput: 400.0 tokens/s, Running: 4 reqs, Waiting: 0 reqs\n"
    (point,), _ = settled(written(tmp_path, "v.log", line * 3))
    assert (point.draft_tokens, point.samples) == (0, 3)
    assert point.seconds == pytest.approx(0.01)


def test_sglang_log_reads_k_from_the_arguments(tmp_path: Path) -> None:
    log = "\n".join(
        ["server_args=ServerArgs(speculative_num_steps=3, speculative_eagle_topk=1)",
         sglang_line(8, 910.22, 2.73), sglang_line(8, 720.0)]
    )  # fmt: skip
    points, _ = settled(written(tmp_path, "s.log", log))
    assert [point.draft_tokens for point in points] == [0, 3]
    assert [point.seconds for point in points] == pytest.approx([8 / 720.0, 8 * 2.73 / 910.22])


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("batch_size,tokens_per_sequence,seconds", 8.0),
        ("batch_size,width,ms", 8e-3),
        ("bs,q,step_time_ms", 8e-3),
        ("batch,verify_width,time (us)", 8e-6),
        ("B;W;median_latency_us", 8e-6),
        ("sequences\twidth\tmicroseconds", 8e-6),
    ],
)
def test_columns_of_step_tables(tmp_path: Path, header: str, seconds: float) -> None:
    separator = next(mark for mark in ";\t," if mark in header)
    path = written(tmp_path, "t.csv", f"# by hand\n{header}\n{separator.join('248')}\n")
    (point,), _ = settled(path)
    assert (point.batch_size, point.draft_tokens) == (2, 3)
    assert point.seconds == pytest.approx(seconds)


def test_a_rate_is_no_time(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no columns"):
        settled(written(tmp_path, "t.csv", "batch_size,requests_per_s\n1,2\n"))
