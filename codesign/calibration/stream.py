"""Read large files piece by piece; gzip is seen through, and what it hides is bounded."""

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from codesign.calibration.options import Progress
from codesign.errors import DataError

LARGEST_EXPANSION: Final = 200.0
"""Traces and logs compress less; zeros, as in a gzip bomb, far more."""

ALWAYS_ALLOWED: Final = 1 << 28
"""Bytes that any file may expand to."""

LONGEST_LINE: Final = 1 << 24


@contextmanager
def open_pieces(
    path: Path, piece: int = 1 << 20, progress: Progress | None = None
) -> Iterator[Iterator[bytes]]:
    """Open a file, packed by gzip or not, as an iterator over its bytes.

    Parameters
    ----------
    path : Path
    piece : int
        Bytes at a time.
    progress : callable, optional
        Told the bytes of the file as they are read.

    Raises
    ------
    DataError
        If the file cannot be read, its gzip is cut off or broken, or it expands like a bomb.
    """
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            packed = stream.read(2) == b"\x1f\x8b"
            stream.seek(0)
            if not packed:
                pieces = iter(lambda: stream.read(piece), b"")
                yield _reported(pieces, stream, size, progress)
                return
            with gzip.GzipFile(fileobj=stream) as unpacked:
                pieces = _bounded(path, stream, unpacked, piece)
                yield _reported(pieces, stream, size, progress)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise DataError(f"{path}: the gzip data is cut off or broken") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None


def _reported(
    pieces: Iterator[bytes], stream: io.BufferedReader, size: int, progress: Progress | None
) -> Iterator[bytes]:
    before = 0
    for data in pieces:
        if progress is not None:
            at = stream.tell()
            progress("reading", at - before, size)
            before = at
        yield data


def _bounded(
    path: Path, stream: io.BufferedReader, unpacked: gzip.GzipFile, piece: int
) -> Iterator[bytes]:
    total = 0
    while data := unpacked.read(piece):
        total += len(data)
        if total > ALWAYS_ALLOWED and total > LARGEST_EXPANSION * stream.tell():
            raise DataError(
                f"{path}: {stream.tell():,} bytes of gzip expand to more than {total:,}, which no "
                "trace or log does"
            )
        yield data


def text_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a text file without their ends.

    Raises
    ------
    DataError
        As `open_pieces`, or if the file is not UTF-8 or has a line too long for a log.
    """
    rest = b""
    with open_pieces(path) as pieces:
        for data in pieces:
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > LONGEST_LINE:
                raise DataError(f"{path}: a line is longer than {LONGEST_LINE:,} bytes")
            for line in lines:
                yield _text(path, line)
    if rest:
        yield _text(path, rest)


def _text(path: Path, line: bytes) -> str:
    try:
        return line.decode("utf-8-sig").rstrip("\r")
    except UnicodeDecodeError:
        raise DataError(f"{path}: not text in UTF-8") from None
