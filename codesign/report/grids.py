"""Tables on a terminal: rows keep their names, however narrow it is."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from codesign.errors import printable_lines

SLIMMEST: Final = 12
"""A column of text is not folded below this, or its longest word if that is shorter still."""

LONGEST_WORD: Final = 24
"""A longer word, such as a path, is cut into pieces [character]."""


@dataclass(frozen=True)
class Grid:
    """A table that continues below itself where the terminal is too narrow for all its columns.

    Parameters
    ----------
    title : str
    headings : sequence of str
    rows : sequence of sequence of str
    text : collection of int
        Columns of words, which are folded; all others are numbers, which never are.
    names : int
        So many first columns name a row, and stand again beside every further part.
    gap : int
        Characters between two columns.
    """

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    text: Collection[int] = (0,)
    names: int = 1
    gap: int = 2

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield as many tables as the width asks for, each with the columns that name its rows."""
        shown = self._printable()
        for place, columns in enumerate(shown._parts(options.max_width)):
            if shown.title:
                yield Text(shown.title if place == 0 else f"{shown.title}, continued")
            yield shown._table(columns, options.max_width)
            yield Text()

    def _printable(self) -> "Grid":
        """The same with control characters written out: names come from files."""
        return replace(
            self,
            title=printable_lines(self.title),
            headings=[printable_lines(heading) for heading in self.headings],
            rows=[[printable_lines(cell) for cell in row] for row in self.rows],
        )

    def _parts(self, width: int) -> Iterator[list[int]]:
        """Cut the columns into parts that fit."""
        names = list(range(self.names))
        taken = sum(self._least(column) + self.gap for column in names)
        part, used = list(names), taken
        for column in range(self.names, len(self.headings)):
            wide = self._least(column) + self.gap
            if used + wide > width + self.gap and len(part) > self.names:
                yield part
                part, used = list(names), taken
            part.append(column)
            used += wide
        yield part

    def _table(self, columns: list[int], width: int) -> Table:
        table = Table(box=None, padding=(0, self.gap, 0, 0), pad_edge=False,
                      show_header=any(self.headings))  # fmt: skip
        widths = self._widths(columns, width)
        for column in columns:
            table.add_column(
                Text(self.headings[column]),
                justify="left" if column in self.text else "right",
                width=widths[column],
                overflow="fold",
            )
        for row in self.rows:
            table.add_row(*(Text(row[column]) for column in columns))
        return table

    def _widths(self, columns: list[int], width: int) -> dict[int, int]:
        """Least widths, and what is left over to whoever wants it, from the left."""
        widths = {column: self._least(column) for column in columns}
        left = width - sum(widths.values()) - self.gap * (len(columns) - 1)
        for column in columns:
            more = min(max(left, 0), self._most(column) - widths[column])
            widths[column] += more
            left -= more
        if left < 0:  # no number is cut, unless a single one is wider than the terminal
            widths[columns[0]] = max(widths[columns[0]] + left, 4)
        return widths

    def _cells(self, column: int) -> Iterator[str]:
        return (row[column] for row in self.rows)

    def _most(self, column: int) -> int:
        lines = (line for cell in (self.headings[column], *self._cells(column))
                 for line in cell.split("\n"))  # fmt: skip
        return max(map(len, lines), default=1) or 1

    def _least(self, column: int) -> int:
        heading = _longest_word([self.headings[column]])
        if column not in self.text:
            return max(heading, *map(len, self._cells(column)), 1)
        words = min(_longest_word(self._cells(column)), LONGEST_WORD)
        return min(max(heading, words, SLIMMEST), self._most(column))


def _longest_word(texts: Collection[str] | Iterator[str]) -> int:
    return max((len(word) for text in texts for word in text.split()), default=1)
