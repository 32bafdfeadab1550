"""Names come from files: they steer no terminal, no browser, no spreadsheet and no formula."""

import csv
import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from codesign.errors import UsageError, printable
from codesign.report.formats import to_csv, to_json, to_text
from codesign.report.matplotlib_charts import literal
from codesign.spec.load import load_spec
from codesign.spec.study import Study
from codesign.starters import starter_text
from tests.calibration.acceptance_files import prometheus
from tests.cli.command_line import Done, run
from tests.cli.test_exit_statuses import MOE

MARKUP = "<script>alert(1)</script> [/red] [bold]x $x^{ | `a` **b** ${j} {0} %s & \"q\" 's'"
"""Printable, and something to HTML, rich, TeX, Markdown, shells and format strings."""

UNSEEN = [
    "\x1b[2J", "\x1b]8;;http://x\x07y\x1b]8;;\x07", "\x9b31m", "\u202egpj.exe", "\u2066", "\x00",
    "\x7f", "\u2028", "\ufeff", "\ud800", "\r", "\x08",
]  # fmt: skip

OBJECTIVE = """
from codesign.objectives import Objective

class Own(Objective):
    name, direction, unit = {name!r}, "maximize", "<i>[/u]"

    def evaluate(self, prediction):
        return prediction.value("sd_speedup")
"""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def clean(done: Done) -> Done:
    """What a command printed, if it steers no terminal and is no traceback."""
    for text in (done.out, done.err):
        assert all(printable(line) == line for line in text.split("\n")), text
        assert "Traceback" not in text
    return done


def question(folder: Path) -> list[str]:
    """A question in which everything has a name of markup."""
    profile = yaml.safe_load(starter_text("hardware"))
    profile |= {"name": MARKUP, "title": MARKUP}
    profile["memory"]["source"] = MARKUP
    (folder / "gpu.yaml").write_text(yaml.safe_dump(profile))
    (folder / "[red]a<b>").mkdir()
    (folder / "[red]a<b>" / "config.json").write_text(json.dumps(MOE))
    (folder / "own.py").write_text(OBJECTIVE.format(name=f"={MARKUP}"))
    study = {
        "name": MARKUP, "hardware": "gpu.yaml", "reference": "[red]a<b>",
        "workload": {"target_batch_size": 32}, "objectives": ["sd_speedup", "own.py"],
        "space": {"experts": [64, 128], "draft_tokens": "0:2"}, "uncertainty": {"draws": 2},
        "search": {"trials": 4, "batch": 2},
    }  # fmt: skip
    (folder / "s.yaml").write_text(yaml.safe_dump(study))
    return ["--study", "s.yaml"]


def test_names_of_markup_in_every_report(tmp_path: Path) -> None:
    asked = question(tmp_path)
    assert clean(run("optimize", *asked, "--out", "out")).status == 0
    csv_text = clean(run("optimize", *asked, "--format", "csv")).out
    assert f"objectives.={MARKUP}" in next(csv.reader(io.StringIO(csv_text)))
    made = clean(run("report", "out", "--format", "html,md,csv", "--figures", "png,svg"))
    assert made.status == 0, made.err
    assert clean(run("report", "out", "out", "--out", "two", "--format", "html,md")).status == 0
    assert clean(run("export", "out", "--out", "served")).status == 0
    assert clean(run("predict", *asked, "--plot", "p.svg")).status == 0
    assert clean(run("show", "hardware", "gpu.yaml")).status == 0
    for page in ("out/report.html", "two/comparison.html"):
        text = Path(page).read_text(encoding="utf-8")
        assert "<script>alert" not in text
        assert "&lt;script&gt;alert" in text
    for page in ("out/report.md", "two/comparison.md"):
        prose = re.sub(r"(?s)```yaml\n.*?\n```", "", Path(page).read_text(encoding="utf-8"))
        assert "<script>alert" not in prose.replace("\\<", "")
    with gzip.open("out/designs.csv.gz", "rt", encoding="utf-8") as designs:
        assert next(csv.reader(designs))


