"""What is asked is answered and saved, whatever becomes of the terminal."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from codesign.errors import UsageError
from tests.calibration.acceptance_files import v1_line, written
from tests.cli.command_line import run, run_apart

MAIN = [sys.executable, "-c", "from codesign.cli import main; main()"]
QUESTION = ["optimize", "--hw", "h100", "--target-bs", "32", "--draws", "0"]
SMALL = [*QUESTION, "--fix", "experts,top_k,shared_experts", "--draft-tokens", "0:2"]


def shell(line: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of shell in which ``"$@"`` is codesign with the arguments."""
    return subprocess.run(
        ["sh", "-c", line, "sh", *MAIN, *arguments],
        capture_output=True, text=True, check=False, env=os.environ | environment,
    )  # fmt: skip


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("result")
    assert run(*SMALL, "--out", str(folder)).status == 0
    return folder


@pytest.fixture
def commands(result: Path, tmp_path: Path) -> dict[str, list[str]]:
    """Every command that prints an answer and saves it in a file called saved."""
    log = written(tmp_path, "v.log", v1_line(1000, (800, 600, 400)))
    return {
        "result.json": [*SMALL, "--out", str(tmp_path)],
        "vllm.sh": ["export", str(result), "--out", str(tmp_path)],
        "variants.csv": ["ablate", "granularity", "--out", str(tmp_path)],
        "saved.yaml": ["calibrate", "acceptance", str(log), "--out", f"{tmp_path}/saved.yaml"],
        "saved.svg": [
            "predict", "--hw", "h100", "--target-bs", "1", "--plot", f"{tmp_path}/saved.svg",
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    "saved", ["result.json", "vllm.sh", "variants.csv", "saved.yaml", "saved.svg"]
)
def test_a_reader_that_leaves_takes_no_file_with_it(
    saved: str, commands: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def left(text: str) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("codesign.cli.output.emit", left)
    monkeypatch.setattr("codesign.cli.close_stdout", lambda: None)
    assert run(*commands[saved]).status == 0
    assert (tmp_path / saved).stat().st_size > 0


def test_an_answer_that_cannot_be_saved_is_printed(
    commands: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise UsageError("no room")

    monkeypatch.setattr("codesign.report.export_files.write_files", full)
    done = run(*commands["vllm.sh"])
    assert (done.status, done.err) == (2, "error: no room\n")
    assert "vllm serve" in done.out


@pytest.mark.parametrize("arguments", [["list", "figures"], ["--version"], ["schema", "study"]])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_standard_output_is_no_bug(arguments: list[str], unbuffered: str) -> None:
    done = shell('"$@" > /dev/full', *arguments, PYTHONUNBUFFERED=unbuffered)
    assert done.returncode == 2
    assert done.stderr == ("error: standard output: cannot be written (No space left on device)\n")


def test_closed_streams_are_no_bug(tmp_path: Path) -> None:
    done = shell('"$@" <&- >&- 2>&-', *SMALL, "--out", str(tmp_path))
    assert done.returncode == 0
    assert json.loads((tmp_path / "result.json").read_text())["verdict"]


@pytest.mark.parametrize("line", ['"$@" 2>&-', '"$@" 2> /dev/full'])
@pytest.mark.parametrize(
    "arguments", [["frobnicate"], ["show", "hardware", "nope"]], ids=["parser", "codesign"]
)
def test_a_message_that_nobody_hears_has_its_status(line: str, arguments: list[str]) -> None:
    assert shell(line, *arguments).returncode == 2


def test_an_encoding_without_our_signs_spells_them_out() -> None:
    done = run_apart(*SMALL, PYTHONIOENCODING="ascii")
    assert done.status == 0, done.err
    assert "1.88x" in done.out and "?" not in done.out


def wait_for(happened: Callable[[], bool]) -> None:
    for _ in range(600):
        if happened():
            return
        time.sleep(0.1)
    raise AssertionError("it never happened")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_every_request_to_stop_is_as_ctrl_c(number: signal.Signals, tmp_path: Path) -> None:
    """Terminals and batch systems ask all processes of a command at once."""
    journal = tmp_path / "study.journal"
    arguments = ["--engine", "optuna", "--trials", "4000", "--workers", "2", "--out", str(tmp_path)]
    with subprocess.Popen(
        [*MAIN, *QUESTION, *arguments], stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        wait_for(lambda: journal.exists() and journal.stat().st_size > 20_000)
        os.killpg(process.pid, number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "--resume continues" in errors
    assert "Traceback" not in errors


@pytest.mark.slow
def test_what_is_ignored_stays_ignored(tmp_path: Path) -> None:
    arguments = ["--engine", "optuna", "--trials", "60", "--out", str(tmp_path)]
    journal = tmp_path / "study.journal"
    with subprocess.Popen(
        ["nohup", *MAIN, *QUESTION, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        wait_for(lambda: journal.exists() and journal.stat().st_size > 0)
        process.send_signal(signal.SIGHUP)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
