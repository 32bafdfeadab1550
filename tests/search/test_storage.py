"""What is kept survives torn journals, stale locks, foreign trials, Ctrl-C (D01, D03, D04)."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from codesign.errors import DataError, UsageError
from codesign.result import Result
from codesign.search.engines import Run
from codesign.search.storage import JOURNAL, STALE_AFTER, open_store, repair_journal
from codesign.study import optimize
from tests.questions import make_study

LOOSE = dict.fromkeys(("quality", "expert_width", "sd_tpot", "active_params"), False)
"""Lifted, so that a feasible design is found within a few trials."""


def run(folder: Path, trials: int = 40, **fields: object) -> Result:
    study = make_study(search={"engine": "optuna", "trials": trials}, constraints=LOOSE, **fields)
    return optimize(study, run=Run(folder=folder, resume=True))


@contextmanager
def kept(folder: Path, name: str = "codesign") -> Iterator[optuna.Study]:
    with closing(open_store(None, folder, name)) as store:
        yield optuna.load_study(study_name=name, storage=store.storage)


def test_nothing_is_written_without_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    optimize(make_study(search={"engine": "optuna", "trials": 20}))
    assert not list(tmp_path.iterdir())


def test_d01_the_best_is_feasible_and_dashboards_see_constraints(tmp_path: Path) -> None:
    result = run(tmp_path)
    assert all(each["feasible"] for each in result.best["constraints"].values())
    with kept(tmp_path) as study:
        for trial in study.get_trials():
            # optuna-dashboard 0.21 shows a trial as infeasible by this list alone.
            shown = trial.system_attrs["constraints"]
            named = [v for name, v in trial.constraints.items() if not name.isdigit()]
            assert sorted(shown) == sorted(named)
        assert study.best_trial.user_attrs["design"] == result.best["design"]


def test_d03_a_half_written_line_is_cut_and_kept(tmp_path: Path) -> None:
    answer = run(tmp_path / "whole").best
    run(tmp_path / "torn", trials=20)
    journal = tmp_path / "torn" / JOURNAL
    whole = journal.read_bytes()
    last = whole.splitlines()[-1]
    journal.write_bytes(whole[: -len(last) // 2 - 1])
    assert run(tmp_path / "torn").best == answer
    (backup,) = journal.parent.glob("*.torn-*")
    assert last.startswith(backup.read_bytes())
    with kept(tmp_path / "torn") as study:
        assert [trial.state for trial in study.get_trials()] == [TrialState.COMPLETE] * 40
    for line in journal.read_text().splitlines():
        json.loads(line)


def test_a_whole_journal_is_left_alone(tmp_path: Path) -> None:
    run(tmp_path, trials=20)
    before = (tmp_path / JOURNAL).read_bytes()
    assert repair_journal(tmp_path / JOURNAL) is None
    assert (tmp_path / JOURNAL).read_bytes() == before


def test_a_journal_broken_inside_is_a_data_error(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_text("not a journal\n{}\n")
    with pytest.raises(DataError, match="not a journal of Optuna, or broken inside"):
        run(tmp_path)


def test_d03_a_lock_left_by_a_killed_process_does_not_stall(tmp_path: Path) -> None:
    run(tmp_path, trials=20)
    lock = tmp_path / f"{JOURNAL}.lock"
    lock.symlink_to(tmp_path / JOURNAL)
    old = time.time() - STALE_AFTER - 1
    os.utime(lock, (old, old), follow_symlinks=False)
    start = time.monotonic()
    run(tmp_path, trials=21)
    assert time.monotonic() - start < STALE_AFTER


def test_d04_running_trials_are_failed_and_trials_are_counted_in_total(tmp_path: Path) -> None:
    run(tmp_path, trials=6)
    with kept(tmp_path) as study:
        study.ask()  # by a program that dies now
    run(tmp_path, trials=10)
    with kept(tmp_path) as study:
        states = [trial.state for trial in study.get_trials()]
    assert states.count(TrialState.COMPLETE) == 10
    assert states.count(TrialState.FAIL) == 1
    assert TrialState.RUNNING not in states


def test_without_resume_a_kept_study_is_not_touched(tmp_path: Path) -> None:
    run(tmp_path, trials=20)
    study = make_study(search={"engine": "optuna", "trials": 40})
    with pytest.raises(UsageError, match="already holds a study named 'codesign': --resume"):
        optimize(study, run=Run(folder=tmp_path))
    with kept(tmp_path) as study_there:
        assert len(study_there.get_trials()) == 20


def test_a_resumed_study_must_ask_the_same(tmp_path: Path) -> None:
    run(tmp_path, trials=20)
    with pytest.raises(UsageError, match=r"asked another question \(workload differ\)"):
        run(tmp_path, workload={"target_batch_size": 16})


def test_any_database_keeps_a_study(tmp_path: Path) -> None:
    study = make_study(search={"engine": "optuna", "trials": 40}, constraints=LOOSE)
    url = f"sqlite:///{tmp_path}/study.db"
    optimize(study, run=Run(storage=url))
    answer = optimize(study, run=Run(storage=url, resume=True))
    assert answer.best == run(tmp_path / "journal").best


def test_a_foreign_study_file_is_readable_by_plain_optuna(tmp_path: Path) -> None:
    run(tmp_path, trials=20)
    storage = JournalStorage(JournalFileBackend(str(tmp_path / JOURNAL)))
    assert len(optuna.load_study(study_name="codesign", storage=storage).trials) == 20


@pytest.mark.parametrize("url", ["nonsense://x", "postgresql://u:secret@127.0.0.1:1/none"])
def test_a_storage_that_cannot_be_opened_is_a_usage_error(url: str) -> None:
    with pytest.raises(UsageError, match="cannot be opened") as caught:
        optimize(make_study(), run=Run(storage=url))
    assert "secret" not in str(caught.value)


def test_ctrl_c_finishes_the_batch_and_says_how_to_go_on(tmp_path: Path) -> None:
    command = [
        sys.executable, "-c", "from codesign.cli import main; main()", "optimize",
        "--target-bs", "32", "--hw", "h100", "--draws", "0", "--engine", "optuna",
        "--trials", "4000", "--out", str(tmp_path),
    ]  # fmt: skip
    journal = tmp_path / JOURNAL
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        for _ in range(600):
            if journal.exists() and journal.stat().st_size > 50_000:
                break
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "trials are kept in" in errors
    assert "--resume continues" in errors
    with kept(tmp_path) as study:
        assert len(study.get_trials()) % 20 == 0
