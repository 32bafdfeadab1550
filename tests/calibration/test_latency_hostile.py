"""Broken and misplaced latency files: one clear message, exit status 4 or 5."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from codesign.calibration.latency import calibrate_latency
from codesign.calibration.options import CalibrationOptions
from codesign.errors import CalibrationError, CodesignError, DataError, UsageError
from tests.calibration.latency_files import settled, vllm_forward_case, vllm_serve, written


def calibrated(*paths: Path, **options: Any) -> CodesignError:
    """The error that these files give."""
    with pytest.raises(CodesignError) as caught:
        calibrate_latency(list(paths), CalibrationOptions(**options))
    return caught.value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 0.0, "fast", True, [1.0]])
def test_times_that_are_none(tmp_path: Path, value: object) -> None:
    with pytest.raises(DataError, match="mean_tpot_ms must be a positive number"):
        settled(written(tmp_path, "s.json", vllm_serve(mean_tpot_ms=value)))


def test_gzip_cut_off(tmp_path: Path) -> None:
    packed = gzip.compress(json.dumps(vllm_serve()).encode())
    path = tmp_path / "s.json.gz"
    path.write_bytes(packed)
    assert len(settled(path)[0]) == 1  # gzip is seen through
    path.write_bytes(packed[:-20])
    assert calibrated(path).exit_status == 4


def test_json_cut_off(tmp_path: Path) -> None:
    text = json.dumps(vllm_serve())
    with pytest.raises(DataError, match="cut off or broken"):
        settled(written(tmp_path, "s.json", text[:-1]))


def test_empty_and_strange_files(tmp_path: Path) -> None:
    assert "the file is empty" in str(calibrated(written(tmp_path, "e.json", "")))
    error = calibrated(written(tmp_path, "x.json", {"some": "thing"}))
    assert error.exit_status == 4
    assert "vllm-bench-serve (vLLM bench serve result): no 'tokenizer_id'" in str(error)
    (tmp_path / "b").write_bytes(bytes(range(256)))
    assert calibrated(tmp_path / "b").exit_status == 4
    assert isinstance(calibrated(tmp_path / "absent.json"), UsageError)


def test_deep_nesting(tmp_path: Path) -> None:
    text = '{"step_time_dict": ' + "[" * 200_000
    assert calibrated(written(tmp_path, "d.json", text)).exit_status == 4


def test_logs_without_a_usable_line(tmp_path: Path) -> None:
    path = written(tmp_path, "s.log", "[x] Prefill batch. #new-seq: 1\n")
    error = calibrated(path)
    assert isinstance(error, CalibrationError)
    assert error.exit_status == 5


def test_different_models_and_engines_do_not_mix(tmp_path: Path) -> None:
    first = written(tmp_path, "a.json", vllm_serve(model_id="Qwen/Qwen3-30B-A3B"))
    second = written(tmp_path, "b.json", vllm_serve(model_id="mistralai/Mixtral-8x7B-v0.1"))
    error = calibrated(first, second)
    assert isinstance(error, DataError)
    assert "different models" in str(error)
    log = written(
        tmp_path, "s.log",
        "Decode batch. #running-req: 8, gen throughput (token/s): 720.00, #queue-req: 0\n",
    )  # fmt: skip
    forward = written(tmp_path, "f.json", [vllm_forward_case("d", 8, 1, 7310.0)])
    error = calibrated(forward, log, hardware="h100", architecture="qwen3-30b-a3b")
    assert "different engines" in str(error)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("width,ms\n1,8.4\n2,nan\n", "line 3: time must be a positive number, not 'nan'"),
        ("width,ms\n1,8.4\n2\n", "line 3: 1 cells for 2 columns"),
        ("width,ms\n", "a header without rows"),
        ("K,tok/s,acceptance\n0,20,\n1,30,88.35\n", "no fraction; write percent with %"),
        ("K,tok/s\n-1,20\n", "draft_tokens must be zero or a positive number"),
    ],
)
def test_tables_say_which_line(tmp_path: Path, text: str, message: str) -> None:
    assert message in str(calibrated(written(tmp_path, "t.csv", text)))


def test_percent_is_read_where_it_is_written(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "K,tok/s,acceptance\n0,20,\n1,30,88.35%\n")
    assert settled_lengths(path) == [1.0, pytest.approx(1.8835)]


def settled_lengths(path: Path) -> list[float | None]:
    from codesign.calibration.detect import read_files

    (reading,) = read_files([path], "latency", CalibrationOptions())
    return [run.acceptance_length for run in reading.data]


def test_kernel_times_need_a_shape(tmp_path: Path) -> None:
    path = written(tmp_path, "k.csv", "tokens,us\n1,40\n2,50\n4,70\n8,100\n")
    error = calibrated(path)
    assert error.exit_status == 5
    assert "--experts and --top-k" in str(error)
    few = written(tmp_path, "f.csv", "tokens,us\n1,40\n2,50\n")
    assert "need four or more" in str(calibrated(few, experts=128, top_k=8))


def test_unknown_names_are_usage(tmp_path: Path) -> None:
    path = written(tmp_path, "f.json", [vllm_forward_case("d", 8, 1, 7310.0)])
    for options in (
        {"hardware": "h1000"},
        {"hardware": "h100", "backend": "vlm"},
        {"hardware": "h100", "dtype": "fp7"},
        {"hardware": "h100", "draft": "eagel"},
        {"hardware": "h100", "architecture": "qwen9"},
        {"input_format": "vllm-bench-serv"},
    ):
        assert calibrated(path, **options).exit_status == 2, options


def test_unequal_widths_in_a_case(tmp_path: Path) -> None:
    case = vllm_forward_case("d", 2, 1, 7310.0)
    case["requests"] = [case["requests"][0], case["requests"][0] | {"query_len": 4}]
    with pytest.raises(DataError, match="one query_len"):
        settled(written(tmp_path, "f.json", [case]))


def test_more_accepted_than_drafted(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="accepted of"):
        settled(written(tmp_path, "s.json", vllm_serve(counters=(10, 30, 31))))
