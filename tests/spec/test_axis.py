"""Integer axes as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesign.spec.axis import MAX_VALUES, parse_axis


@pytest.mark.parametrize(
    ("written", "values"),
    [
        (8, (8,)),
        ("8", (8,)),
        ("4,8,16", (4, 8, 16)),
        ("8:32:8", (8, 16, 24, 32)),
        ("1:4", (1, 2, 3, 4)),
        ("1:10:4", (1, 5, 9)),  # both ends only where the step meets them
        ("5:5", (5,)),
        (" 4 , 8 : 16 : 4 ", (4, 8, 12, 16)),
        ("16,4,8,4", (4, 8, 16)),  # sorted, each once
        ([16, "4:8:4"], (4, 8, 16)),
        ((3,), (3,)),
        ([[1, 2], 3], (1, 2, 3)),
        ("0", (0,)),
    ],
)
def test_parse(written: object, values: tuple[int, ...]) -> None:
    assert parse_axis(written) == values


def test_the_default_experts_of_product_md() -> None:
    # product.md: experts 8-128 by 8, -256 by 16, -512 by 32.
    values = parse_axis("8:128:8,144:256:16,288:512:32")
    by_hand = [*range(8, 129, 8), *range(144, 257, 16), *range(288, 513, 32)]
    assert values == tuple(by_hand)
    assert len(values) == 32


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("", "write whole numbers, a list or lo:hi:step, not ''"),
        ("4,", "write whole numbers, a list or lo:hi:step, not ''"),
        ("1.5", "write whole numbers, a list or lo:hi:step, not '1.5'"),
        ("-4", "write whole numbers, a list or lo:hi:step, not '-4'"),
        ("1:2:3:4", "write whole numbers, a list or lo:hi:step, not '1:2:3:4'"),
        ("four", "write whole numbers, a list or lo:hi:step, not 'four'"),
        ("1:8:0", "the step must be at least 1 in '1:8:0'"),
        ("8:1", "the range '8:1' is empty: 1 < 8"),
        ("0:100000", f"more than {MAX_VALUES:,} values on one axis"),
        ("0:99999999999999999999", "must be at most 100,000,000, not '0:99999999999999999999'"),
        (10**30, f"must be at most 100,000,000, not '{10**30}'"),
        (True, "write a whole number, a list or lo:hi:step"),
        (None, "write a whole number, a list or lo:hi:step"),
        (1.5, "write a whole number, a list or lo:hi:step"),
        ([1.5], "write a whole number, a list or lo:hi:step"),
        ({}, "write a whole number, a list or lo:hi:step"),
        ([], "the axis is empty"),
        ([[]], "the axis is empty"),
        (-1, "write whole numbers, a list or lo:hi:step, not '-1'"),
    ],
)
def test_refuse(written: object, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_axis(written)
    assert str(caught.value) == message


@given(values=st.lists(st.integers(0, 10_000), min_size=1, max_size=50))
def test_a_list_is_sorted_without_repeats_however_it_is_written(values: list[int]) -> None:
    expected = tuple(sorted(set(values)))
    assert parse_axis(values) == expected
    assert parse_axis(",".join(map(str, values))) == expected
    assert parse_axis(parse_axis(values)) == expected


@given(low=st.integers(0, 500), span=st.integers(0, 500), step=st.integers(1, 60))
def test_a_range_holds_every_step_up_to_its_end(low: int, span: int, step: int) -> None:
    by_hand = tuple(value for value in range(low, low + span + 1) if (value - low) % step == 0)
    assert parse_axis(f"{low}:{low + span}:{step}") == by_hand
