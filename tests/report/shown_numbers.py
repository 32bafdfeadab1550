"""Read back what a page shows: every element that says where in the result it comes from."""

from dataclasses import dataclass
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

FACTORS = {"s": 1e3, "B": 2.0**-30, "parameter": 1e-9, "share": 100.0, "gain": 100.0}
SUFFIXES = ("ms", "GiB", "nat/token", "USD", "%", "×", "B", "J")


@dataclass
class Shown:
    """One element with its attributes and text."""

    pointers: list[str]
    how: str
    unit: str
    result: int
    text: str = ""


class ShownNumbers(HTMLParser):
    """Collects elements with `data-from`, and the text outside of them by container class."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Shown] = []
        self.outside: list[str] = []
        self._open: list[Shown | None] = []
        self._skipped = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "style"):
            self._skipped = tag
        if tag in ("meta", "link", "br", "input"):
            return
        given = {name: value or "" for name, value in attrs}
        shown = None
        if "data-from" in given:
            shown = Shown(
                given["data-from"].split(), given.get("data-how", "value"),
                given.get("data-unit", "-"), int(given.get("data-result", "0")),
            )  # fmt: skip
            self.found.append(shown)
        self._open.append(shown)

    def handle_endtag(self, tag: str) -> None:
        self._skipped = ""
        self._open.pop()

    def handle_data(self, data: str) -> None:
        inner = next((each for each in reversed(self._open) if each is not None), None)
        if inner is not None:
            inner.text += data
        elif not self._skipped:
            self.outside.append(data)


def read_shown(page: str) -> list[Shown]:
    """Return every element of a page that names its origin."""
    reader = ShownNumbers()
    reader.feed(page)
    return reader.found


def at(result: Any, pointer: str) -> Any:
    """Follow a JSON pointer, step by step."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        result = result[int(key)] if isinstance(result, list) else result[key]
    return result


def disagreement(shown: Shown, result: Any) -> str | None:
    """Return what is wrong with a number on the page, nothing where it is the result's."""
    values = [at(result, pointer) for pointer in shown.pointers]
    value = values[0]
    if shown.how == "change":
        value = values[0] / values[1] - 1
    elif shown.how == "sum":
        value = sum(values)
    if isinstance(value, str):
        return None if shown.text == value else f"{shown.text!r} is not {value!r}"
    if value is None:
        return None if shown.text == "-" else f"{shown.text!r} stands for nothing"
    text = shown.text.replace("\u00a0", " ").replace(",", "")
    for suffix in SUFFIXES:
        text = text.removesuffix(suffix).strip()
    number = Decimal(text)
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    expected = value * FACTORS.get(shown.unit, 1.0)
    allowed = 0.5 * 10.0**exponent * (1 + 1e-9) + 1e-12
    if abs(float(number) - expected) <= allowed:
        return None
    return f"{shown.text} is not {expected} ({' '.join(shown.pointers)})"
