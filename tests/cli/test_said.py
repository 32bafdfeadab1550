"""Nothing that was asked is passed over in silence: it is done, refused, or said to be left."""

import json
import os
from pathlib import Path

import pytest

from codesign.cli import progress
from codesign.resolve import build_scenario
from codesign.spec.study import Study
from codesign.uncertainty.draws import draw_scenarios
from tests.cli.command_line import run

QUESTION = ["optimize", "--hw", "h100", "--target-bs", "32", "--draws", "0", "--engine", "exact"]
SMALL = [*QUESTION, "--fix", "experts,top_k,shared_experts", "--draft-tokens", "0:2"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--dry-run", "--workers", "0"], "workers must be at least 1 (0)"),
        (["--dry-run", "--sampler", "tpf"], "sampler"),
        (["--dry-run", "--format", "json"], "--dry-run prints a plan to read"),
        (["--dry-run", "--resume"], "--resume continues a study in an --out folder"),
        (["--resume"], "--resume continues a study in an --out folder"),
        (["--all-designs"], "designs are written into an --out folder"),
        (["--parquet"], "designs are written into an --out folder"),
        (["--widths", "256:512:64"], "--widths are values for --expert-width search"),
        (["--draws", "1"], "--draws: must be 0 for none, or at least 2"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_would_do_nothing_is_refused(arguments: list[str], words: str) -> None:
    done = run(*SMALL, *arguments)
    assert (done.status, done.out) == (2, "")
    assert words in done.err
    assert len(done.err.splitlines()) == 1


def test_a_choice_of_the_command_line_is_refused_in_its_own_words() -> None:
    done = run(*SMALL, "--format", "xml")
    assert done.status == 2
    assert "Value error" not in done.err
    assert "'xml' is not one of 'table', 'json', 'csv'" in done.err


def test_an_answer_to_another_question_is_not_replaced() -> None:
    assert run(*SMALL, "--out", "answer").status == 0
    kept = Path("answer/result.json").read_bytes()
    done = run(*SMALL, "--context", "512", "--out", "answer")
    assert done.status == 2
    assert "answer/result.json answers another question (workload differ)" in done.err
    assert Path("answer/result.json").read_bytes() == kept
    again = [*SMALL[:-2], "--draft-tokens", "0:2", "--engine", "auto", "--out", "answer"]
    assert run(*again).status == 0, "the same question, whatever engine answers it"


def test_what_is_no_answer_is_not_replaced() -> None:
    Path("answer").mkdir()
    assert run(*SMALL, "--out", "good").status == 0
    good = json.loads(Path("good/result.json").read_text())
    broken = json.dumps(good | {"certificate": 3})  # of the same question
    for text in ("", "[]", '{"study": 3}', "\x00", broken):
        Path("answer/result.json").write_text(text)
        done = run(*SMALL, "--out", "answer")
        assert done.status == 2
        assert "answer/result.json is there and no result: choose another --out" in done.err
        assert Path("answer/result.json").read_text() == text


def test_the_result_of_another_ablation_is_not_replaced() -> None:
    spec = {
        "name": "one", "factors": {"workload.context": [512, 4096]}, "figures": ["sd_speedup"],
        "study": {"hardware": "h100", "workload": {"target_batch_size": 8}},
    }  # fmt: skip
    Path("one.yaml").write_text(json.dumps(spec))
    assert run("ablate", "one.yaml", "--out", "answer").status == 0
    assert run("ablate", "one.yaml", "--out", "answer").status == 0
    Path("other.yaml").write_text(json.dumps(spec | {"factors": {"workload.context": [512]}}))
    done = run("ablate", "other.yaml", "--out", "answer")
    assert done.status == 2
    assert "answer/ablation.json answers another question (factors differ)" in done.err


def test_a_study_that_is_not_there_begins() -> None:
    study = [*SMALL, "--engine", "optuna", "--trials", "20", "--out", "answer", "--resume"]
    done = run(*study)
    assert done.status == 0
    assert "nothing to resume in" in done.err
    assert run(*study).err == ""


def test_designs_that_a_sampled_run_does_not_write_are_said() -> None:
    study = [*SMALL, "--engine", "optuna", "--trials", "20", "--out", "answer", "--all-designs"]
    done = run(*study)
    assert done.status == 0
    assert "no designs are written: only an exact run evaluates every one" in done.err


def test_values_that_no_design_can_have_are_said() -> None:
    axes = ["--experts", "2,64,128", "--top-k", "4,8,300", "--shared-experts", "0"]
    plan = run(*QUESTION, *axes, "--dry-run").out
    assert "2 experts x 2 top_k x 1 shared_experts" in plan
    assert "space: top_k 300 left out: top_k would exceed experts" in plan
    assert "space: experts 2 left out: top_k would exceed experts" in plan
    answer = json.loads(run(*QUESTION, *axes, "--draft-tokens", "0:2", "--format", "json").out)
    said = [line for line in answer["assumptions"] if line.startswith("space: ")]
    assert len(said) == 2
    assert answer["certificate"]["designs"] == 2 * 2 * 3


def test_a_long_run_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0)
    assert "designs: 3 of 3" in run(*SMALL).err.splitlines()


def test_an_interval_of_few_draws_says_so() -> None:
    few, many = (run(*SMALL, "--draft-tokens", "2:6", "--draws", n).out for n in ("4", "20"))
    assert "of 4 draws" in few
    assert "of 20 draws:" not in many


def test_what_excludes_a_design_is_told_in_units_people_use() -> None:
    done = run(*SMALL, "--constraint", "memory_bytes_per_gpu<=1 GB")
    assert done.status == 3
    shortfall = next(line for line in done.err.splitlines() if "memory_bytes_per_gpu:" in line)
    assert shortfall.endswith(" GiB against 0.9313 GiB")


def test_values_of_a_pinned_axis_are_refused() -> None:
    done = run(*QUESTION, "--fix", "experts", "--experts", "64", "--dry-run")
    assert done.status == 2
    assert "--experts: fix pins this axis to the reference" in done.err


def test_a_certified_answer_is_not_replaced_by_a_sampled_one() -> None:
    assert run(*SMALL, "--out", "answer").status == 0
    done = run(*SMALL, "--engine", "optuna", "--trials", "20", "--out", "answer")
    assert done.status == 2
    assert "has an exact certificate, which engine optuna does not give" in done.err


def test_another_question_is_named_also_where_only_the_journal_is_left() -> None:
    study = [*SMALL, "--engine", "optuna", "--trials", "20", "--out", "answer"]
    assert run(*study).status == 0
    Path("answer/result.json").unlink()
    assert "(search differ)" in run(*study, "--seed", "5").err
    assert "--resume continues it" in run(*study).err
    assert run(*study, "--resume").status == 0


def test_a_pipe_in_the_place_of_an_answer_is_refused() -> None:
    Path("answer").mkdir()
    os.mkfifo("answer/result.json")
    done = run(*SMALL, "--out", "answer")
    assert done.status == 2
    assert "choose another --out" in done.err


def test_an_exact_run_and_an_ablation_say_that_they_resume_nothing() -> None:
    assert "nothing to resume" in run(*SMALL, "--out", "answer", "--resume").err
    assert "nothing to resume" in run("ablate", "granularity", "--out", "rows", "--resume").err


def test_a_sampled_search_weighs_its_answer_over_the_draws() -> None:
    """It said "values in use" of the mean over draws, and that nothing had been drawn."""
    asked = [*SMALL, "--draft-tokens", "3", "--draws", "20", "--trials", "5", "--format", "json"]
    exact = json.loads(run(*asked).out)
    sampled = json.loads(run(*asked, "--engine", "optuna").out)
    assert sampled["interval"] == exact["interval"] is not None
    assert sampled["verdict"] == exact["verdict"]
    text = run(*asked[:-2], "--engine", "optuna").out
    assert "5–95\u00a0%: " in text
    assert "Unknown: nothing was drawn" not in text
    assert "yields the most tokens/s" not in text, "nobody looked for that design"
    assert "yields the most tokens/s" in run(*asked[:-2]).out
    assert "Unknown: only an exact search compares all designs draw by draw" in text


@pytest.mark.parametrize(
    ("limits", "origin"),
    [((0.1, 0.2), "range of the study, which the value in use is not in"),
     ((0.7, 0.8), "range of the study")],
)  # fmt: skip
def test_a_prior_that_a_study_states_is_kept_to(limits: tuple[float, float], origin: str) -> None:
    low, high = limits
    study = Study.from_data(
        {
            "hardware": "h100", "workload": {"target_batch_size": 8},
            "uncertainty": {"acceptance_rate": {"low": low, "high": high}},
        }
    )  # fmt: skip
    draws = draw_scenarios(study, build_scenario(study))
    place = [each.name for each in draws.inputs].index("acceptance_rate")
    assert low <= draws.values[:, place].min() < draws.values[:, place].max() <= high
    assert draws.inputs[place].origin == origin
