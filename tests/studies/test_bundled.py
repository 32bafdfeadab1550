"""Every bundled study and ablation: its header, and an answer on small settings."""

from typing import Any

import pytest
import yaml

from codesign.ablation import ablate, load_ablation
from codesign.spec.ablation import Ablation
from codesign.spec.load import load_spec
from codesign.spec.study import Space, Study
from codesign.starters import (
    find_study,
    list_ablations,
    list_studies,
    studies_folder,
)
from codesign.study import optimize

SMALL = {"uncertainty": {"draws": 0}, "search": {"engine": "exact"}}


def small(study: Study) -> Study:
    """The study with at most three values per axis and no draws."""
    space: dict[str, Any] = study.space.to_data()
    for axis in ("experts", "top_k", "shared_experts", "draft_tokens"):
        values = getattr(study.space, axis)
        space[axis] = sorted({values[0], values[len(values) // 2], values[-1]})
    return study.revised(space=Space.from_data(space).to_data(), **SMALL)


def header(text: str) -> str:
    lines = text.splitlines()
    first = next(place for place, line in enumerate(lines) if not line.startswith("#"))
    return " ".join(line.removeprefix("#").strip() for line in lines[:first])


FILES = sorted([*studies_folder().glob("*.yaml"), *studies_folder().glob("ablations/*.yaml")])


def test_there_are_more_than_a_dozen() -> None:
    assert len(FILES) >= 18


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_header_asks_cites_and_expects(path: Any) -> None:
    words = header(path.read_text(encoding="utf-8"))
    assert "?" in words.partition(".")[0], "a question comes first"
    command = "ablate" if path.parent.name == "ablations" else "optimize --study"
    assert f"Run it with: codesign {command}" in words
    if path.stem != "default":
        assert "Source:" in words
        assert "Expected reading:" in words


@pytest.mark.parametrize("name", list_studies())
def test_a_study_answers(name: str) -> None:
    study = load_spec(find_study(name), Study)
    result = optimize(small(study))
    assert result.certificate.kind == "exact"
    assert all(row["feasible"] for row in result.best["constraints"].values())


@pytest.mark.parametrize("name", list_ablations())
def test_an_ablation_fills_every_row(name: str) -> None:
    ablation, folder = load_ablation(name)
    assert isinstance(ablation.study, Study)
    rows = ablate(quick(ablation), folder=folder).rows
    assert [row["status"] for row in rows] == ["ok"] * len(rows)
    for row in rows:
        assert all(isinstance(value, int | float) for value in row["figures"].values())


def quick(ablation: Ablation) -> Ablation:
    """The same with a small space, where a space is searched, and two mechanisms."""
    assert isinstance(ablation.study, Study)
    update: dict[str, Any] = {"terms": dict(list(ablation.terms.items())[:2])}
    if ablation.design != "reference":
        update["study"] = small(ablation.study)
    return ablation.model_copy(update=update)


def test_the_default_study_is_what_a_bare_command_asks() -> None:
    """Its file spells the defaults out; a field that is missing there would go unnoticed."""
    written = load_spec(find_study("default"), Study)
    bare = Study.from_data({"hardware": "h100", "workload": {"target_batch_size": 32}})
    for field in ("reference", "workload", "deployment", "space", "objectives", "search"):
        assert getattr(written, field) == getattr(bare, field), field
    assert {*yaml.safe_load(find_study("default").read_text())} >= {"constraints", "draft"}
