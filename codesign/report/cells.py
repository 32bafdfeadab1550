"""Plain tables: cells that know where in the result they come from, whatever renders them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from codesign.records import Record
from codesign.shown import shown

Value = float | int | str | bool | None
Combination = Literal["value", "change", "sum"]


@dataclass(frozen=True)
class Cell:
    """One value of a table or a sentence.

    Parameters
    ----------
    value : float, int, str, bool, optional
        As in the result, in SI units.
    unit : str
        Key of `codesign.report.formats.UNITS`.
    pointers : tuple of str
        JSON pointers (RFC 6901) into the result; none where the value is not of the result.
    combination : {"value", "change", "sum"}
        The value itself, the first over the second minus 1, or the sum of all.
    digits : int
        Significant digits shown.
    source : int
        Which of several results the pointers lead into.
    """

    value: Value = None
    unit: str = "-"
    pointers: tuple[str, ...] = ()
    combination: Combination = "value"
    digits: int = 4
    source: int = 0

    @property
    def text(self) -> str:
        """The value as it is shown, with its unit."""
        return shown(self.value, self.unit, self.digits)

    @property
    def is_number(self) -> bool:
        """Whether the value is right-aligned and read back as a number."""
        return isinstance(self.value, int | float) and not isinstance(self.value, bool)


Sentence = tuple[str | Cell, ...]
"""Words and the figures among them."""


def sentence_text(sentence: Sentence) -> str:
    """Return a sentence as plain text."""
    return "".join(part if isinstance(part, str) else part.text for part in sentence)


Row = list[Cell | Value]
"""A row in the making; plain values become cells."""


@dataclass(frozen=True)
class Column:
    """Heading of a column.

    Parameters
    ----------
    key : str
        Stable name, as in CSV.
    title : str
        As people read it.
    """

    key: str
    title: str


@dataclass(frozen=True)
class Table:
    """A table that every format renders.

    Parameters
    ----------
    name : str
        Stable key: file name in CSV, anchor in HTML.
    title : str
    columns : tuple of Column
        The first one names the row.
    rows : tuple of tuple of Cell
    note : str
        What a reader has to know to read it; also why it is empty.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    @cached_property
    def numeric(self) -> list[bool]:
        """Which columns hold numbers, mostly: those are aligned to the right."""
        columns = (
            [cell for cell in column if cell.value is not None]
            for column in zip(*self.rows, strict=True)
        )
        return [2 * sum(c.is_number for c in column) > len(column) for column in columns]

    def records(self) -> list[Record]:
        """Return the rows with their values unrounded, for CSV."""
        keys = [column.key for column in self.columns]
        return [dict(zip(keys, (cell.value for cell in row), strict=True)) for row in self.rows]


def table(
    name: str,
    title: str,
    columns: Mapping[str, str],
    rows: Iterable[Sequence[Cell | Value]],
    note: str = "",
) -> Table:
    """Return a table; plain values become cells."""
    headings = tuple(Column(key, heading) for key, heading in columns.items())
    cells = (tuple(c if isinstance(c, Cell) else Cell(c) for c in row) for row in rows)
    return Table(name, title, headings, tuple(cells), note)


def pointer(*parts: str | int) -> str:
    """Return the JSON pointer of a path.

    Examples
    --------
    >>> pointer("best", "objectives", "a/b")
    '/best/objectives/a~1b'
    """
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in parts)


def look_up(result: Record, where: str) -> Any:
    """Return what a JSON pointer leads to; nothing where there is no such path."""
    found: Any = result
    for part in where.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping):
            found = found.get(key)
        elif isinstance(found, Sequence) and not isinstance(found, str) and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found


def cell(result: Record, *path: str | int, unit: str = "-", digits: int = 4) -> Cell:
    """Return the cell of one value of a result."""
    where = pointer(*path)
    return Cell(look_up(result, where), unit, (where,), digits=digits)


def change(result: Record, new: Sequence[str | int], old: Sequence[str | int]) -> Cell:
    """Return the cell of a relative change between two values of a result."""
    ends = pointer(*new), pointer(*old)
    value, base = (look_up(result, end) for end in ends)
    known = value is not None and base
    return Cell(value / base - 1 if known else None, "gain", ends, "change", digits=2)
