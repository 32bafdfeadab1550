"""Trials read back from the study's journal."""

from pathlib import Path

from codesign.records import Record
from codesign.report.history import History, history_chart, read_history


def test_the_journals_trials_are_the_certificates(result: Record, journal: Path) -> None:
    history = read_history(journal, result)
    assert history is not None
    assert len(history.values) == result["certificate"]["trials"]
    assert 0 < sum(history.feasible) < len(history.values)
    assert not history.minimized


def test_the_study_ends_its_regret_below_the_optimum(result: Record, journal: Path) -> None:
    history = read_history(journal, result)
    assert history is not None
    best = history.best_so_far()[-1]
    optimum = result["best"]["objectives"]["sd_speedup"]
    assert best is not None
    assert abs((optimum - best) / optimum - result["certificate"]["study_regret"]) < 1e-9


def test_a_missing_broken_or_foreign_journal_is_done_without(
    result: Record, journal: Path, tmp_path: Path
) -> None:
    assert read_history(None, result) is None
    assert read_history(tmp_path / "study.journal", result) is None
    broken = tmp_path / "broken.journal"
    broken.write_text("not a journal\n")
    assert read_history(broken, result) is None
    result["study"]["name"] = "another"
    assert read_history(journal, result) is None


def test_the_best_so_far_follows_the_direction() -> None:
    values, feasible = [3.0, 1.0, 2.0, 0.5], [False, True, True, False]
    assert History(values, feasible, minimized=False).best_so_far() == [None, 1.0, 2.0, 2.0]
    assert History(values, feasible, minimized=True).best_so_far() == [None, 1.0, 1.0, 1.0]


def test_only_a_certified_optimum_is_called_proven(result: Record) -> None:
    history = History([1.0, 2.0], [True, True], minimized=False)
    names = [series.name for series in history_chart(result, history).series]
    assert "proven optimum" in names
    result["certificate"]["kind"] = "none"
    names = [series.name for series in history_chart(result, history).series]
    assert "best known" in names and "proven optimum" not in names
