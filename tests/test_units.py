"""Quantities as people write them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from codesign.units import UNITS, format_quantity, parse_quantity


@pytest.mark.parametrize(
    ("written", "dimension", "value"),
    [
        # SI prefixes are powers of ten, IEC prefixes powers of 1024 (IEC 80000-13).
        ("3.35 TB/s", "bandwidth", 3.35e12),
        ("3350GB/s", "bandwidth", 3.35e12),
        ("80 GB", "size", 80 * 1000**3),
        ("80 GiB", "size", 80 * 1024**3),
        ("50 MB", "size", 50 * 1000**2),
        ("143771 MiB", "size", 143771 * 1024**2),
        ("1.5 KiB", "size", 1536),
        ("989 TFLOP/s", "compute", 989e12),
        ("1978 TOP/s", "compute", 1978e12),
        ("1 PFLOP/s", "compute", 1e15),
        ("26 us", "time", 26e-6),
        ("26 µs", "time", 26e-6),
        ("0.5 ms", "time", 0.5e-3),
        ("12 ns", "time", 12e-9),
        ("2 s", "time", 2.0),
        ("0 ms", "time", 0.0),
        ("700 W", "power", 700.0),
        ("1.2 kW", "power", 1200.0),
        ("2.5 USD/h", "price", 2.5),
        ("36T", "count", 36e12),
        ("15.5 T", "count", 15.5e12),
        ("200B", "count", 200e9),
        ("30e9", "count", 30e9),
        ("12", "count", 12.0),
        ("  .5   ms ", "time", 0.5e-3),
        ("+4.", "count", 4.0),
        ("1e-3 s", "time", 1e-3),
    ],
)
def test_parse(written: str, dimension: str, value: float) -> None:
    assert parse_quantity(written, dimension) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(
    ("written", "dimension", "message"),
    [
        (
            "3.35",
            "bandwidth",
            "a bandwidth needs a unit (B/s, kB/s, MB/s, GB/s, ...), for example '3.35 GB/s'",
        ),
        ("80", "size", "a size needs a unit (B, kB, MB, GB, ...), for example '80 GB'"),
        ("3", "time", "a time needs a unit (s, ms, us, µs, ...), for example '3 µs'"),
        ("2", "price", "a price needs a unit (USD/h), for example '2 USD/h'"),
        ("5 EUR/h", "price", "unknown unit 'EUR/h' for a price; use one of USD/h"),
        ("3 parsec", "time", "unknown unit 'parsec' for a time; use one of s, ms, us, µs, ns"),
        ("80 gb", "size", "unknown unit 'gb' for a size; use one of "),
        ("3.35 TB", "bandwidth", "unknown unit 'TB' for a bandwidth; use one of "),
        ("-80 GiB", "size", "must be finite and not negative"),
        ("-1 ms", "time", "must be finite and not negative"),
        ("1e400 B", "size", "must be finite and not negative"),
        ("1e31 s", "time", "must be 0, or between 1e-30 and 1e+30 in SI units"),
        ("1e-31 B/s", "bandwidth", "must be 0, or between 1e-30 and 1e+30 in SI units"),
        ("", "size", "not a quantity; a size needs a unit (B, kB, MB, GB, ...)"),
        ("many GB", "size", "not a quantity; "),
        ("nan s", "time", "not a quantity; "),
        ("inf s", "time", "not a quantity; "),
        ("1 2 s", "time", "unknown unit '2 s' for a time"),
    ],
)
def test_refuse(written: str, dimension: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        parse_quantity(written, dimension)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("dimension", sorted(set(UNITS) - {"count"}))
@pytest.mark.parametrize("bare", [3, 3.5, 0, 0.0])
def test_every_dimension_but_counts_needs_a_unit(dimension: str, bare: float) -> None:
    with pytest.raises(ValueError, match="needs a unit"):
        parse_quantity(bare, dimension)


@pytest.mark.parametrize("written", [True, False, None, [], {}, (1, "s"), b"3 s"])
@pytest.mark.parametrize("dimension", sorted(UNITS))
def test_what_is_neither_text_nor_a_number_is_no_quantity(written: object, dimension: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        parse_quantity(written, dimension)


@pytest.mark.parametrize("number", [36_000_000_000_001, 15e12, 1_234_567.0, 0.1, 2**53 - 1])
def test_plain_numbers_keep_every_digit(number: float) -> None:
    assert parse_quantity(number, "count") == number


@example(value=1e30, dimension="bandwidth")
@example(value=1e-30, dimension="time")
@given(
    value=st.just(0.0) | st.floats(1e-30, 1e30, allow_nan=False),
    dimension=st.sampled_from(sorted(UNITS)),
)
def test_what_is_written_reads_back_exactly(value: float, dimension: str) -> None:
    assert parse_quantity(format_quantity(value, dimension), dimension) == value


@pytest.mark.parametrize(
    ("value", "dimension", "written"),
    [
        (3.35e12, "bandwidth", "3.35 TB/s"),
        (80 * 2.0**30, "size", "80 GiB"),
        (80e9, "size", "80 GB"),
        (0.0, "time", "0 s"),
        (5e-4, "time", "500 µs"),
        (36e12, "count", "36 T"),
        (2.5, "price", "2.5 USD/h"),
    ],
)
def test_the_shortest_exact_spelling_is_written(value: float, dimension: str, written: str) -> None:
    assert format_quantity(value, dimension) == written
