"""Markdown that GitHub renders, the same answer as the page."""

import re

from codesign.records import Record
from codesign.report.comparison import Comparison
from codesign.report.markdown import comparison_markdown, escaped, report_markdown
from codesign.report.report import Report


def test_the_answer_comes_first(report: Report) -> None:
    text = report_markdown(report)
    top = text.partition("## What the designs trade")[0]
    assert "**Build " in top and "probability that quality holds" in top
    assert top.count("- **") == 6  # three tiles, three reasons


def test_every_table_has_as_many_cells_as_headings(report: Report) -> None:
    for block in re.findall(r"(?:^\|.*\n)+", report_markdown(report), re.M):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block


def test_every_picture_is_a_chart(report: Report) -> None:
    names = re.findall(r"\]\(figures/(\w+)\.png\)", report_markdown(report))
    assert set(names) == set(report.charts)


def test_markup_in_names_is_escaped(result: Record) -> None:
    result["study"]["name"] = "x"
    result["assumptions"].append("note: <script>alert(1)</script> | a *b* [c](d)")
    text = report_markdown(Report(result))
    assert "<script>" not in text
    assert r"\<script\>alert\(1\)\</script\> \| a \*b\* \[c\]\(d\)" in text


def test_a_fence_in_the_study_does_not_close_the_block(result: Record) -> None:
    result["study"]["name"] = "```\n# not a heading"
    text = report_markdown(Report(result))
    assert text.count("```") == 2


def test_line_breaks_end_no_cell() -> None:
    assert escaped("a\nb|c") == r"a b\|c"


def test_several_results_stand_side_by_side(result: Record) -> None:
    other = result | {"study": result["study"] | {"hardware": "h200"}}
    text = comparison_markdown(Comparison((Report(result), Report(other))))
    assert "## A: h100" in text and "## B: h200" in text
    assert "| A: h100 | B: h200 |" in text
