"""The events of a Chrome trace, one at a time: traces of gigabytes are read in bounded memory."""

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from codesign.calibration.sample import past_space
from codesign.errors import DataError

LONGEST_VALUE: Final = 1 << 26
"""Characters of one event, or of one entry beside the events."""


class EventStream:
    """Iterates over the objects in ``traceEvents``, or of a bare list of events.

    Parameters
    ----------
    path : Path
        For messages.
    pieces : iterator of bytes
        The file.

    Attributes
    ----------
    header : dict
        Entries beside the events, as far as they have been passed.
    """

    def __init__(self, path: Path, pieces: Iterator[bytes]) -> None:
        self.header: dict[str, Any] = {}
        self._path = path
        self._pieces = pieces
        self._decoder = json.JSONDecoder()
        self._text = codecs.getincrementaldecoder("utf-8-sig")()
        self._buffer, self._at, self._ended = "", 0, False
        self._events = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        opening = self._next()
        if opening == "[":
            yield from self._list()
            return
        if opening != "{":
            raise DataError(f"{self._path}: a trace is a JSON object or list, not {opening!r}")
        while (mark := self._next()) != "}":
            if mark == ",":
                continue
            self._at -= 1
            key = self._value()
            if self._next() != ":":
                raise self._broken()
            if key == "traceEvents":
                if self._next() != "[":
                    raise DataError(f"{self._path}: traceEvents is not a list")
                yield from self._list()
            else:
                self.header[str(key)] = self._value()

    def _list(self) -> Iterator[dict[str, Any]]:
        while (mark := self._next()) != "]":
            if mark == ",":
                continue
            self._at -= 1
            event = self._value()
            self._events += 1
            if isinstance(event, dict):
                yield event

    def _next(self) -> str:
        """The next character that is no space, passed."""
        while True:
            self._at = past_space(self._buffer, self._at)
            if self._at < len(self._buffer):
                self._at += 1
                return self._buffer[self._at - 1]
            if not self._more():
                raise self._broken()

    def _value(self) -> Any:
        """Decode one value; what is left of the buffer may not hold all of it yet."""
        while True:
            self._at = past_space(self._buffer, self._at)
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._at)
            except (json.JSONDecodeError, StopIteration):
                value, end = None, -1
            except ValueError:  # a number of thousands of digits
                raise self._broken() from None
            except RecursionError:
                raise DataError(f"{self._path}: nested too deeply to be a trace") from None
            # A number at the very end may go on in the next piece.
            if end >= 0 and (end < len(self._buffer) or self._ended):
                self._at = end
                return value
            if len(self._buffer) - self._at > LONGEST_VALUE:
                raise self._broken()
            if not self._more():
                raise self._broken()

    def _more(self) -> bool:
        """Append at least as much as is waiting, so that a long value is not decoded too often."""
        waiting = self._buffer[self._at :]
        added: list[str] = []
        size = 0
        while size <= len(waiting) and not self._ended:
            piece = next(self._pieces, b"")
            self._ended = not piece
            try:
                added.append(self._text.decode(piece, final=self._ended))
            except UnicodeDecodeError:
                raise DataError(f"{self._path}: not text in UTF-8") from None
            size += len(added[-1])
        self._buffer, self._at = waiting + "".join(added), 0
        return size > 0

    def _broken(self) -> DataError:
        return DataError(
            f"{self._path}: the JSON is cut off or broken after {self._events:,} events"
        )
