"""Files that a study names lie beside it; a fault found after parsing has its line and column."""

from pathlib import Path

import pytest

from codesign.errors import UsageError
from codesign.resolve import build_scenario
from codesign.spec.load import load_spec
from codesign.spec.study import Study
from codesign.spec.study_file import anchored, read_study
from codesign.starters import starter_text
from tests.cli.command_line import run

MINIMAL = "hardware: h100\nworkload: {target_batch_size: 32}\n"
SMALL = ("--experts", "64,128", "--draft-tokens", "0:2", "--draws", "0", "--engine", "exact")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a folder of studies in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "studies").mkdir()
    return Path("studies")


def refused(text: str, *arguments: str, command: str = "optimize") -> str:
    """What a command says of a study."""
    Path("studies/s.yaml").write_text(text)
    done = run(command, "--study", "studies/s.yaml", *arguments)
    assert (done.status, done.out) == (2, "")
    return done.err.removeprefix("error: ").rstrip("\n")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("constraints: {memry: true}", "3:15: unknown constraint 'memry'; did you mean 'memory'?"),
        ("constraints:\n  quality: {epsilonn: 1}", "4:23: constraint quality: unknown option"),
        ("constraints:\n  top_k: {minimum: 4.7}", "4:20: constraint top_k: minimum must be a whol"),
        ("constraints: {tpot: {at_most: 1q}}", "3:31: constraint tpot: unknown unit 'q' for a ti"),
        ("constraints: {tpot: {at_mots: 1}}", "3:22: constraint tpot: unknown option 'at_mots'"),
        ("constraints: {none.py: true}", "3:24: studies/none.py: no such file"),
        ("objectives: [sd_speedup, sd_tpto]", "3:26: unknown objective 'sd_tpto'; did you mean"),
        ("reference: qwen9", "3:12: unknown architecture 'qwen9'"),
        ("set: {hidden_sze: 3}", "3:19: set: hidden_sze: unknown field 'hidden_sze'"),
        ("set: {top_k: 300}", "3:6: set: moe: top_k must not exceed experts"),
        ("deployment: {gpus: 8, tensor_parallel: 3}", "3:13: tensor_parallel 3 does not divide 8"),
        ("draft: 'model:nope'", "3:8: unknown architecture 'nope'"),
        ("space: {experts: [2], top_k: 8}", "3:8: space: no design is left"),
        ("calibration: none.yaml", "none.yaml: cannot be read (No such file"),
    ],
)  # fmt: skip
def test_a_fault_found_late_has_its_place(more: str, message: str) -> None:
    found = refused(MINIMAL + more + "\n")
    assert found.removeprefix("studies/s.yaml:").startswith(message)


def test_predict_says_it_too() -> None:
    found = refused(MINIMAL + "reference: qwen9\n", command="predict")
    assert found.startswith("studies/s.yaml:3:12: unknown architecture")


def test_what_a_flag_says_is_in_no_file() -> None:
    assert refused(MINIMAL, "--hw", "h10").startswith("unknown hardware 'h10'")
    found = refused(MINIMAL + "constraints: {memory: true}\n", "--constraint", "tpot<=1q")
    assert found.startswith("constraint tpot: unknown unit")


ABLATION = "design: reference\nterms: [draft_cost]\n"


def test_the_study_in_an_ablation_has_its_place() -> None:
    study = "  hardware: h100\n  workload: {target_batch_size: 8}\n  constraints: {memry: true}\n"
    Path("a.yaml").write_text(f"terms: [draft_cost]\ndesign: hold\nstudy:\n{study}")
    done = run("ablate", "a.yaml")
    assert done.status == 2
    assert done.err.startswith("error: a.yaml:6:17: unknown constraint 'memry'")


def test_the_study_beside_an_ablation_has_its_place() -> None:
    Path("studies/s.yaml").write_text(MINIMAL + "reference: qwen9\n")
    Path("studies/a.yaml").write_text(f"{ABLATION}study: s.yaml\n")
    done = run("ablate", "studies/a.yaml")
    assert done.status == 2
    assert done.err.startswith("error: studies/s.yaml:3:12: unknown architecture 'qwen9'")


def test_what_an_ablation_changes_is_not_looked_for_in_the_study() -> None:
    Path("studies/s.yaml").write_text(MINIMAL + "reference: qwen3-30b-a3b\n")
    Path("a.yaml").write_text(f"{ABLATION}study: studies/s.yaml\noverrides: {{reference: q9}}\n")
    done = run("ablate", "a.yaml")
    assert done.status == 2
    assert done.err.startswith("error: unknown architecture 'q9'")


def test_files_lie_beside_the_study(folder: Path) -> None:
    (folder / "gpu.yaml").write_text(starter_text("hardware"))
    path = folder / "s.yaml"
    path.write_text(MINIMAL.replace("h100", "gpu.yaml"))
    assert read_study(path).hardware == "studies/gpu.yaml"
    assert build_scenario(read_study(path)).replica.hardware.name == "my-gpu"


def test_a_file_in_the_working_folder_is_not_taken_for_one_beside_the_study(folder: Path) -> None:
    Path("gpu.yaml").write_text(starter_text("hardware"))
    (folder / "s.yaml").write_text(MINIMAL.replace("h100", "gpu.yaml"))
    with pytest.raises(UsageError, match=r"^studies/s\.yaml:1:11: hardware: .*studies/gpu\.yaml"):
        read_study(folder / "s.yaml")


def test_every_name_of_a_file_is_looked_for_there(folder: Path) -> None:
    for name in ("c.json", "d.json", "k.yaml", "runs.csv"):
        (folder / name).touch()
    (folder / "s.yaml").write_text(
        MINIMAL + "reference: c.json\ncalibration: k.yaml\ndraft: 'model:d.json,parallel'\n"
        "space: {drafts: ['model:d.json,parallel@constant:.8', mtp]}\n"
        "constraints: {user_ablations: {file: runs.csv}}\n"
    )
    study = read_study(folder / "s.yaml")
    assert (study.reference, study.calibration) == ("studies/c.json", "studies/k.yaml")
    assert study.draft.model == "studies/d.json"
    assert study.space.drafts == ("model:studies/d.json,parallel@constant:.8", "mtp")
    assert study.constraints["user_ablations"] == {"file": "studies/runs.csv"}


def test_the_study_of_an_answer_runs_from_anywhere(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "gpu.yaml").write_text(starter_text("hardware"))
    (folder / "same.py").write_text(
        "from codesign.objectives import Objective\n"
        "class Same(Objective):\n    name, direction, unit = 'same', 'maximize', '-'\n"
        "    def evaluate(self, prediction):\n        return prediction.value('sd_speedup')\n"
    )
    text = MINIMAL.replace("h100", "gpu.yaml") + "objectives: [same.py]\n"
    (folder / "s.yaml").write_text(text)
    done = run("optimize", "--study", "studies/s.yaml", *SMALL, "--out", "out", "--format", "json")
    assert done.status == 0, done.err
    monkeypatch.chdir("/")
    again = run("optimize", "--study", str(tmp_path / "out/study.yaml"), "--format", "json")
    assert (again.status, again.out) == (0, done.out)


def test_bundled_names_stay_as_they_are() -> None:
    path = Path("studies/s.yaml")
    path.write_text(MINIMAL)
    assert anchored(read_study(path)) == load_spec(path, Study)
