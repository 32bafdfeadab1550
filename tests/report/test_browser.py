"""The page in a real Chromium: nothing fails, nothing is fetched, pointing and picking work."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from codesign.records import Record
from codesign.report.comparison import Comparison
from codesign.report.html import comparison_html, report_html
from codesign.report.report import Report
from tests.report.large_result import enlarged

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCREENS = {"desk": (1280, 800), "phone": (390, 844)}
FIRST_SCREEN = (
    "h1", ".headline", ".verdict .gain", "#tile-objective", "#tile-certificate", "#tile-quality",
    ".against table", ".reasons li:nth-child(1)", ".reasons li:nth-child(2)",
    ".reasons li:nth-child(3)",
)  # fmt: skip


@dataclass
class Visit:
    """One page opened, and what it did."""

    page: "Page"
    address: str
    errors: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def ready(self) -> "Visit":
        self.page.wait_for_selector("#explorer[data-ready]", timeout=30_000)
        return self

    def quiet(self) -> None:
        """Assert that nothing failed and that the file was all that was asked for."""
        assert self.errors == []
        assert self.requests == [self.address]

    def pixel(self, trace: str, place: int) -> tuple[float, float]:
        """Return where a point of a trace of the explorer is drawn."""
        x, y = self.page.evaluate(
            """([trace, place]) => {
              const plot = document.getElementById("explorer");
              const data = plot._fullData.find((each) => each.name === trace);
              const area = plot.querySelector(".nsewdrag").getBoundingClientRect();
              const layout = plot._fullLayout;
              return [area.x + layout.xaxis.d2p(data.x[place]),
                      area.y + layout.yaxis.d2p(data.y[place])];
            }""",
            [trace, place],
        )
        return float(x), float(y)

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text().replace("\u00a0", " ")

    def compared(self) -> list[str]:
        """Return the headings of the comparison."""
        cells = self.page.locator("#compare thead th").all_inner_texts()
        return [cell.partition("\n")[0] for cell in cells[1:]]


Visitor = Callable[..., Visit]


@pytest.fixture
def visit(browser: "Browser", tmp_path: Path) -> Iterator[Visitor]:
    opened = []

    def go(html: str, screen: str = "desk", **options: Any) -> Visit:
        width, height = SCREENS[screen]
        phone = screen == "phone"
        context = browser.new_context(
            viewport={"width": width, "height": height}, is_mobile=phone, has_touch=phone, **options
        )
        opened.append(context)
        file = tmp_path / "report.html"
        file.write_text(html, encoding="utf-8")
        seen = Visit(context.new_page(), file.as_uri())
        seen.page.on("pageerror", lambda error: seen.errors.append(str(error)))
        seen.page.on(
            "console",
            lambda message: seen.errors.append(message.text) if message.type == "error" else None,
        )
        seen.page.on("request", lambda request: seen.requests.append(request.url))
        seen.page.goto(seen.address)
        return seen

    yield go
    for context in opened:
        context.close()


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_first_screen_holds_the_answer(
    visit: Visitor, page: str, screen: str, scheme: str
) -> None:
    seen = visit(page, screen, color_scheme=scheme).ready()
    width, height = SCREENS[screen]
    for selector in FIRST_SCREEN:
        box = seen.page.locator(selector).bounding_box()
        assert box is not None, selector
        assert box["x"] >= 0 and box["x"] + box["width"] <= width, selector
        assert box["y"] >= 0 and box["y"] + box["height"] <= height, selector
    seen.quiet()


def test_a_phone_is_not_scrolled_sideways(visit: Visitor, page: str) -> None:
    seen = visit(page, "phone").ready()
    assert seen.page.evaluate("document.documentElement.scrollWidth") == SCREENS["phone"][0]


def test_every_chart_has_a_drawing(visit: Visitor, page: str) -> None:
    seen = visit(page).ready()
    strokes = seen.page.evaluate(
        """() => [...document.querySelectorAll("[data-chart]")].map(
             (each) => each.querySelectorAll("svg path, svg image").length)"""
    )
    assert len(strokes) >= 11
    assert min(strokes) > 3
    seen.quiet()


def test_pointing_at_a_design_shows_it_whole(visit: Visitor, page: str, report: Report) -> None:
    seen = visit(page).ready()
    reference = report.result["reference"]
    seen.page.locator("#explorer").scroll_into_view_if_needed()
    seen.page.mouse.move(*seen.pixel("reference", 0))
    seen.page.wait_for_function("document.querySelector('#pointed strong').textContent !== 'best'")
    shown = seen.text("#pointed")
    assert "meets every constraint" in shown
    cells = dict(
        zip(
            seen.page.locator("#pointed dt").all_inner_texts(),
            seen.page.locator("#pointed dd").all_inner_texts(),
            strict=True,
        )
    )
    design = reference["design"]
    letters = {"N": "experts", "k": "top_k", "S": "shared_experts", "K": "draft_tokens"}
    assert {letter: int(cells[letter]) for letter in letters} == {
        letter: design[axis] for letter, axis in letters.items()
    }
    speedup = float(cells["SD speedup, values in use"].removesuffix("×"))
    assert speedup == pytest.approx(reference["prediction"]["sd_speedup"], abs=0.0005)
    seen.quiet()


def test_an_infeasible_design_says_what_it_violates(visit: Visitor, page: str) -> None:
    seen = visit(page).ready()
    seen.page.click("#zoom-all")
    names = seen.page.evaluate(
        """() => {
          const plot = document.getElementById("explorer");
          plot.emit("plotly_hover", { points: [{ curveNumber: 0, pointNumber: 5 }] });
          return plot.data[0].name;
        }"""
    )
    assert names == "infeasible"
    assert "violates" in seen.text("#pointed .violated")
    seen.quiet()


def test_axes_can_be_chosen_among_all_figures(visit: Visitor, page: str, report: Report) -> None:
    seen = visit(page).ready()
    assert seen.page.locator("#axis-x option").count() > 35
    seen.page.select_option("#axis-x", label="memory per GPU")
    seen.page.select_option("#axis-y", label="tokens/s per GPU with SD")
    drawn = seen.page.evaluate(
        """() => {
          const plot = document.getElementById("explorer");
          const best = plot._fullData.find((each) => each.name === "best");
          return [plot.layout.xaxis.title.text, plot.layout.yaxis.title.text, best.x[0], best.y[0]];
        }"""
    )
    stored = report.result["best"]["prediction"]
    assert drawn[:2] == ["memory per GPU [GiB]", "tokens/s per GPU with SD"]
    assert drawn[2] == pytest.approx(stored["memory_bytes_per_gpu"] / 2**30, rel=1e-5)
    assert drawn[3] == pytest.approx(stored["sd_tokens_per_s_per_gpu"], rel=1e-5)
    seen.quiet()


def test_the_cloud_is_the_models_own(visit: Visitor, page: str, report: Report) -> None:
    seen = visit(page).ready()
    counts = seen.page.evaluate(
        """() => document.getElementById("explorer").data.slice(0, 2)
             .map((each) => [each.name, each.x.length])"""
    )
    certificate = report.result["certificate"]
    assert dict(counts) == {
        "feasible": certificate["feasible"],
        "infeasible": certificate["designs"] - certificate["feasible"],
    }


def test_two_designs_are_compared(visit: Visitor, page: str, report: Report) -> None:
    seen = visit(page).ready()
    assert seen.compared() == ["best", "reference"]
    seen.page.click("summary:has-text('Pareto front')")
    seen.page.click("[data-compare='1']")
    assert seen.compared() == ["best", "reference", "front 2"]
    row = seen.page.locator("#compare tbody tr").first
    front = report.result["front"][1]["design"]
    assert row.locator("td").last.inner_text() == f"{front['experts']:,}"
    seen.page.locator("#explorer").scroll_into_view_if_needed()
    seen.page.mouse.move(*seen.pixel("Pareto front", 3))
    seen.page.wait_for_function(
        "document.querySelector('#pointed strong').textContent === 'front 4'"
    )
    seen.page.mouse.click(*seen.pixel("Pareto front", 3))
    assert seen.compared() == ["best", "reference", "front 2", "front 4"]
    seen.page.click("#compare thead th:nth-child(3) button")
    assert seen.compared() == ["best", "front 2", "front 4"]
    short = seen.page.locator("#compare tbody tr").count()
    seen.page.check("#compare-all")
    assert seen.page.locator("#compare tbody tr").count() > short + 15
    seen.quiet()


def test_the_comparison_shows_the_tables_numbers(visit: Visitor, page: str) -> None:
    # The same figure, written by Python in one table and by the page's script in the other.
    seen = visit(page).ready()
    seen.page.check("#compare-all")

    def read(rows: str) -> dict[str, list[str]]:
        found = {}
        for row in seen.page.locator(rows).all():
            cells = row.locator("td").all_inner_texts()[:2]
            found[row.locator("th").inner_text()] = [c.replace("\u00a0", " ") for c in cells]
        return found

    compared, tabled = read("#compare tbody tr"), read("[data-table=designs] tbody tr")
    common = [name for name in compared if name in tabled]
    assert len(common) > 15
    assert {name: compared[name] for name in common} == {name: tabled[name] for name in common}


def test_markup_in_names_does_nothing(visit: Visitor, result: Record) -> None:
    evil = "<script>window.struck = 1</script><img src=x onerror='window.struck = 1'>"
    result["study"]["name"] = evil
    result["assumptions"].append(f"reference: {evil}")
    result["value_of_information"][0]["input"] = evil
    seen = visit(report_html(Report(result))).ready()
    assert seen.page.evaluate("window.struck") is None
    assert evil in seen.text(".kicker")
    assert seen.page.locator("img").count() == 0
    seen.quiet()


def test_charts_turn_with_the_colour_scheme(visit: Visitor, page: str) -> None:
    seen = visit(page, color_scheme="light").ready()
    ask = "() => document.querySelector('[data-chart=speedup]').layout.font.color"
    light = seen.page.evaluate(ask)
    seen.page.emulate_media(color_scheme="dark")
    seen.page.wait_for_function(f"({ask})() !== '{light}'")
    seen.quiet()


def test_the_page_prints(visit: Visitor, page: str) -> None:
    seen = visit(page, color_scheme="dark").ready()
    printed = seen.page.pdf(format="A4", print_background=True)
    assert printed.startswith(b"%PDF") and len(printed) > 50_000
    seen.page.emulate_media(media="print")
    assert not seen.page.locator("nav").is_visible()
    assert not seen.page.locator(".controls").is_visible()
    seen.quiet()


def test_without_webgl_fewer_points_are_drawn(visit: Visitor, page: str) -> None:
    hidden = page.replace('getContext("webgl")', 'getContext("none")')
    seen = visit(hidden).ready()
    kinds = seen.page.evaluate("() => document.getElementById('explorer').data.map((d) => d.type)")
    assert set(kinds) == {"scatter"}
    assert seen.page.evaluate("() => document.getElementById('explorer').data[0].x.length") <= 3000
    seen.quiet()


def test_an_old_browser_keeps_the_tables(visit: Visitor, page: str) -> None:
    old = page.replace("typeof DecompressionStream", "typeof NoSuchStream")
    seen = visit(old)
    assert "cannot be shown here" in seen.text("#explorer")
    assert seen.page.locator("[data-table=designs]").is_visible()
    seen.quiet()


def test_a_large_report_opens(visit: Visitor, result: Record) -> None:
    seen = visit(report_html(Report(enlarged(result)))).ready()
    counts = seen.page.evaluate(
        "() => document.getElementById('explorer').data.map((each) => each.x.length)"
    )
    assert sum(counts[:2]) > 40_000
    assert counts[2] == 1000
    seen.quiet()


def test_a_comparison_opens(visit: Visitor, result: Record) -> None:
    other = result | {"study": result["study"] | {"hardware": "h200"}}
    seen = visit(comparison_html(Comparison((Report(result), Report(other)))))
    seen.page.wait_for_selector("[data-chart=front] svg path", state="attached")
    assert seen.page.locator(".cards .verdict").count() == 2
    boxes = [each.bounding_box() for each in seen.page.locator(".cards .verdict").all()]
    assert boxes[0] is not None and boxes[1] is not None
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    seen.quiet()