def test_names_of_markup_in_an_ablation(tmp_path: Path) -> None:
    question(tmp_path)
    ablation = {
        "name": MARKUP, "study": "s.yaml", "design": "reference", "terms": ["draft_cost"],
        "variants": {MARKUP: {"workload.context": 512}, "../../x": {}},
    }  # fmt: skip
    Path("a.yaml").write_text(yaml.safe_dump(ablation))
    for form in ("table", "csv", "json", "markdown"):
        done = clean(run("ablate", "a.yaml", "--format", form, "--out", "made"))
        assert done.status == 0, done.err
    assert "<script>" not in Path("made/ablation.md").read_text().replace("\\<", "")
    assert {path.parent for path in Path("made").rglob("*")} == {Path("made")}


@pytest.mark.parametrize("unseen", UNSEEN)
def test_what_is_not_seen_is_refused_in_a_spec(unseen: str) -> None:
    path = Path("s.yaml")
    study = {"hardware": "h100", "workload": {"target_batch_size": 8}, "name": f"a{unseen}b"}
    path.write_text(json.dumps(study))  # JSON writes escapes, which YAML reads
    with pytest.raises(UsageError, match=r"^s\.yaml:1:\d+: not valid YAML") as caught:
        load_spec(path, Study)
    assert unseen not in str(caught.value)


@pytest.mark.parametrize("unseen", UNSEEN)
def test_what_is_not_seen_is_written_out_everywhere_else(unseen: str) -> None:
    told = f"a{unseen}b"
    for text in (
        str(UsageError(told)),
        to_text(told),
        to_json({told: told}),
        to_csv([{told: told}]),
    ):
        assert all(printable(line) == line for line in text.split("\n")), text
    assert json.loads(to_json([told])) == [told]


def test_what_a_measured_file_names_is_written_out(tmp_path: Path) -> None:
    path = tmp_path / "\x1b[2Jm.prom"
    path.write_text(prometheus((900, (700, 500)), model="\x1b]0;x\x07\u202e"))
    done = clean(run("calibrate", "acceptance", str(path), "--out", "c.yaml"))
    assert done.status == 0
    assert clean(run("show", "calibration", "c.yaml")).status == 0


def test_an_unknown_name_is_shown_without_its_escapes() -> None:
    for unseen in UNSEEN[:4]:
        done = clean(run("optimize", "--hw", f"h10{unseen}", "--target-bs", "8"))
        assert done.status == 2


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+1", "@SUM(A1)", "=cmd|'/c calc'!A0"])
def test_no_cell_is_a_formula(text: str) -> None:
    [header, [cell, number]] = csv.reader(io.StringIO(to_csv([{text: text, "n": -1.5}])))
    assert header == [f"'{text}", "n"]
    assert (cell, number) == (f"'{text}", "-1.5")


def test_a_lone_sign_is_no_formula() -> None:
    assert to_csv([{"unit": "-"}]) == "unit\n-\n"


def test_a_dollar_is_a_dollar() -> None:
    assert literal("a$b$") == r"a\$b\$"


def test_brackets_are_text_to_the_terminal() -> None:
    assert to_text("[/red] [bold]x :smile:") == "[/red] [bold]x :smile:\n"


def result_with(**changes: Any) -> None:
    """Break a stored result."""
    data = json.loads(Path("out/result.json").read_text())
    Path("out/result.json").write_text(json.dumps(data | changes))


def test_what_is_not_seen_is_refused_in_a_result(tmp_path: Path) -> None:
    asked = ["--hw", "h100", "--target-bs", "8", "--experts", "128", "--draft-tokens", "0:1"]
    assert run("optimize", *asked, "--draws", "0", "--out", "out").status == 0
    result_with(assumptions=["a\x1b[2J: b"])
    done = clean(run("report", "out"))
    assert done.status == 4
    assert "has characters that are not printable" in done.err
