"""What a file is made of, found out without trusting its name and without unpickling."""

import gzip
import json
import lzma
import re
import struct
import zipfile
import zlib
from functools import cached_property
from pathlib import Path
from typing import Final, Literal

from codesign.calibration.stream import open_pieces
from codesign.errors import DataError

HEAD_BYTES: Final = 1 << 16
LARGEST_DOCUMENT: Final = 1 << 30

_JSON_START: Final = re.compile(
    r"\s*(\{|\[\s*(\[|\{|\]|\"|true|false|null|NaN|-?(Infinity|\d+(\.\d+)?([eE][-+]?\d+)?)\s*[,\]]))"
)
"""A log line that starts with ``[2026-01-01 12:00:00]`` is no list."""

_SPACE: Final = re.compile(r"\s*")

ZIP_FAULTS: Final = (
    zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError, zlib.error,
    lzma.LZMAError, OSError, struct.error,
)  # fmt: skip
"""What Python's zip reader raises on broken, encrypted or exotic archives."""

Container = Literal[
    "folder", "empty", "npy", "zip", "torch", "pickle", "sqlite", "json", "text", "binary"
]  # fmt: skip


class Sample:
    """A file, as far as format detection needs it; gzip is seen through.

    Parameters
    ----------
    path : Path
        A file or a folder.

    Raises
    ------
    DataError
        If it cannot be read, or its gzip is broken at the start.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.head = b"" if path.is_dir() else self._read(HEAD_BYTES)

    @cached_property
    def container(self) -> Container:
        """The outermost form of the content."""
        head = self.head
        if self.path.is_dir():
            return "folder"
        if not head.strip():
            return "empty"
        if head.startswith(b"\x93NUMPY"):
            return "npy"
        if head.startswith(b"PK\x03\x04"):
            return "torch" if self._is_torch() else "zip"
        if head.startswith(b"SQLite format 3\x00"):
            return "sqlite"
        if head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05":
            return "pickle"
        if self.text is None:
            return "binary"
        return "json" if _JSON_START.match(self.text) else "text"

    @cached_property
    def text(self) -> str | None:
        """The head as text, nothing where it is binary."""
        if b"\x00" in self.head:
            return None
        try:
            return self.head.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            cut = len(self.head) == HEAD_BYTES and error.start >= HEAD_BYTES - 4
            return self.head[: error.start].decode("utf-8-sig") if cut else None

    @cached_property
    def whole_text(self) -> str:
        """All of a text file."""
        total, pieces = 0, []
        with open_pieces(self.path) as read:
            for piece in read:
                total += len(piece)
                if total > LARGEST_DOCUMENT:
                    raise DataError(
                        f"{self.path}: more than {LARGEST_DOCUMENT:,} bytes of text at once"
                    )
                pieces.append(piece)
        try:
            return b"".join(pieces).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise DataError(f"{self.path}: not text in UTF-8") from None

    @cached_property
    def document(self) -> object:
        """The content as one JSON document; nothing where it is not one.

        Bare ``NaN`` and ``Infinity`` are read, as engines write them.
        """
        if self.container != "json" or self.is_profile:
            return None
        try:
            return json.loads(self.whole_text)
        except ValueError:
            return None
        except RecursionError:
            raise DataError(f"{self.path}: nested too deeply") from None

    @cached_property
    def tensors(self) -> object:
        """The content of a torch file, read as tensors and plain values only.

        Raises
        ------
        DataError
            If the `torch` extra is missing, or the file holds anything that would run code.
        """
        try:
            import torch
        except ImportError:
            raise DataError(
                f"{self.path}: a torch file; reading it needs the torch extra: "
                "pip install 'codesign[torch]'"
            ) from None
        try:
            return torch.load(self.path, map_location="cpu", weights_only=True, mmap=True)
        except Exception as error:  # torch raises what it likes on broken files
            raise DataError(
                f"{self.path}: refused: not a torch file of tensors and plain values only, so "
                f"nothing of it was run ({(str(error).splitlines() or [''])[0]})"
            ) from None

    @property
    def keys(self) -> frozenset[str]:
        """Top-level keys, where the content is one JSON object."""
        return frozenset(self.document) if isinstance(self.document, dict) else frozenset()

    @cached_property
    def lines(self) -> tuple[object, ...]:
        """JSON documents one after the other (JSON lines, or objects glued together).

        Empty where a part of the content is something else.
        """
        if self.container != "json" or self.is_profile:
            return ()
        decoder, text, at, found = json.JSONDecoder(), self.whole_text, 0, []
        try:
            while (at := past_space(text, at)) < len(text):
                value, at = decoder.raw_decode(text, at)
                found.append(value)
        except ValueError:
            return ()
        except RecursionError:
            raise DataError(f"{self.path}: nested too deeply") from None
        return tuple(found)

    @property
    def is_profile(self) -> bool:
        """Whether it is a profiler's trace.

        Those may be larger than memory; their reader goes through them in pieces.
        """
        return b'"traceEvents"' in self.head

    def _read(self, most: int) -> bytes:
        try:
            with self.path.open("rb") as stream:
                if stream.read(2) != b"\x1f\x8b":
                    stream.seek(0)
                    return stream.read(most)
            with gzip.open(self.path) as unpacked:
                return unpacked.read(most)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise DataError(f"{self.path}: the gzip data is cut off or broken") from None
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read ({error.strerror})") from None

    def _is_torch(self) -> bool:
        """A torch file is a zip with one folder that holds ``data.pkl``."""
        with open_archive(self.path) as archive:
            return any(name.endswith("/data.pkl") for name in archive.namelist())


def open_archive(path: Path) -> zipfile.ZipFile:
    """Open a zip file.

    Raises
    ------
    DataError
        If its directory is cut off or broken.
    """
    try:
        return zipfile.ZipFile(path)
    except ZIP_FAULTS:
        raise DataError(f"{path}: the zip data is cut off or broken") from None


def past_space(text: str, at: int) -> int:
    """Return where the next character is that is no space; a file may be little else."""
    found = _SPACE.match(text, at)
    return found.end() if found else at
