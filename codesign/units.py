"""Quantities as people write them ("3.35 TB/s", "80 GiB", "26 us") and as the model uses them (SI).

A quantity without a unit is refused: a bandwidth of ``3.35`` could mean anything.
"""

import re
from typing import Final

DECIMAL: Final = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
BINARY: Final = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40}
SUBUNITS: Final = {"": 1.0, "m": 1e-3, "u": 1e-6, "µ": 1e-6, "n": 1e-9}


def _scaled(prefixes: dict[str, float], unit: str) -> dict[str, float]:
    return {prefix + unit: factor for prefix, factor in prefixes.items()}


UNITS: Final[dict[str, dict[str, float]]] = {
    "size": _scaled(DECIMAL, "B") | _scaled(BINARY, "B"),
    "bandwidth": _scaled(DECIMAL, "B/s") | _scaled(BINARY, "B/s"),
    "compute": _scaled(DECIMAL, "FLOP/s") | _scaled(DECIMAL, "OP/s"),
    "time": _scaled(SUBUNITS, "s"),
    "power": _scaled(DECIMAL, "W"),
    "price": {"USD/h": 1.0},
    "count": {"": 1.0, "k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12},
}
"""Accepted units of each dimension and their size in SI (price in USD per GPU-hour)."""

SMALLEST, LARGEST = 1e-30, 1e30
"""Beyond anything measured; products and ratios of a few quantities between them stay finite."""

_QUANTITY = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(.*?)\s*")


def parse_quantity(text: object, dimension: str) -> float:
    """Read a non-negative quantity of one dimension.

    Parameters
    ----------
    text : str
        A number and a unit, such as ``"3.35 TB/s"``.
    dimension : str
        A key of `UNITS`.

    Returns
    -------
    float
        The value in SI units (bytes, B/s, FLOP/s, s, W) or USD/h.

    Raises
    ------
    ValueError
        If `text` is no quantity, has no or the wrong unit, is negative or not finite, or is beyond
        `SMALLEST` and `LARGEST`.

    Examples
    --------
    >>> parse_quantity("3.35 TB/s", "bandwidth")
    3350000000000.0
    >>> parse_quantity("80 GiB", "size") / 2**30
    80.0
    >>> parse_quantity("3.35", "bandwidth")
    Traceback (most recent call last):
    ...
    ValueError: a bandwidth needs a unit (B/s, kB/s, MB/s, GB/s, ...), for example '3.35 GB/s'
    """
    units = UNITS[dimension]
    plain = isinstance(text, int | float) and not isinstance(text, bool)
    written = repr(text) if plain else text
    match = _QUANTITY.fullmatch(written) if isinstance(written, str) else None
    if match is None:
        raise ValueError(f"not a quantity; {_needs_unit('1', dimension)}")
    number, unit = match.groups()
    if unit not in units:
        if not unit:
            raise ValueError(_needs_unit(number, dimension))
        listed = ", ".join(unit for unit in units if unit)
        raise ValueError(f"unknown unit {unit!r} for a {dimension}; use one of {listed}")
    value = float(number) * units[unit]
    if not 0 <= value < float("inf"):
        raise ValueError("must be finite and not negative")
    if value != 0 and not SMALLEST <= value <= LARGEST:
        raise ValueError(f"must be 0, or between {SMALLEST:g} and {LARGEST:g} in SI units")
    return value


def format_quantity(value: float, dimension: str) -> str:
    """Write a quantity so that `parse_quantity` reads back exactly the same number.

    Examples
    --------
    >>> format_quantity(3.35e12, "bandwidth"), format_quantity(80 * 2**30, "size")
    ('3.35 TB/s', '80 GiB')
    """
    units = UNITS[dimension]
    spellings = [f"{value / size:.12g} {unit}".strip() for unit, size in units.items()]
    exact = [text for text in reversed(spellings) if _reads_as(text, dimension, value)]
    base = next(iter(units))
    return min(exact, key=len, default=f"{value!r} {base}".strip())


def _reads_as(text: str, dimension: str, value: float) -> bool:
    try:
        return parse_quantity(text, dimension) == value
    except ValueError:  # at either end a rounded spelling may be beyond it
        return False


def _needs_unit(number: str, dimension: str) -> str:
    names = [unit for unit in UNITS[dimension] if unit]
    shown = ", ".join(names[:4])
    more = ", ..." if len(names) > 4 else ""
    example = names[min(3, len(names) - 1)]
    return f"a {dimension} needs a unit ({shown}{more}), for example '{number} {example}'"
