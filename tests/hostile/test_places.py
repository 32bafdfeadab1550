"""Names choose no place to write to, links lead nowhere else, and what is there stays."""

import json
from pathlib import Path

import pytest
import yaml

from tests.cli.command_line import Done, run

STUDY = {
    "hardware": "h100", "workload": {"target_batch_size": 8}, "uncertainty": {"draws": 0},
    "space": {"experts": [64, 128], "draft_tokens": "0:1"}, "search": {"engine": "exact"},
}  # fmt: skip
TRAVERSAL = ["../../x", "/tmp/x", "..", "a/b", "a\\b", "C:\\x", ".", "con", "-rf", "~root", "x\ty"]


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder two levels below one that must stay as it is."""
    folder = tmp_path / "above" / "inside"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def files_above(inside: Path) -> list[Path]:
    """Files anywhere but in the working folder."""
    above = inside.parents[1]
    return [p for p in above.rglob("*") if p.is_file() and inside not in p.parents]


def asked(*more: str, **changes: object) -> Done:
    """Answer a study with some fields changed."""
    Path("s.yaml").write_text(yaml.safe_dump(STUDY | changes))
    return run("optimize", "--study", "s.yaml", *more)


@pytest.mark.parametrize("name", TRAVERSAL)
def test_the_name_of_a_study_is_no_path(name: str, inside: Path) -> None:
    assert asked("--out", "out", name=name).status == 0
    assert run("report", "out", "out", "--out", "two").status == 0
    assert run("export", "out", "--out", "served").status == 0
    assert files_above(inside) == []
    assert {path.name for path in inside.iterdir()} == {"s.yaml", "out", "two", "served"}


@pytest.mark.parametrize("name", TRAVERSAL)
def test_names_of_an_ablation_are_no_paths(name: str, inside: Path) -> None:
    ablation = {
        "name": name, "study": STUDY, "design": "reference",
        "variants": {name: {"workload.context": 512}, "other": {}},
    }  # fmt: skip
    Path("a.yaml").write_text(yaml.safe_dump(ablation))
    assert run("ablate", "a.yaml", "--out", "out").status == 0
    assert files_above(inside) == []
    assert {path.name for path in inside.iterdir()} == {"a.yaml", "out"}


@pytest.mark.parametrize("field", ["reference", "hardware", "calibration"])
@pytest.mark.parametrize("name", ["../../none", "/etc/passwd", "/etc", "..", "none/../../h100", ""])
def test_a_path_to_what_is_none_of_that_kind(field: str, name: str, inside: Path) -> None:
    done = asked(**{field: name})
    assert done.status in (2, 4)
    assert done.err.startswith("error: ")
    assert "Traceback" not in done.err


def test_out_through_a_link_leaves_what_it_leads_to(inside: Path) -> None:
    """Files are replaced, not written through: a link to elsewhere is no way to change it."""
    target = inside.parents[1] / "precious.json"
    target.write_text("precious")
    Path("out").mkdir()
    for name in ("result.json", "study.yaml", "report.html"):
        (Path("out") / name).symlink_to(target)
    assert asked("--out", "out").status == 0
    assert target.read_text() == "precious"
    assert not Path("out/result.json").is_symlink()


@pytest.mark.parametrize("what", ["study", "hardware", "ablation"])
def test_init_through_a_link_leaves_what_it_leads_to(what: str, inside: Path) -> None:
    target = inside.parents[1] / "precious.yaml"
    target.write_text("precious")
    Path("new.yaml").symlink_to(target)
    assert run("init", what, "new.yaml").status == 2
    assert run("init", what, "new.yaml", "--force").status == 0
    assert target.read_text() == "precious"


@pytest.mark.parametrize("out", ["s.yaml", "s.yaml/x", "loop", "/proc/nowhere", "/dev/null/x"])
def test_out_that_is_no_folder(out: str) -> None:
    Path("loop").symlink_to("loop")
    done = asked("--out", out)
    assert done.status == 2
    assert "Traceback" not in done.err
    assert yaml.safe_load(Path("s.yaml").read_text()) == STUDY


def test_a_broken_file_where_an_answer_goes_is_told_before_the_search() -> None:
    Path("out").mkdir()
    (Path("out") / "study.journal").write_text('{"a": 1}\n')
    done = asked("--out", "out", search={"engine": "optuna", "trials": 2})
    assert done.status == 4
    assert "study.journal: not a journal of Optuna" in done.err
    assert (Path("out") / "study.journal").read_text() == '{"a": 1}\n'


@pytest.mark.parametrize("content", ["precious", "precious\nmore", '{"key": 1}\nprecious', "\x00"])
def test_resume_from_what_is_no_journal_leaves_it(content: str) -> None:
    Path("out").mkdir()
    rows = Path("out/rows.jsonl")
    rows.write_text(content)
    ablation = {"study": STUDY, "terms": ["draft_cost"], "design": "reference"}
    Path("a.yaml").write_text(json.dumps(ablation))
    done = run("ablate", "a.yaml", "--out", "out", "--resume")
    if done.status:
        assert done.status == 4
        assert rows.read_text() == content


def test_many_results_side_by_side() -> None:
    """More than there are letters."""
    assert asked("--out", "out").status == 0
    done = run("report", *["out"] * 30, "--format", "md", "--out", "all")
    assert done.status == 0, done.err
