"""The page of one result: complete, self-contained, and every number the result's."""

import json
import re
from typing import Any

import numpy as np

from codesign.records import Record
from codesign.report.comparison import Comparison
from codesign.report.html import comparison_html, report_html, script_json
from codesign.report.report import Report
from tests.report.large_result import enlarged
from tests.report.shown_numbers import ShownNumbers, disagreement, read_shown

MEGABYTE = 1e6


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found.group(1))


def without_scripts(page: str) -> str:
    return re.sub(r"<script.*?</script>", "", page, flags=re.S)


def test_every_number_shown_is_the_results(page: str, report: Report) -> None:
    shown = read_shown(page)
    assert len(shown) > 300
    wrong = [disagreement(each, report.result) for each in shown]
    assert [each for each in wrong if each] == []


def test_the_test_above_sees_a_wrong_number(page: str, report: Report) -> None:
    mended = page.replace(">22,680<", ">22,681<", 1)
    wrong = [disagreement(each, report.result) for each in read_shown(mended)]
    assert [each for each in wrong if each] != []


def test_the_first_screen_has_no_number_of_its_own(page: str) -> None:
    # Outside of the figures stand only the interval's name, the limit on loss, and the question.
    found = re.search(r'<div class="answer">.*?</ol>', page, re.S)
    assert found is not None
    reader = ShownNumbers()
    reader.feed(found.group(0))
    words = " ".join(reader.outside).replace("5–95", "").replace("at most 0.01 nat", "")
    assert re.findall(r"\d+", words) == []


def test_the_first_screen_answers(page: str, report: Report) -> None:
    top = without_scripts(page).partition("<nav")[0]
    best = report.result["best"]["design"]
    for words in (
        "batch size 32?", f"{best['experts']}</span> experts", "against the reference",
        "SD speedup, expected", "certificate", "exact", "probability that quality holds",
        "Why.", "What limits it.", "How sure.",
    ):  # fmt: skip
        assert words in top
    assert top.count("5–95\u00a0%") == 2


def test_every_section_is_there(page: str) -> None:
    for anchor in (
        "front", "designs", "batch", "verification", "sparsity", "constraints", "quality",
        "confidence", "sensitivity", "search", "origin", "words",
    ):  # fmt: skip
        assert f'id="{anchor}"' in page


def test_every_chart_is_drawn(page: str) -> None:
    drawn = set(re.findall(r'data-chart="(\w+)"', page))
    assert drawn == set(data_of(page)["charts"]) >= {
        "speedup", "throughput", "draft_length", "breakdown", "unique_experts", "sparsity",
        "exclusions", "stability", "information", "axes", "elasticities", "history",
    }  # fmt: skip


def test_nothing_is_loaded_from_elsewhere(page: str) -> None:
    own = without_scripts(page)
    assert re.findall(r'(?:src|href)="(?!#|data:)', own) == []
    assert "url(" not in own
    assert "default-src 'none'" in own


def test_plotly_is_inline_once(page: str) -> None:
    assert page.count("plotly.js v") == 1


def test_no_design_of_the_front_is_left_out(page: str, report: Report) -> None:
    marked = data_of(page)["explorer"]["marked"]
    front = report.result["front"]
    assert marked["kind"].count("front") == len(front)
    for place, entry in enumerate(front):
        design = {axis: values[place] for axis, values in marked["design"].items()}
        assert design == entry["design"]


def test_the_explorers_objectives_are_the_results(page: str, report: Report) -> None:
    explorer = data_of(page)["explorer"]
    names = [column["name"] for column in explorer["columns"]]
    assert names[explorer["y"]] == "expected sd_speedup"
    values = explorer["marked"]["values"][explorer["y"]]
    front = [entry["objectives"]["sd_speedup"] for entry in report.result["front"]]
    np.testing.assert_allclose(values[: len(front)], front, rtol=1e-5)
    best = explorer["marked"]["kind"].index("best")
    stored = report.result["best"]["prediction"]
    columns = explorer["marked"]["values"]
    for name in ("sd_speedup", "total_params", "memory_bytes_per_gpu", "tpot_s"):
        column = columns[names.index(name)]
        drawn = (columns[column] if isinstance(column, int) else column)[best]
        np.testing.assert_allclose(drawn, stored[name], rtol=1e-5)


def test_the_breakdown_draws_the_results_components(page: str, report: Report) -> None:
    traces = {each["name"]: each for each in data_of(page)["charts"]["breakdown"]["data"]}
    [row] = report.result["best"]["prediction"]["by_batch_size"]
    for kind, words in (("verify", "best, verify pass"), ("decode", "best, decode step")):
        drawn = sorted(traces[words]["x"])
        stored = sorted(seconds * 1e3 for seconds in row["components"][kind].values())
        np.testing.assert_allclose(drawn, stored, rtol=1e-5)


def test_a_front_of_1000_and_a_cloud_of_50000_stay_small(result: Record) -> None:
    page = report_html(Report(enlarged(result)))
    assert len(page.encode()) <= 7 * MEGABYTE
    explorer = data_of(page)["explorer"]
    assert explorer["marked"]["kind"].count("front") == 1000
    assert 40_000 <= explorer["shown"] <= 50_000 < explorer["whole"]


def test_text_is_escaped(result: Record) -> None:
    evil = "</script><script>alert(1)</script>"
    result["study"]["name"] = evil
    result["assumptions"].append(f"note: {evil}")
    page = report_html(Report(result))
    assert evil not in page
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in page


def test_json_cannot_end_its_script_element() -> None:
    assert json.loads(script_json({"a": "</script>\u2028"})) == {"a": "</script>\u2028"}
    assert "<" not in script_json("</script>")


def test_what_was_not_computed_is_said(result: Record) -> None:
    for name in ("interval", "stability", "plateau", "shadow_prices", "value_of_information",
                 "sensitivity"):  # fmt: skip
        result[name] = None
    result["front"], result["binding"] = [], []
    result["certificate"] |= {"kind": "none", "feasible": None, "regret": None}
    result["verdict"]["interval"] = None
    result["best"]["prediction"]["quality"] |= {"quantile": None, "probability": None}
    page = report_html(Report(result))
    for words in (
        "not weighed against uncertainty", "not proven", "not computed (no draws)",
        "enumerated, not sampled", "nothing was drawn", "a front needs the exact engine",
        "unknown",
    ):  # fmt: skip
        assert words in page
    assert [d for d in (disagreement(e, result) for e in read_shown(page)) if d] == []


def test_a_study_that_no_longer_resolves_still_has_its_tables(result: Record) -> None:
    result["study"]["reference"] = "/no/such/config.json"
    page = report_html(Report(result))
    assert "are not drawn for this study" in page
    assert 'data-table="designs"' in page and 'data-chart="breakdown"' in page
    assert 'data-chart="speedup"' not in page


def test_a_result_of_another_version_is_told_apart(result: Record) -> None:
    result["best"]["prediction"]["sd_speedup"] *= 1.01
    assert "differ from the stored" in report_html(Report(result))


def test_a_comparison_shows_every_results_numbers(result: Record) -> None:
    other = json.loads(json.dumps(result))
    other["study"]["hardware"] = "h200"
    other["best"]["objectives"]["sd_speedup"] *= 1.5
    page = comparison_html(Comparison((Report(result), Report(other))))
    results = [result, other]
    wrong = [disagreement(each, results[each.result]) for each in read_shown(page)]
    assert [each for each in wrong if each] == []
    assert "What changes when hardware changes?" in page
    assert len(page.encode()) <= 7 * MEGABYTE
