"""A study killed twenty times has the trials of one that was not."""

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import optuna
import pytest
from optuna.trial import FrozenTrial, TrialState

from codesign.search.storage import open_store
from tests.search.killed_driver import TRIALS, drive, kept_study
from tests.search.postgres_server import postgres

pytestmark = pytest.mark.slow

KILLS = 20


def trials_of(storage: str, name: str = "killed") -> list[FrozenTrial]:
    """Return all trials in the order in which they were told."""
    with closing(open_store(storage, None, name)) as store:
        study = optuna.load_study(study_name=name, storage=store.storage)
        return study.get_trials(deepcopy=False)


def sequence(trials: list[FrozenTrial]) -> list[tuple[object, ...]]:
    """Return what was told, and in which order."""
    return [
        (t.user_attrs["slot"], t.params, t.values, t.constraints, t.user_attrs["design"])
        for t in trials
    ]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[object, ...]]:
    path = str(tmp_path_factory.mktemp("undisturbed") / "study.journal")
    drive(path, kept_study())
    return sequence(trials_of(path))


def kill_again_and_again(storage: str) -> int:
    command = [sys.executable, "-m", "tests.search.killed_driver", storage, str(KILLS), "7"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300,
        cwd=Path(__file__).parents[2], env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def check(storage: str, undisturbed: list[tuple[object, ...]]) -> None:
    at_work = kill_again_and_again(storage)
    trials = trials_of(storage)
    assert at_work > 2, "the study was over before most kills"
    assert {trial.state for trial in trials} == {TrialState.COMPLETE}
    assert len(trials) == TRIALS
    assert sequence(trials) == undisturbed


def test_an_undisturbed_study_tells_every_slot_in_order(
    undisturbed: list[tuple[object, ...]],
) -> None:
    assert [row[0] for row in undisturbed] == list(range(TRIALS))


def test_kills_on_a_journal_lose_nothing(
    undisturbed: list[tuple[object, ...]], tmp_path: Path
) -> None:
    check(str(tmp_path / "study.journal"), undisturbed)


def test_kills_on_postgresql_lose_nothing(
    undisturbed: list[tuple[object, ...]],
) -> None:
    with postgres() as url:
        check(url, undisturbed)


def test_two_drivers_on_one_postgresql_study_cooperate(
    undisturbed: list[tuple[object, ...]],
) -> None:
    with postgres() as url:
        command = [sys.executable, "-m", "tests.search.killed_driver", url, "0", "0"]
        root = Path(__file__).parents[2]
        drivers = [
            subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            for _ in range(2)
        ]
        for driver in drivers:
            _, errors = driver.communicate(timeout=300)
            assert driver.returncode == 0, errors.decode()
        trials = trials_of(url)
    assert len(trials) == TRIALS
    slot = [trial.user_attrs["slot"] for trial in trials]
    assert sorted(slot) == list(range(TRIALS))
    assert sorted(sequence(trials), key=lambda row: str(row[0])) == sorted(
        undisturbed, key=lambda row: str(row[0])
    )
