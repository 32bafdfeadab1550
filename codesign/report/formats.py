"""The same rows as a table for reading, as JSON or as CSV."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich.console import Console, RenderableType
from rich.text import Text

from codesign.errors import printable, printable_lines

FORMULA: Final = ("=", "+", "-", "@")
"""What begins a formula in a spreadsheet; numbers are no text here."""

NARROWEST = 100
"""Columns assumed where the output is no terminal."""


def to_json(data: object) -> str:
    """Return JSON with a final line break; infinities and NaN are an error, never written."""
    text = json.dumps(data, indent=2, allow_nan=False, ensure_ascii=False)
    return "\n".join(map(_as_escapes, text.split("\n"))) + "\n"


def _as_escapes(line: str) -> str:
    """What JSON leaves as it is, though no terminal should."""
    if line.isprintable():
        return line
    return "".join(json.dumps(c)[1:-1] if printable(c) != c else c for c in line)


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows as CSV; nested values become dotted columns."""
    flat = [dict(_flatten(row)) for row in rows]
    columns = list(dict.fromkeys(column for row in flat for column in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _flatten(value: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, object]]:
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _flatten(inner, f"{prefix}{key}.")
        elif not isinstance(inner, list):
            yield _inert(f"{prefix}{key}"), _inert(inner) if isinstance(inner, str) else inner


def _inert(text: str) -> str:
    """Text that no spreadsheet takes for a formula: with a quote before what begins one."""
    text = printable_lines(text)
    return f"'{text}" if text[:1] in FORMULA and text[1:] else text


class _PlainConsole(Console):
    """Takes text as it is: names come from files, and are neither markup nor escape sequences."""

    def render_str(self, text: str, **_: Any) -> Text:
        return Text(printable_lines(text))


def to_text(*parts: RenderableType) -> str:
    """Return rich renderables as text, with colour on a terminal only."""
    seen, text = _PlainConsole(), io.StringIO()  # standard output itself may be full or closed
    if seen.is_terminal:
        console = _PlainConsole(file=text, width=seen.width, force_terminal=True)
    else:
        console = _PlainConsole(file=text, width=max(NARROWEST, seen.width), no_color=True)
    for part in parts:
        console.print(part, highlight=False)
    return "\n".join(line.rstrip() for line in text.getvalue().split("\n"))


UNITS: Mapping[str, tuple[float, str]] = {
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
    """Return a value with its unit, as a table shows it.

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
