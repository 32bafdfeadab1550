"""`codesign calibrate latency` and `profile` from the command line."""

import json
from pathlib import Path

import pytest

from tests.calibration.latency_files import vllm_forward_case, vllm_serve, written
from tests.calibration.profile_files import step, trace, written_trace
from tests.cli.command_line import run


def test_fit_save_show_and_predict(tmp_path: Path) -> None:
    times = {(1, 1): 4.9, (1, 4): 7.0, (8, 1): 10.0, (8, 4): 15.5, (32, 1): 17.5, (32, 4): 22.5}
    cases = [vllm_forward_case(f"{b} x {q}", b, q, ms * 1e3) for (b, q), ms in times.items()]
    path = str(written(tmp_path, "forward.json", cases))
    out, picture = str(tmp_path / "c.yaml"), str(tmp_path / "fit.png")
    done = run(
        "calibrate", "latency", path, "--hw", "h100", "--arch", "qwen3-30b-a3b", "--out", out,
        "--plot", picture,
    )  # fmt: skip
    assert done.status == 0, done.err
    assert "routed_experts.bf16.bandwidth" in done.out
    assert Path(picture).stat().st_size > 1000
    shown = run("show", "calibration", out)
    assert shown.status == 0, shown.err
    assert "routed_experts.bf16.bandwidth" in shown.out
    ask = ["predict", "--hw", "h100", "--gpus", "1", "--target-bs", "8", "--format", "json"]
    plain, calibrated = run(*ask), run(*ask, "--calibration", out)
    assert (plain.status, calibrated.status) == (0, 0), calibrated.err
    assert plain.out != calibrated.out


def test_profile_beside_latency_in_one_file(tmp_path: Path) -> None:
    out = str(tmp_path / "c.yaml")
    serve = str(written(tmp_path, "s.json", vllm_serve()))
    events = [*step(0.0, 8, 1, 3), *step(5000.0, 8, 1, 3)]
    profile = str(written_trace(tmp_path, "t.json.gz", trace(events)))
    assert run("calibrate", "latency", serve, "--out", out).status == 0
    done = run("calibrate", "profile", profile, "--layers", "3", "--out", out, "--format", "json")
    assert done.status == 0, done.err
    found = json.loads(done.out)["profile"]
    assert found["batch_size"] == 8
    assert found["parameters"]["routed_time_fraction"]["value"] == pytest.approx(150 / 201)
    both = run("show", "calibration", out)
    assert "latency" in both.out
    assert "profile" in both.out


@pytest.mark.parametrize(
    ("name", "content", "command", "status", "message"),
    [
        ("e.json", "", "latency", 4, "the file is empty"),
        ("t.json", {"elapsed_time": 1.0, "total_num_tokens": 2, "tokens_per_second": 3.0},
         "latency", 4, "hold no step time"),
        ("l.json", {"avg_latency": 1.2, "latencies": [1.2], "percentiles": {}}, "latency", 5,
         "give --batch-size"),
        ("k.csv", "tokens,us\n1,40\n2,50\n4,70\n8,99\n", "latency", 5, "--experts and --top-k"),
        ("s.json", vllm_serve(), "profile", 4, "use 'codesign calibrate latency'"),
        ("g.json", {"traceEvents": []}, "profile", 4, "without any kernel"),
    ],
)  # fmt: skip
def test_one_message_and_its_status(
    tmp_path: Path, name: str, content: object, command: str, status: int, message: str
) -> None:
    done = run("calibrate", command, str(written(tmp_path, name, content)))
    assert done.status == status, done.err
    assert done.err.startswith("error: ")
    assert message in done.err
    assert "Traceback" not in done.err
