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
