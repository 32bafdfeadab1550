"""Results and reports as files, each whole or not at all."""

from pathlib import Path
from typing import Final

from codesign.errors import UsageError
from codesign.paths import is_folder
from codesign.report.comparison import Comparison
from codesign.report.formats import to_csv, to_json
from codesign.report.replaced import check_replaceable
from codesign.report.report import Report
from codesign.report.tables_origin import study_yaml
from codesign.result import Result
from codesign.search.storage import JOURNAL
from codesign.spec.study import Study
from codesign.spec.study_file import anchored
from codesign.stored import RESULT, read_result
from codesign.study import question
from codesign.whole_file import write_files, write_whole

FORMATS: Final = ("html", "md", "csv")


def check_result(study: Study, folder: Path, paths_from: Path | None = None) -> None:
    """Check that a folder holds no answer to another study, and no surer one to this.

    Raises
    ------
    UsageError
        If it does.
    """
    asked = question(anchored(study, paths_from).to_data())
    path = folder / RESULT
    kept = check_replaceable(path, asked, read_result, lambda result: question(result["study"]))
    sampled = study.search.engine in ("optuna", "hybrid")
    if sampled and kept and kept["certificate"]["kind"] == "exact":
        raise UsageError(
            f"{path} has an exact certificate, which engine {study.search.engine} does "
            "not give: choose another --out"
        )


def write_result(result: Result, folder: Path, paths_from: Path | None = None) -> None:
    """Write study.yaml (resolved), result.json and report.html.

    Parameters
    ----------
    result : Result
    folder : Path
    paths_from : Path, optional
        What paths of the study's own objectives and constraints are relative to.

    Raises
    ------
    UsageError
        If the folder cannot be written.
    """
    report = Report.of(result, paths_from, folder / JOURNAL)
    texts = {
        "study.yaml": study_yaml(report.result),
        RESULT: to_json(report.result),
        "report.html": _html(report),
    }
    write_files(folder, texts)


def read_report(path: Path) -> Report:
    """Return the report of a stored result: result.json, or the folder that holds it.

    Raises
    ------
    UsageError, DataError
        As `read_result`.
    """
    folder = path if is_folder(path) else path.parent
    return Report(read_result(path), folder, folder / JOURNAL)


def write_report(
    report: Report | Comparison,
    folder: Path,
    formats: tuple[str, ...] = ("html",),
    pictures: tuple[str, ...] = (),
) -> list[Path]:
    """Write a report, or a comparison, in any of the formats.

    Parameters
    ----------
    report : Report or Comparison
    folder : Path
    formats : tuple of {"html", "md", "csv"}
        One page; Markdown with pictures in ``figures/``; every table in ``tables/``.
    pictures : tuple of {"png", "svg", "pdf"}
        Every chart in ``figures/``; Markdown shows the first kind, PNG by default.

    Returns
    -------
    list of Path
        Pages, and folders of pictures and tables.

    Raises
    ------
    UsageError
        If the folder cannot be written.
    """
    name = "report" if isinstance(report, Report) else "comparison"
    kinds = pictures or (("png",) if "md" in formats else ())
    written: list[Path] = []
    if "html" in formats:
        write_whole(folder / f"{name}.html", _html(report))
        written.append(folder / f"{name}.html")
    if "md" in formats:
        write_whole(folder / f"{name}.md", _markdown(report, kinds[0]))
        written.append(folder / f"{name}.md")
    if kinds:
        _pictures(report, folder / "figures", kinds)
        written.append(folder / "figures")
    if "csv" in formats:
        _tables(report, folder / "tables")
        written.append(folder / "tables")
    return written


def _html(report: Report | Comparison) -> str:
    from codesign.report.html import comparison_html, report_html

    return report_html(report) if isinstance(report, Report) else comparison_html(report)


def _markdown(report: Report | Comparison, kind: str) -> str:
    from codesign.report.markdown import comparison_markdown, report_markdown

    pictures = f"figures/{{name}}.{kind}"
    if isinstance(report, Report):
        return report_markdown(report, pictures)
    return comparison_markdown(report, pictures)


def _pictures(report: Report | Comparison, folder: Path, kinds: tuple[str, ...]) -> None:
    from codesign.report.matplotlib_charts import save_charts

    for name, chart in report.charts.items():
        for kind in kinds:
            save_charts((chart,), folder / f"{name}.{kind}")


def _tables(report: Report | Comparison, folder: Path) -> None:
    """Every table, and the points of every chart."""
    for name, table in report.tables.items():
        write_whole(folder / f"{name}.csv", to_csv(table.records()))
    for name, chart in report.charts.items():
        write_whole(folder / f"chart_{name}.csv", to_csv(chart.records()))
