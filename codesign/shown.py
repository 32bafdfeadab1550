"""Figures as people read them: a unit of handy size, few digits, the sign of a difference."""

from collections.abc import Mapping
from typing import Final

from codesign.errors import printable

UNITS: Final[Mapping[str, tuple[float, str]]] = {
    "s": (1e3, "ms"),
    "B": (2.0**-30, "GiB"),
    "parameter": (1e-9, "B"),
    "nat/token": (1.0, "nat/token"),
    "difference": (1.0, ""),
    "USD": (1.0, "USD"),
    "J": (1.0, "J"),
    "share": (100.0, "%"),
    "gain": (100.0, "%"),
    "times": (1.0, "×"),
}
"""How a figure's unit is shown: factor and name; ``share`` and ``gain`` are fractions of one."""

SIGNED: Final = ("gain", "difference")
"""Units of differences, shown with their sign."""


ROUNDING: Final = 1e-12
"""A difference below this is what arithmetic left of none."""


def shown(value: float | str | bool | None, unit: str = "-", digits: int = 4) -> str:
    """Return a value with its unit, as people read it.

    Examples
    --------
    >>> shown(0.0273807, "s"), shown(22680), shown(0.0139, "gain", 2), shown(None)
    ('27.38 ms', '22,680', '+1.4 %', '-')
    """
    if value is None:
        return "-"
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    factor, name = UNITS.get(unit, (1.0, ""))
    if unit in SIGNED and abs(value) < ROUNDING:
        value = 0
    number = _number(value * factor if factor != 1.0 else value, digits)
    sign = "+" if unit in SIGNED and value > 0 else ""
    return f"{sign}{number}{'' if name in ('', '×') else ' '}{name}"


def _number(value: float, digits: int) -> str:
    """Whole numbers with separators; significant digits, trailing zeros only where rounded."""
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    if 10 ** (digits - 1) <= abs(value) < 1e7:
        return f"{value:,.0f}"
    short = f"{value:.{digits}g}"
    return short if float(short) == value else f"{value:#.{digits}g}".removesuffix(".")
