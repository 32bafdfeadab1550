"""An ablation as a whole: designs, tables, workers, resuming."""

import json
from pathlib import Path

import pytest

from codesign.ablation import ablate, load_ablation
from codesign.ablation.cases import Case
from codesign.ablation.evaluation import Plan, evaluate_case
from codesign.ablation.journal import Journal
from codesign.errors import DataError, InfeasibleError, UsageError
from codesign.records import Record
from codesign.report.ablation_files import write_ablation
from codesign.spec.ablation import Ablation
from codesign.spec.study import Study
from codesign.study import optimize


def test_every_row_has_the_certified_optimum_of_its_own_study(searched: Ablation) -> None:
    for row in ablate(searched).rows:
        assert isinstance(searched.study, Study)
        workload = {"target_batch_size": row["settings"]["workload.target_batch_size"]}
        study = searched.study.revised(workload=workload | {"context": 512})
        answer = optimize(study.revised(search={"engine": "exact"}))
        assert row["design"] == answer.best["design"]
        assert row["designs"] == answer.certificate.designs
        assert row["figures"]["sd_speedup"] == answer.best["prediction"]["sd_speedup"]


def test_a_held_design_is_the_same_in_every_row(searched: Ablation) -> None:
    rows = ablate(searched.revised(design="hold")).rows
    assert rows[0]["design"] == rows[1]["design"]
    assert rows[0]["figures"] != rows[1]["figures"]


def test_the_reference_may_be_dense(searched: Ablation) -> None:
    dense = {"overrides": {"reference": "llama-3.1-8b"}, "design": "reference"}
    rows = ablate(searched.revised(**dense)).rows
    assert all(row["design"]["experts"] == 1 for row in rows)


def test_shares_of_mechanisms_add_up(weighed: Ablation) -> None:
    [row] = ablate(weighed).rows
    for kind in ("mechanisms", "terms"):
        assert sum(entry["share"] for entry in row[kind]) == pytest.approx(1.0)
        contributed = sum(entry["shapley"] for entry in row[kind])
        assert contributed == pytest.approx(row[kind][0]["full"] - row[kind][0]["bare"])


def test_a_mechanism_is_the_sum_of_its_terms(weighed: Ablation) -> None:
    [row] = ablate(weighed).rows
    for mechanism in row["mechanisms"]:
        own = [term for term in row["terms"] if term["mechanism"] == mechanism["name"]]
        assert mechanism["shapley"] == pytest.approx(sum(term["shapley"] for term in own))


def test_a_single_mechanism_is_what_lies_between_bare_and_full(weighed: Ablation) -> None:
    [row] = ablate(weighed.revised(terms=["launch_floors"])).rows
    [entry] = row["mechanisms"]
    assert entry["shapley"] == entry["drop_one"] == entry["add_one"]
    assert entry["full"] == row["figures"]["sd_speedup"]


def test_terms_can_be_taken_out_before_the_design_is_chosen(weighed: Ablation) -> None:
    held = ablate(weighed.revised(design="hold", terms=["launch_floors"])).rows[0]
    free = ablate(weighed.revised(design="reoptimise", terms=["launch_floors"])).rows[0]
    assert free["mechanisms"][0]["full"] == held["mechanisms"][0]["full"]
    assert free["mechanisms"][0]["bare"] >= held["mechanisms"][0]["bare"]


def test_nothing_left_that_takes_time_is_an_error_that_says_so(weighed: Ablation) -> None:
    terms = ["launch_floors", "compute_time", "memory_time"]
    with pytest.raises(UsageError, match="nothing is left that takes time"):
        ablate(weighed.revised(terms=terms))


def test_an_infeasible_row_says_why_and_the_others_go_on(searched: Ablation) -> None:
    limit = {"constraints.top_k": {"minimum": 99}}
    variants = {"as it is": {}, "impossible": {"constraints.sd_tpot": {"at_most": "1 us"}}}
    rows = ablate(searched.revised(factors={}, variants=variants)).rows
    assert [row["status"] for row in rows] == ["ok", rows[1]["status"]]
    assert "no design is feasible" in rows[1]["status"]
    with pytest.raises(InfeasibleError):
        ablate(searched.revised(design="hold", overrides=limit | variants["impossible"]))


def test_too_large_a_space_is_refused_with_what_to_do(searched: Ablation) -> None:
    with pytest.raises(UsageError, match="hold the design"):
        ablate(searched.revised(overrides={"space.experts": "1:10000", "space.top_k": "1:1000"}))


def test_axes_beyond_the_designs_are_factors_instead(searched: Ablation) -> None:
    with pytest.raises(UsageError, match="layers; make it a factor"):
        ablate(searched.revised(overrides={"space.layers": [24, 48]}))


def test_an_unknown_figure_is_named(searched: Ablation) -> None:
    with pytest.raises(UsageError, match="did you mean 'sd_speedup'"):
        ablate(searched.revised(figures=["sd_speeedup"]))


def test_workers_change_nothing(weighed: Ablation) -> None:
    many = weighed.revised(variants={"a": {}, "b": {"workload.context": 1024}})
    assert ablate(many, workers=2).to_dict() == ablate(many).to_dict()


def test_tables_written_twice_are_the_same_to_the_byte(weighed: Ablation, tmp_path: Path) -> None:
    for folder in ("one", "two"):
        write_ablation(ablate(weighed), tmp_path / folder)
    one = {path.name: path.read_bytes() for path in (tmp_path / "one").iterdir()}
    two = {path.name: path.read_bytes() for path in (tmp_path / "two").iterdir()}
    assert one == two
    assert {"variants.csv", "mechanisms.csv", "ablation.md", "mechanisms.svg"} <= set(one)


def test_the_resolved_file_gives_the_same_tables(weighed: Ablation, tmp_path: Path) -> None:
    result = ablate(weighed)
    write_ablation(result, tmp_path)
    again, _ = load_ablation(tmp_path / "ablation.yaml")
    assert ablate(again).rows == result.rows


class TestJournal:
    """Finished rows are kept, whatever happened after them."""

    def test_finished_rows_are_not_evaluated_again(
        self, searched: Ablation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "rows.jsonl"
        whole = ablate(searched, journal=Journal(path))
        lines = path.read_text().splitlines()
        path.write_text(lines[0] + "\n" + lines[1][:40])  # killed while it wrote the second
        seen: list[str] = []

        def watched(plan: Plan, case: Case) -> Record:
            seen.append(case.name)
            return evaluate_case(plan, case)

        monkeypatch.setattr("codesign.ablation.driver.evaluate_case", watched)
        resumed = ablate(searched, journal=Journal(path))
        assert seen == ["target_batch_size=32"]
        assert resumed.to_dict() == whole.to_dict()
        assert path.read_text().splitlines() == lines

    def test_a_row_of_another_question_is_not_taken(
        self, searched: Ablation, tmp_path: Path
    ) -> None:
        path = tmp_path / "rows.jsonl"
        ablate(searched, journal=Journal(path))
        other = searched.revised(overrides={"workload.context": 1024})
        assert ablate(other, journal=Journal(path)).rows == ablate(other).rows
        assert len(path.read_text().splitlines()) == 4

    def test_another_file_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "rows.jsonl"
        path.write_text(json.dumps(["no journal"]) + "\n")
        with pytest.raises(DataError, match="not the journal of an ablation"):
            Journal(path)


def test_to_frame_has_a_column_per_setting(searched: Ablation) -> None:
    frame = ablate(searched).to_frame()
    assert list(frame["workload.target_batch_size"]) == [1, 32]
    assert {"experts", "sd_speedup", "sd_speedup_change", "status"} <= set(frame.columns)
