"""The report as Markdown that GitHub renders, with pictures as files beside it."""

import re

from codesign.report.cells import Cell, Sentence, Table, sentence_text
from codesign.report.charts import Chart
from codesign.report.comparison import Comparison
from codesign.report.glossary import TERMS
from codesign.report.report import Report
from codesign.report.screen import Screen, first_screen
from codesign.report.sections import SECTIONS
from codesign.report.sentences import question
from codesign.report.tables_origin import study_yaml

_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&@])")


def escaped(text: str) -> str:
    """Return text that Markdown and HTML leave as it is.

    Examples
    --------
    >>> escaped("<script> a|b *c*")
    '\\\\<script\\\\> a\\\\|b \\\\*c\\\\*'
    """
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


def report_markdown(report: Report, pictures: str = "figures/{name}.png") -> str:
    """Return one result as Markdown.

    Parameters
    ----------
    report : Report
    pictures : str
        Path of a chart's picture, by its ``{name}``.
    """
    result = report.result
    parts = [
        f"# {escaped(question(result))}",
        *_answer(first_screen(result)),
        *(f"> {escaped(warning)}" for warning in report.warnings),
    ]
    for section in SECTIONS:
        parts.append(f"## {section.title}")
        parts += [
            _picture(report.charts[n], pictures) for n in section.charts if n in report.charts
        ]
        for name in section.tables:
            parts += _block(report.tables[name], section.title)
    fenced = study_yaml(result).replace("```", "'''")
    parts += ["### study.yaml", f"```yaml\n{fenced}```", *_glossary()]
    return "\n\n".join(parts) + "\n"


def comparison_markdown(comparison: Comparison, pictures: str = "figures/{name}.png") -> str:
    """Return several results side by side as Markdown."""
    parts = ["# Results side by side"]
    for name, report in zip(comparison.names, comparison.reports, strict=True):
        parts += [f"## {escaped(name)}", escaped(question(report.result))]
        parts += _answer(first_screen(report.result))
    parts += [f"> {escaped(warning)}" for warning in comparison.warnings]
    parts.append("## Side by side")
    for table in comparison.tables.values():
        parts += _block(table, "")
    parts += [_picture(chart, pictures) for chart in comparison.charts.values()]
    return "\n\n".join([*parts, *_glossary()]) + "\n"


def _answer(screen: Screen) -> list[str]:
    tiles = "\n".join(
        f"- **{_said(tile.figure)}** {escaped(tile.title)}: {_sentence(tile.detail)}"
        for tile in screen.tiles
    )
    reasons = "\n".join(f"- **{title}** {_sentence(reason)}." for title, reason in screen.reasons)
    headline = f"**{_sentence(screen.headline)}**  \n{_sentence(screen.gain)}"
    return [headline, tiles, reasons, _grid(screen.against)]


def _sentence(sentence: Sentence) -> str:
    return escaped(sentence_text(sentence))


def _said(cell: Cell) -> str:
    return escaped(cell.text)


def _picture(chart: Chart, pictures: str) -> str:
    path = pictures.format(name=chart.name)
    return f"![{escaped(chart.title)}]({path})\n\n*{escaped(chart.caption)}*"


def _block(table: Table, above: str) -> list[str]:
    parts = [] if table.title == above else [f"### {escaped(table.title)}"]
    if table.note:
        parts.append(escaped(table.note))
    return [*parts, _grid(table)] if table.rows else parts


def _grid(table: Table) -> str:
    """A GitHub table; numbers to the right."""
    titles = [escaped(column.title) or " " for column in table.columns]
    rules = ["---:" if number else "---" for number in table.numeric]
    rows = [[_said(cell) if cell.value is not None else "" for cell in row] for row in table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in (titles, rules, *rows))


def _glossary() -> list[str]:
    lines = (f"- **{escaped(term)}**: {escaped(meaning)}" for term, meaning in TERMS.items())
    return ["## Words", "\n".join(lines)]
