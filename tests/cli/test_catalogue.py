"""Ablations, terms, starters and completion on the command line."""

import json
from pathlib import Path

import pytest
import yaml

from codesign.ablation.terms import TERMS
from codesign.starters import list_ablations
from tests.cli.command_line import run, run_apart


def test_ablations_are_listed_with_their_questions() -> None:
    rows = json.loads(run("list", "ablations", "--format", "json").out)
    assert [row["name"] for row in rows] == list_ablations()
    assert all(row["question"].endswith("?") for row in rows)


def test_terms_are_listed_with_their_meaning() -> None:
    rows = json.loads(run("list", "terms", "--format", "json").out)
    assert [row["name"] for row in rows] == list(TERMS)


@pytest.mark.parametrize(("kind", "name"), [("study", "batch-1"), ("ablation", "routing")])
def test_what_a_study_expects_stands_above_its_fields(kind: str, name: str) -> None:
    shown = run("show", kind, name).out
    assert shown.startswith("# ")
    assert "# Expected reading:" in shown
    assert (
        yaml.safe_load(shown).keys()
        == json.loads(run("show", kind, name, "--format", "json").out).keys()
    )


def test_paragraphs_are_shown_as_paragraphs() -> None:
    assert "\\n" not in run("show", "constraint", "quality").out


def test_a_study_taken_for_an_ablation_is_told_apart() -> None:
    assert "codesign optimize --study batch-1" in run("ablate", "batch-1").err
    assert "codesign ablate routing" in run("optimize", "--study", "routing").err


def test_a_starter_ablation_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("init", "ablation")
    assert done.out == "wrote ablation.yaml\n"
    assert "codesign ablate ablation.yaml" in Path("ablation.yaml").read_text()
    first = run("ablate", "ablation.yaml", "--out", "tables")
    assert first.status == 0
    assert "Mechanisms of SD speedup" in first.out
    again = run("ablate", "ablation.yaml", "--out", "tables", "--resume")
    assert again.out == first.out


def test_resume_needs_a_folder() -> None:
    done = run("ablate", "routing", "--resume")
    assert done.status == 2
    assert "--out" in done.err


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("codesign optimize --hw h2", "h200-sxm"),
        ("codesign optimize --study batch-3", "batch-32"),
        ("codesign predict --arch mixtral-8x2", "mixtral-8x22b"),
        ("codesign show hardware b3", "b300-sxm"),
        ("codesign show study rob", "robust"),
        ("codesign ablate which", "which-mechanism"),
    ],
)
def test_names_are_completed(words: str, offered: str) -> None:
    done = run_apart(
        _CODESIGN_COMPLETE="complete_bash",
        COMP_WORDS=words,
        COMP_CWORD=str(len(words.split()) - 1),
    )
    assert offered in done.out.split()
