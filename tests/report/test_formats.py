"""The same rows as table, JSON and CSV."""

import csv
import io
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

from codesign.records import plain
from codesign.report.formats import to_csv, to_json, to_text
from codesign.shown import shown


def test_json_ends_its_line_and_keeps_every_letter() -> None:
    text = to_json({"unit": "µs", "values": [1, 2.5, None, True]})
    assert text.endswith("}\n")
    assert "µs" in text
    assert json.loads(text) == {"unit": "µs", "values": [1, 2.5, None, True]}


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_json_never_holds_what_json_has_no_word_for(number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        to_json({"deep": [{"value": number}]})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3.0, 3), (2.5, 2.5), (0.0, 0), (-0.0, 0), (math.nan, None), (math.inf, None),
        (2.0**53, 2.0**53), (1e300, 1e300), (30_532_122_624.0, 30_532_122_624),
    ],
)  # fmt: skip
def test_plain_numbers(value: float, expected: float | None) -> None:
    found = plain(value)
    assert found == expected
    if found is not None and value == round(value) and abs(value) < 2**53:
        assert isinstance(found, int)


@given(value=st.floats())
def test_plain_numbers_are_json(value: float) -> None:
    found = plain(value)
    text = to_json(found)
    if math.isfinite(value):
        assert json.loads(text) == value
    else:
        assert found is None


def test_csv_has_the_columns_of_all_rows() -> None:
    rows: list[dict[str, Any]] = [
        {"a": 1, "b": {"c": 2, "d": {"e": 3}}},
        {"a": None, "f": 'x,"y"\nz', "g": [1, 2]},
    ]
    text = to_csv(rows)
    table = list(csv.DictReader(io.StringIO(text)))
    assert list(table[0]) == ["a", "b.c", "b.d.e", "f"]  # lists have no cell
    assert table[0] == {"a": "1", "b.c": "2", "b.d.e": "3", "f": ""}
    assert table[1] == {"a": "", "b.c": "", "b.d.e": "", "f": 'x,"y"\nz'}
    assert "\r" not in text


@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_csv_keeps_every_digit(values: list[float]) -> None:
    text = to_csv([{"x": value} for value in values])
    assert [float(row["x"]) for row in csv.DictReader(io.StringIO(text))] == values


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0273807, "s", "27.38 ms"),
        (80 * 2.0**30, "B", "80 GiB"),
        (30_532_122_624, "parameter", "30.53 B"),
        (0.0139, "gain", "+1.39 %"),
        (-0.0139, "gain", "-1.39 %"),
        (0.875, "share", "87.5 %"),
        (None, "s", "-"),
        (22_680, "-", "22,680"),
        (True, "-", "yes"),
        ("sweet spot", "-", "sweet spot"),
    ],
)
def test_shown(value: float | str | None, unit: str, text: str) -> None:
    assert shown(value, unit) == text


@given(value=st.floats(1e-6, 1e9), digits=st.integers(2, 6))
def test_shown_numbers_are_right_to_their_digits(value: float, digits: int) -> None:
    number = float(shown(value, "-", digits).replace(",", ""))
    assert number == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits))


def test_text_is_plain_where_nobody_watches() -> None:
    table = Table(title="[bold]Title[/bold]")
    table.add_column("name", style="red")
    table.add_row("[link]not markup in a string[/link]")
    text = to_text("[a] list, kept as it is", table)
    assert "\x1b" not in text
    assert text.startswith("[a] list, kept as it is\n")
    assert all(line == line.rstrip() for line in text.split("\n"))
