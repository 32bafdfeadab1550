"""Standard output and error as they come: closed, full, or unable to spell what is said."""

import codecs
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Final

from codesign.errors import CodesignError, UsageError, printable_lines

PLAIN: Final = "codesign_plain"
"""Error handler of streams that cannot spell a sign."""

SPELLED: Final = {
    "×": "x", "–": "-", "—": "-", "−": "-", "≤": "<=", "≥": ">=", "µ": "u", "·": ".",
    "\u00a0": " ", "’": "'",
}  # fmt: skip
"""What stands for a sign where the encoding lacks it; a question mark would read as doubt."""


def _spelled(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(SPELLED.get(sign, "?") for sign in lost), error.end


codecs.register_error(PLAIN, _spelled)


def open_streams() -> None:
    """Give a closed stream somewhere to go, and let a poor encoding lose signs, not the answer."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - until the end
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=PLAIN)


def emit(text: str) -> None:
    """Write to standard output, now.

    Raises
    ------
    BrokenPipeError
        If its reader has left.
    UsageError
        If it cannot be written.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        close_stdout()
        raise UsageError(f"standard output: cannot be written ({error.strerror})") from error


def close_stdout() -> None:
    """Drop what could not be written, lest Python try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """Write to standard error, if anybody can hear it; names in it cannot steer the terminal."""
    with suppress(OSError):
        print(printable_lines(text), file=sys.stderr, flush=True)


def deliver(text: str, save: Callable[[], object] | None) -> None:
    """Save an answer, then print it: a reader that leaves early takes no file with it.

    Where it cannot be saved it is printed all the same.
    """
    if save is not None:
        try:
            save()
        except CodesignError:
            with suppress(BrokenPipeError):
                emit(text)
            raise
    emit(text)
