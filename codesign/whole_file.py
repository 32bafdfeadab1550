"""Files are written whole or not at all, and so are the lines of a journal."""

import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from errno import EDQUOT, ENOSPC
from glob import escape
from io import BufferedWriter, FileIO
from pathlib import Path
from typing import Final

from codesign.errors import UsageError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FULL: Final = (ENOSPC, EDQUOT)


def write_whole(path: Path, text: str) -> None:
    """Write a text; see `whole_file`."""
    with whole_file(path) as file:
        file.write(text.encode())


def write_files(folder: Path, texts: Mapping[str, str]) -> None:
    """Write texts that belong together: they take their places once there is room for all.

    Raises
    ------
    UsageError
        If one cannot be written; all are as they were.
    """
    with locked(folder), ExitStack() as stack:
        for name, text in texts.items():
            file = stack.enter_context(whole_file(folder / name))
            file.write(text.encode())
            file.flush()


@contextmanager
def whole_file(path: Path) -> Iterator[BufferedWriter]:
    """Give a file beside the target, which takes its place at the end: nobody sees half a file.

    Folders are made. A link is replaced, and what it leads to stays: whoever planted it does not
    choose what is overwritten. What is beside the target belongs to the process that holds its
    lock; what a killed process has left there is removed by the next one that writes the target.

    Raises
    ------
    UsageError
        If it cannot be written; the target is as it was, and nothing is left beside it.
    """
    with writing(path):
        target = path.parent.resolve() / path.name
        with _straight(path) if _is_special(path) else _beside(target) as file:
            yield file


def append_line(path: Path, lines: str) -> None:
    """Append whole lines to a file, flushed to the disk; or leave it as it was.

    A line that a killed process has left half written is cut first, lest this one continue it.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    with path.open("a+b", buffering=0) as file:
        lock_file(file.fileno())
        cut_half_line(file)
        end = file.seek(0, os.SEEK_END)
        try:
            left = memoryview(f"{lines}\n".encode())
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())
        except BaseException:
            file.truncate(end)
            raise


def cut_half_line(file: FileIO) -> bytes:
    """Cut a last line without its end off a file of lines, and return it."""
    if file.seek(0, os.SEEK_END):
        file.seek(-1, os.SEEK_CUR)
    if file.read(1) in (b"", b"\n"):
        return b""
    file.seek(0)
    content = file.read()
    end = content.rfind(b"\n") + 1
    file.truncate(end)
    os.fsync(file.fileno())
    return content[end:]


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say what the system refuses as `unwritable` does."""
    try:
        yield
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: Path, error: OSError) -> UsageError:
    """Say that a file cannot be written, and what helps."""
    hint = "make room, or choose another place" if error.errno in FULL else "choose another place"
    return UsageError(f"{path}: cannot be written ({error.strerror or error}); {hint}")


def lock_file(descriptor: int, *, wait: bool = True) -> bool:
    """Lock an open file, or a folder, until it is closed, where the system can.

    A lock of the kernel's ends with its holder, however that ends.

    Returns
    -------
    bool
        Whether it is held now.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # held by another, or a file system without locks
        return False
    return True


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep others who ask for the same out of a folder, which is made: its files fit together.

    Raises
    ------
    UsageError
        If it cannot be made or read.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY) if fcntl is not None else None
    try:
        if descriptor is not None:
            lock_file(descriptor)
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _is_special(path: Path) -> bool:
    """Whether it is a device or a pipe, such as /dev/null, which no file may replace."""
    return path.exists() and not (path.is_file() or path.is_dir())


def _straight(path: Path) -> BufferedWriter:
    return path.open("wb")


@contextmanager
def _beside(target: Path) -> Iterator[BufferedWriter]:
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(target)
    beside, file = _claimed(target)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def _claimed(target: Path) -> tuple[Path, BufferedWriter]:
    """Make a file and lock it; one removed as a leftover in between is made again."""
    while True:
        beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        file = beside.open("xb")
        lock_file(file.fileno())
        if beside.exists():
            return beside, file
        file.close()


def _remove_leftovers(target: Path) -> None:
    """Remove what no living process is writing any more."""
    for left in target.parent.glob(f".{escape(target.name)}.*.part"):
        with suppress(OSError), left.open("rb") as file:
            if lock_file(file.fileno(), wait=False):
                left.unlink()
