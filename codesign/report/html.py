"""The report as one self-contained page."""

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from codesign.report.comparison import Comparison
from codesign.report.explorer import explorer_data
from codesign.report.glossary import TERMS
from codesign.report.plotly_charts import plotly_figure
from codesign.report.report import Report
from codesign.report.screen import first_screen, taken_from
from codesign.report.sections import FOLDED, SECTIONS, Section
from codesign.report.sentences import question
from codesign.report.tables_origin import study_yaml

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES: Final = files("codesign.report") / "templates"


def report_html(report: Report) -> str:
    """Return the page of one result: plotly inline, no request leaves it."""
    result = report.result
    explored = report.cloud is not None and bool(result["front"])
    drawn = {n: c for n, c in report.charts.items() if not (explored and n == "front")}
    data: dict[str, Any] = {"charts": {n: plotly_figure(c) for n, c in drawn.items()}}
    whole = shown = 0
    if explored:
        assert report.cloud is not None and report.marked is not None
        data["explorer"] = explorer_data(result, report.cloud, report.marked)
        whole, shown = report.cloud.whole, report.cloud.shown
    return render(
        "report.html",
        data,
        title=f"{result['study']['name']}: codesign report",
        version=result["versions"]["codesign"],
        name=result["study"]["name"],
        question=question(result),
        screen=first_screen(result),
        warnings=report.warnings,
        sections=[_filled(section, report) for section in SECTIONS],
        folded=FOLDED,
        terms=TERMS,
        explored=explored,
        front=report.charts.get("front"),
        whole=whole,
        shown=shown,
        study=study_yaml(result),
    )


def comparison_html(comparison: Comparison) -> str:
    """Return the page of several results side by side."""
    charts = comparison.charts
    telling = [key for key in comparison.differences if key != "name"]
    return render(
        "comparison.html",
        {"charts": {name: plotly_figure(chart) for name, chart in charts.items()}},
        title="codesign comparison",
        version=comparison.reports[0].result["versions"]["codesign"],
        changes=" and ".join(key.rpartition(".")[2].replace("_", " ") for key in telling[:3])
        or "nothing in the question",
        screens=[
            (name, question(report.result), taken_from(first_screen(report.result), n))
            for n, (name, report) in enumerate(
                zip(comparison.names, comparison.reports, strict=True)
            )
        ],
        warnings=comparison.warnings,
        tables=list(comparison.tables.values()),
        charts=list(charts.values()),
        terms=TERMS,
    )


def _filled(section: Section, report: Report) -> dict[str, Any]:
    """A section with its charts and tables in place of their names."""
    return {
        "anchor": section.anchor,
        "short": section.short,
        "title": section.title,
        "charts": [report.charts[name] for name in section.charts if name in report.charts],
        "tables": [report.tables[name] for name in section.tables],
    }


def render(template: str, data: dict[str, Any], **values: Any) -> str:
    """Return a page with everything it needs inside."""
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    scripts = ("page.js", "explorer.js") if "explorer" in data else ("page.js",)
    return _environment().get_template(template).render(
        style=Markup(_text("style.css")),
        script=Markup("\n".join(_text(name) for name in scripts)),
        plotly=Markup(get_plotlyjs()),
        data=Markup(script_json(data)),
        **values,
    )  # fmt: skip


def script_json(data: object) -> str:
    """Return JSON that cannot end the script element it stands in."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("codesign.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
