"""Files as users name them: asking about one never fails, and reading one has an end."""

import errno
import os
import stat
from pathlib import Path


def is_file(name: str | Path) -> bool:
    """Return whether there is such a file; a name too long, or out of reach, is none."""
    return os.path.isfile(name)  # noqa: PTH113 - Path.is_file raises on such names


def is_folder(name: str | Path) -> bool:
    """Return whether there is such a folder."""
    return os.path.isdir(name)  # noqa: PTH112 - as above


def exists(name: str | Path) -> bool:
    """Return whether there is anything of that name."""
    return os.path.exists(name)  # noqa: PTH110 - as above


def size_of_file(path: Path) -> int:
    """Return the size of a regular file [B].

    Raises
    ------
    OSError
        If there is none, or it is a folder, or a pipe or device, of which no end may come.
    """
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "a folder, not a file")
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "a pipe or a device, not a file; save it to one first")
    return found.st_size


def read_whole(path: Path, most: int, what: str) -> bytes:
    """Return the bytes of a regular file.

    Parameters
    ----------
    path : Path
    most : int
        Bytes that such a file can have.
    what : str
        What it should be, for the message.

    Raises
    ------
    OSError
        As `size_of_file`, and if it is larger.
    """
    size = size_of_file(path)
    if size > most:
        raise OSError(errno.EFBIG, f"too large to be {what}: {size:,} > {most:,} bytes")
    return path.read_bytes()
