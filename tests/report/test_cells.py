"""Numbers as people read them, and cells that know where they come from."""

import pytest

from codesign.report.cells import Cell, cell, change, look_up, pointer, table
from codesign.shown import shown

RESULT = {"best": {"a/b": 2.0, "list": [1, 2]}, "reference": {"a/b": 1.6}, "zero": 0.0}


@pytest.mark.parametrize(
    ("value", "unit", "digits", "text"),
    [
        (0.0273807, "s", 4, "27.38 ms"),
        (22680, "-", 4, "22,680"),
        (3796.6, "token/s", 4, "3,797"),
        (12345.6, "-", 4, "12,346"),
        (7.239e23, "FLOP", 4, "7.239e+23"),
        (2.0990, "times", 3, "2.10×"),  # 2.1 would claim fewer digits than are known
        (0.01, "nat/token", 4, "0.01 nat/token"),  # exact as it stands
        (26906671104, "parameter", 4, "26.91 B"),
        (2**30, "B", 4, "1 GiB"),
        (0.0139, "gain", 2, "+1.4 %"),
        (-0.0139, "gain", 2, "-1.4 %"),
        (0.0, "gain", 2, "0 %"),
        (0.8188, "share", 2, "82 %"),
        (None, "s", 4, "-"),
        (True, "-", 4, "yes"),
        ("exact", "-", 4, "exact"),
    ],
)
def test_values_are_shown_with_unit_and_digits(
    value: float | str | None, unit: str, digits: int, text: str
) -> None:
    assert shown(value, unit, digits) == text


def test_a_cell_points_to_its_value() -> None:
    made = cell(RESULT, "best", "a/b", unit="times")
    assert made == Cell(2.0, "times", ("/best/a~1b",))
    assert look_up(RESULT, "/best/list/1") == 2


@pytest.mark.parametrize("path", ["/best/none", "/best/list/7", "/best/a~1b/deeper"])
def test_a_pointer_into_nothing_finds_nothing(path: str) -> None:
    assert look_up(RESULT, path) is None


def test_a_change_is_relative() -> None:
    made = change(RESULT, ("best", "a/b"), ("reference", "a/b"))
    assert made.value == pytest.approx(0.25)
    assert made.combination == "change"
    assert made.pointers == (pointer("best", "a/b"), pointer("reference", "a/b"))


def test_a_change_from_nothing_is_unknown() -> None:
    assert change(RESULT, ("best", "a/b"), ("zero",)).value is None
    assert change(RESULT, ("best", "none"), ("reference", "a/b")).value is None


def test_a_table_keeps_unrounded_values_for_csv() -> None:
    made = table("t", "T", {"name": "", "x": "x"}, [["row", Cell(1 / 3)], ["other", None]])
    assert made.records() == [{"name": "row", "x": 1 / 3}, {"name": "other", "x": None}]
    assert made.numeric == [False, True]
