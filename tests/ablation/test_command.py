"""The command says what the Python call says."""

import csv
import errno
import io
import json
import os
from pathlib import Path
from typing import NoReturn

import pytest

from codesign.ablation import ablate, load_ablation
from codesign.ablation.cases import Case
from codesign.ablation.evaluation import Plan, evaluate_case
from codesign.records import Record
from tests.cli.command_line import run

NAME = "design-rule-shared"


def test_json_is_the_python_call() -> None:
    ablation, folder = load_ablation(NAME)
    expected = ablate(ablation, folder=folder).to_dict()
    assert json.loads(run("ablate", NAME, "--format", "json").out) == json.loads(
        json.dumps(expected)
    )


def test_csv_has_a_row_per_variant() -> None:
    rows = list(csv.DictReader(io.StringIO(run("ablate", NAME, "--format", "csv").out)))
    assert rows[0]["variant"] == "batch 1, 128/8+0"
    assert float(rows[0]["sd_speedup"]) > 1


def test_markdown_has_a_table() -> None:
    text = run("ablate", NAME, "--format", "markdown").out
    assert "| variant | design |" in text
    assert "| --- | --- |" in text


def test_two_runs_write_the_same_tables(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        assert run("ablate", "which-mechanism", "--out", str(tmp_path / folder)).status == 0
    for path in sorted((tmp_path / "one").iterdir()):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_ctrl_c_keeps_the_finished_rows_and_says_how_to_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run("ablate", NAME, "--format", "json").out
    seen: list[str] = []

    def interrupted(plan: Plan, case: Case) -> Record:
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(case.name)
        return evaluate_case(plan, case)

    with monkeypatch.context() as patched:
        patched.setattr("codesign.ablation.driver.evaluate_case", interrupted)
        done = run("ablate", NAME, "--out", str(tmp_path))
    assert done.status == 130
    assert f"kept in {tmp_path}: the same command with --resume" in done.err
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) >= 1  # one may be in flight
    resumed = run("ablate", NAME, "--out", str(tmp_path), "--resume", "--format", "json")
    assert resumed.out == whole


def test_a_full_disk_is_one_message_and_the_rows_before_it_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run("ablate", NAME, "--format", "json").out
    rows, left = tmp_path / "rows.jsonl", [3]

    def fsync(descriptor: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(os, "fsync", fsync)
        done = run("ablate", NAME, "--out", str(tmp_path))
    assert done.status == 2
    assert done.err.startswith(f"error: {rows}: cannot be written (No space left on device); make")
    assert len([json.loads(line) for line in rows.read_text().splitlines()]) == 3
    resumed = run("ablate", NAME, "--out", str(tmp_path), "--resume", "--format", "json")
    assert resumed.out == whole


@pytest.mark.parametrize(
    ("resume", "what"),
    [([], "pathlib.Path.unlink"), (["--resume"], "codesign.ablation.journal.cut_half_line")],
)
def test_rows_that_cannot_be_changed_are_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resume: list[str], what: str
) -> None:
    def refused(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    (tmp_path / "rows.jsonl").write_text('{"key": "half a li')
    monkeypatch.setattr(what, refused)
    done = run("ablate", NAME, "--out", str(tmp_path), *resume)
    assert (done.status, done.out) == (2, "")
    assert done.err == (
        f"error: {tmp_path}/rows.jsonl: cannot be written (Read-only file system); choose another "
        "place\n"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("study: default\nfactors: {workload.contxt: [1]}\n", "did you mean 'context'"),
        ("study: defalt\nterms: [draft_cost]\n", "did you mean 'default'"),
        ("study: default\nterms: [gravity]\n", "mine.yaml:2:9: terms.gravity"),
        ("study: default\nfigure: [sd_speedup]\n", "mine.yaml:2:1: figure: unknown field"),
        ("study: default\n", "nothing is varied"),
        ("study: {hardware: h100}\nterms: [draft_cost]\n", "workload"),
    ],
)
def test_a_faulty_file_is_told_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(text)
    done = run("ablate", "mine.yaml")
    assert done.status == 2
    assert message in done.err


def test_a_calibration_is_that_of_every_row(tmp_path: Path) -> None:
    # A measured survival of .5 at every position is poorer than the default's .7645, .56, ...
    log = tmp_path / "vllm.log"
    log.write_text(
        "INFO 11-29 21:00:00 SpecDecoding metrics: Mean acceptance length: 1.88, Accepted "
        "throughput: 100.00 tokens/s, Drafted throughput: 343.00 tokens/s, Accepted: 875 tokens, "
        "Drafted: 3000 tokens, Per-position acceptance rate: 0.500, 0.250, 0.125, Avg Draft "
        "acceptance rate: 29.2%\n"
    )
    calibration = tmp_path / "calibration.yaml"
    assert run("calibrate", "acceptance", str(log), "--out", str(calibration)).status == 0
    speeds = [
        [float(row["sd_speedup"]) for row in csv.DictReader(io.StringIO(run(*command).out))]
        for command in (
            ("ablate", NAME, "--format", "csv", "--calibration", str(calibration)),
            ("ablate", NAME, "--format", "csv"),
        )
    ]
    assert all(measured < default for measured, default in zip(*speeds, strict=True))
