"""Files of designs, and what a dashboard shows of a kept study."""

import itertools
from contextlib import closing
from pathlib import Path
from typing import Any

import optuna
import pandas as pd
import pytest

from codesign.errors import UsageError
from codesign.result import Result
from codesign.search.engines import Run
from codesign.search.storage import open_store
from codesign.study import optimize
from tests.questions import make_study

SPACE = {"experts": "32:128:16", "top_k": "1:8", "shared_experts": "0:1", "draft_tokens": "2:5"}


def kept(folder: Path, resume: bool = False, **run: Any) -> Result:
    study = make_study(space=SPACE, search={"trials": 40}, constraints={"quality": False})
    return optimize(study, run=Run(folder=folder, resume=resume, **run))


def test_feasible_designs_are_written_best_first(tmp_path: Path) -> None:
    result = kept(tmp_path)
    table = pd.read_csv(tmp_path / "designs.csv.gz")
    assert len(table) == result.certificate.feasible
    assert table["feasible"].all()
    assert table["sd_speedup"].is_monotonic_decreasing
    assert table["sd_speedup"][0] == pytest.approx(result.best["objectives"]["sd_speedup"])


def test_all_designs_are_written_each_once(tmp_path: Path) -> None:
    result = kept(tmp_path, designs="all")
    table = pd.read_csv(tmp_path / "designs.csv.gz")
    assert len(table) == result.certificate.designs
    assert table["feasible"].sum() == result.certificate.feasible
    axes = ["experts", "top_k", "shared_experts", "draft_tokens"]
    written = set(map(tuple, table[axes].to_numpy().tolist()))
    wanted = {
        design
        for design in itertools.product(range(32, 129, 16), range(1, 9), (0, 1), range(2, 6))
        if design[1] <= design[0]
    }
    assert written == wanted


def test_parquet_has_the_same_designs(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="needs the extra parquet")
    kept(tmp_path, designs="all", parquet=True)
    kept(tmp_path, resume=True, designs="all")
    text = pd.read_csv(tmp_path / "designs.csv.gz")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "designs.parquet"), text)


def test_parquet_without_pyarrow_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codesign.search.designs_file.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'codesign\[parquet\]'"):
        kept(tmp_path, parquet=True)


def test_the_same_designs_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        kept(tmp_path / name, designs="all")
    first, second = (tmp_path / name / "designs.csv.gz" for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()


def test_workers_write_the_same_bytes(tmp_path: Path) -> None:
    kept(tmp_path / "one", designs="all")
    kept(tmp_path / "two", designs="all", workers=2)
    first, second = (tmp_path / name / "designs.csv.gz" for name in ("one", "two"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("database", [None, "sqlite:///{}/study.db"])
def test_an_exact_runs_front_is_mirrored_beside_the_study(
    tmp_path: Path, database: str | None
) -> None:
    storage = database and database.format(tmp_path)
    result = kept(tmp_path, storage=storage)
    with closing(open_store(storage, tmp_path, "codesign")) as store:
        own = optuna.load_study(study_name="codesign", storage=store.storage)
        exact = optuna.load_study(study_name="codesign exact", storage=store.storage)
        assert len(own.trials) == 40, "the sampler's own trials stay its own"
        assert exact.best_trial.params == result.best["design"]
        shown = [trial.params for trial in exact.get_trials()]
    assert all(entry["design"] in shown for entry in result.front)


def test_the_dashboard_shows_infeasible_trials_and_the_front(tmp_path: Path) -> None:
    dashboard = pytest.importorskip("optuna_dashboard", reason="needs the extra dashboard")
    from optuna_dashboard._serializer import serialize_frozen_trial

    kept(tmp_path)
    with closing(open_store(None, tmp_path, "codesign")) as store:
        study = optuna.load_study(study_name="codesign", storage=store.storage)
        attributes = store.storage.get_study_system_attrs(study._study_id)
        shown = [
            serialize_frozen_trial(study._study_id, trial, attributes)
            for trial in study.get_trials()
        ]
        infeasible = [any(value > 0 for value in each["constraints"]) for each in shown]
        told = [any(v > 0 for v in trial.constraints.values()) for trial in study.get_trials()]
        assert infeasible == told
        assert any(infeasible)
        assert dashboard.get_note(study).startswith("exact: ")
        assert any(key.startswith("dashboard:plot_data:front") for key in attributes)
