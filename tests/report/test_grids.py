"""Tables on a terminal of any width."""

import io
import re

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from codesign.report.grids import Grid


def printed(grid: Grid, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, no_color=True)
    console.print(grid)
    return str(console.file.getvalue()).splitlines()  # type: ignore[attr-defined]


NUMBERS = st.floats(0, 1e6).map(lambda value: f"{value:,.4g}")
WORDS = st.text("abc ", min_size=1, max_size=40).map(str.strip).filter(bool)


@given(
    rows=st.lists(st.tuples(WORDS, *[NUMBERS] * 6), min_size=1, max_size=5),
    width=st.integers(40, 140),
)
def test_no_number_is_cut_and_every_part_names_its_rows(
    rows: list[tuple[str, ...]], width: int
) -> None:
    headings = ["", "decode step", "verify pass", "speedup", "TPOT", "memory", "tokens/s"]
    lines = printed(Grid("Figures", headings, rows), width)
    assert max(map(len, lines)) <= width
    text = re.sub(r"\s+", " ", " ".join(lines))
    for name, *numbers in rows:
        assert all(f" {number} " in f" {text} " for number in numbers)
        first = name.split()[0][:8]
        parts = text.count("Figures")
        assert text.count(first) >= parts


def test_a_table_that_fits_stands_in_one_part() -> None:
    grid = Grid("T", ["", "a", "b"], [["row", "1", "2"]])
    assert printed(grid, 80) == ["T", "     a  b", "row  1  2", ""]


def test_what_does_not_fit_continues_below_with_the_names() -> None:
    grid = Grid("T", ["", "first", "second"], [["row", "1234567890", "1234567890"]])
    assert [line.split() for line in printed(grid, 20)] == [
        ["T"], ["first"], ["row", "1234567890"], [],
        ["T,", "continued"], ["second"], ["row", "1234567890"], [],
    ]  # fmt: skip


def test_names_are_text_not_markup_nor_escape_sequences() -> None:
    lines = printed(Grid("a\x1b[2Jb", ["", "n\x9b"], [["[red]x[/]\x1b]8;;", "1"]]), 80)
    assert lines[0] == "a\\x1b[2Jb"
    assert [line.split() for line in lines[1:]] == [["n\\x9b"], ["[red]x[/]\\x1b]8;;", "1"], []]
