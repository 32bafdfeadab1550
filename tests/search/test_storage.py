"""What is kept survives torn journals, stale locks, foreign trials, Ctrl-C (D01, D03, D04)."""

import datetime
import errno
import itertools
import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace

import optuna
import pytest
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState

from codesign.errors import DataError, UsageError
from codesign.result import Result
from codesign.search.engines import Run
from codesign.search.storage import JOURNAL, JournalLock, open_store, repair_journal
from codesign.study import optimize
from tests.questions import make_study
from tests.search.postgres_server import postgres

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


@pytest.mark.parametrize("hours", [-1, 0, 1], ids=["past", "now", "future"])
def test_d03_a_lock_left_by_a_killed_process_is_taken_over_whatever_the_clock_says(
    tmp_path: Path, hours: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codesign.search.storage.STALE_AFTER", 0.2)
    run(tmp_path, trials=20)
    lock = tmp_path / f"{JOURNAL}.lock"
    lock.symlink_to(tmp_path / JOURNAL)
    when = time.time() + 3600 * hours
    os.utime(lock, (when, when), follow_symlinks=False)
    run(tmp_path, trials=21)
    assert not lock.is_symlink()


def test_a_lock_that_is_held_is_waited_for_whatever_the_clock_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = str(tmp_path / JOURNAL)
    with JournalLock(journal).held():
        monkeypatch.setattr(time, "time", lambda: 1e10)
        waiting = threading.Thread(target=JournalLock(journal).acquire)
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
    waiting.join(10)
    assert not waiting.is_alive()


def test_a_lock_that_was_taken_over_can_be_let_go(tmp_path: Path) -> None:
    with JournalLock(str(tmp_path / JOURNAL)).held():
        (tmp_path / f"{JOURNAL}.lock").unlink()


def test_clocks_that_run_backwards_change_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = run(tmp_path / "forwards").best
    hours = itertools.count()

    class Backwards(datetime.datetime):
        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> "Backwards":
            return cls(2026, 1, 1, tzinfo=tz) - datetime.timedelta(hours=next(hours))

    monkeypatch.setattr("optuna.trial._frozen.datetime", SimpleNamespace(datetime=Backwards))
    monkeypatch.setattr("optuna.storages._in_memory.datetime", Backwards)
    monkeypatch.setattr("optuna.storages.journal._storage.datetime", Backwards)
    assert run(tmp_path / "backwards").best == answer
    assert run(tmp_path / "backwards", trials=41).best
    with kept(tmp_path / "backwards") as study:
        trials = study.get_trials()
    started = [trial.datetime_start for trial in trials if trial.datetime_start]
    assert started[0] > started[39]
    assert [trial.user_attrs["slot"] for trial in trials] == list(range(41))


def test_a_full_disk_ends_a_study_in_one_message_and_it_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = run(tmp_path / "room").best
    told = []

    def fsync(descriptor: int) -> None:
        told.append(descriptor)
        if len(told) > 30:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(os, "fsync", fsync)
        message = r"study\.journal: cannot be written \(No space .*--resume continues"
        with pytest.raises(UsageError, match=message):
            run(tmp_path / "full")
    assert (tmp_path / "full" / JOURNAL).read_bytes().endswith(b"\n")
    with kept(tmp_path / "full") as study:
        assert 0 < len(study.get_trials()) < 40
    assert run(tmp_path / "full").best == answer
    assert not list(tmp_path.glob("full/*.torn-*"))


def test_a_journal_that_cannot_be_locked_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    run(tmp_path, trials=20)
    monkeypatch.setattr(Path, "symlink_to", refused)
    with pytest.raises(UsageError, match=r"study\.journal: cannot be written \(Read-only"):
        run(tmp_path)


def test_a_driver_does_not_continue_the_half_line_of_another(tmp_path: Path) -> None:
    """That one may be killed while this one is at work: not only what is opened is looked at."""
    study = make_study(search={"engine": "optuna", "trials": 40}, constraints=LOOSE)

    def tear(stage: str, done: int, total: int) -> None:
        with (tmp_path / JOURNAL).open("ab") as journal:
            journal.write(b'{"op_code": 4, "half')

    optimize(study, run=Run(folder=tmp_path), progress=tear)
    with kept(tmp_path) as there:
        assert len(there.get_trials()) == 40


def test_a_database_that_fails_ends_a_study_in_one_message(tmp_path: Path) -> None:
    study = make_study(search={"engine": "optuna", "trials": 40})
    file = tmp_path / "study.db"

    def lose(stage: str, done: int, total: int) -> None:
        if done:
            with closing(sqlite3.connect(file)) as database:
                database.execute("DROP TABLE trials")

    message = r"storage sqlite:///.*study\.db failed: .*no such table.*--resume continues"
    with pytest.raises(UsageError, match=message):
        optimize(study, run=Run(storage=f"sqlite:///{file}"), progress=lose)


@pytest.mark.slow
def test_a_server_that_is_restarted_between_batches_is_not_noticed(tmp_path: Path) -> None:
    psycopg = pytest.importorskip("psycopg", reason="needs the extra postgres")
    study = make_study(search={"engine": "optuna", "trials": 40}, constraints=LOOSE)
    with postgres() as url:

        def restart(stage: str, done: int, total: int) -> None:
            with psycopg.connect(url) as own:
                own.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE usename = 'codesign' AND pid <> pg_backend_pid()"
                )

        answer = optimize(study, run=Run(storage=url), progress=restart)
        assert optimize(study, run=Run(storage=url, resume=True)).best == answer.best
    assert run(tmp_path).best == answer.best


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
    study = make_study(search={"engine": "optuna", "trials": 40}, constraints=LOOSE)
    with pytest.raises(UsageError, match="already holds a study named 'codesign': --resume"):
        optimize(study, run=Run(folder=tmp_path))
    other = study.revised(workload={"target_batch_size": 16})
    with pytest.raises(UsageError, match=r"asked another question \(workload differ\)"):
        optimize(other, run=Run(folder=tmp_path))
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
