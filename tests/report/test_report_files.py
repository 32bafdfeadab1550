"""Files of a report, and the command that writes them."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from codesign.cli import main
from codesign.errors import DataError, UsageError
from codesign.records import Record
from codesign.report.files import write_report, write_result
from codesign.report.formats import to_json
from codesign.report.report import Report
from codesign.result import Certificate, Result
from codesign.stored import read_result


@pytest.fixture
def folder(result: Record, tmp_path: Path) -> Path:
    """A folder with result.json."""
    (tmp_path / "answer").mkdir()
    (tmp_path / "answer" / "result.json").write_text(to_json(result), encoding="utf-8")
    return tmp_path / "answer"


def run(*arguments: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["codesign", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_a_folder_or_its_file_is_read(folder: Path, result: Record) -> None:
    assert read_result(folder) == result
    assert read_result(folder / "result.json") == result


def test_what_is_no_result_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"result\.json: cannot be read"):
        read_result(tmp_path)
    file = tmp_path / "result.json"
    file.write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match="not JSON"):
        read_result(file)
    file.write_text('{"schema": NaN}', encoding="utf-8")
    with pytest.raises(DataError, match="NaN is no JSON"):
        read_result(file)
    for text in ("[]", '{"schema": "other/1"}'):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match="not a result of codesign optimize"):
            read_result(file)


def test_a_result_cut_by_hand_says_what_it_lacks(folder: Path, result: Record) -> None:
    del result["verdict"], result["best"]["prediction"]
    (folder / "result.json").write_text(to_json(result), encoding="utf-8")
    with pytest.raises(
        DataError, match=r"(?s)cut short.*verdict: field required.*best\.prediction: field"
    ):
        read_result(folder)


def test_every_format_is_written(report: Report, tmp_path: Path) -> None:
    written = write_report(report, tmp_path / "out", ("html", "md", "csv"), ("png", "svg"))
    assert [path.name for path in written] == ["report.html", "report.md", "figures", "tables"]
    drawn = {path.name for path in (tmp_path / "out" / "figures").iterdir()}
    assert drawn == {f"{name}.{kind}" for name in report.charts for kind in ("png", "svg")}
    tables = {path.stem for path in (tmp_path / "out" / "tables").iterdir()}
    assert tables == {*report.tables, *(f"chart_{name}" for name in report.charts)}


def test_csv_keeps_every_digit(report: Report, tmp_path: Path) -> None:
    write_report(report, tmp_path, ("csv",))
    with (tmp_path / "tables" / "front.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row, entry in zip(rows, report.result["front"], strict=True):
        assert float(row["sd_speedup"]) == entry["objectives"]["sd_speedup"]
        assert int(row["experts"]) == entry["design"]["experts"]


def test_the_study_in_the_report_gives_the_same_study(report: Report, tmp_path: Path) -> None:
    from codesign.report.tables_origin import study_yaml
    from codesign.spec.load import load_spec
    from codesign.spec.study import Study

    (tmp_path / "study.yaml").write_text(study_yaml(report.result), encoding="utf-8")
    assert load_spec(tmp_path / "study.yaml", Study).to_data() == report.result["study"]


def test_an_answer_is_written_with_its_report(result: Record, tmp_path: Path) -> None:
    fields = {k: v for k, v in result.items() if k != "schema"}
    fields |= {"certificate": Certificate(**result["certificate"])}
    write_result(Result(**fields), tmp_path / "new" / "folder")
    names = {path.name for path in (tmp_path / "new" / "folder").iterdir()}
    assert names == {"study.yaml", "result.json", "report.html"}
    assert json.loads((tmp_path / "new/folder/result.json").read_text("utf-8")) == result


def test_the_command_writes_beside_the_result(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("report", str(folder), monkeypatch=monkeypatch) == 0
    assert capsys.readouterr().out == f"{folder / 'report.html'}\n"
    assert (folder / "report.html").stat().st_size > 10**6


def test_two_results_are_compared(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "both"
    arguments = ("report", str(folder), str(folder / "result.json"), "--out", str(out))
    assert run(*arguments, "--format", "html,md", monkeypatch=monkeypatch) == 0
    assert (out / "comparison.html").is_file() and (out / "comparison.md").is_file()


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("--format", "htm"), 2, "did you mean 'html'"),
        (("--figures", "gif"), 2, "none of png, svg, pdf"),
        (("--format", ","), 2, "choose from html, md, csv"),
    ],
)
def test_wrong_options_are_named(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: tuple[str, ...],
    status: int,
    words: str,
) -> None:
    assert run("report", str(folder), *arguments, monkeypatch=monkeypatch) == status
    assert words in capsys.readouterr().err


def test_a_broken_result_ends_in_its_own_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "result.json").write_text("{", encoding="utf-8")
    assert run("report", str(tmp_path), monkeypatch=monkeypatch) == 4
    assert run("report", str(tmp_path / "nothing"), monkeypatch=monkeypatch) == 2


def test_a_prediction_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "prediction.svg"
    arguments = ("--hw", "h100", "--target-bs", "1,8,64", "--draft-tokens", "0:4")
    assert run("predict", *arguments, "--plot", str(file), monkeypatch=monkeypatch) == 0
    text = file.read_text("utf-8")
    for words in ("Does speculative decoding pay?", "K = 4", "verify pass"):
        assert words in text


def test_help_imports_no_drawing() -> None:
    code = (
        "import sys; sys.argv = ['codesign', 'report', '--help']\n"
        "from codesign.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'plotly', 'matplotlib', 'jinja2', 'numpy', 'optuna'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]"
