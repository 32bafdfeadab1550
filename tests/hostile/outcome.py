"""Feed one hostile input to its reader, and judge how that ended."""

import signal
import traceback
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import FrameType
from typing import Final, Literal

from codesign.errors import CodesignError
from codesign.report.formats import to_json
from tests.hostile.kinds import Kind

PATIENCE: Final = 20.0
"""Seconds after which an input counts as a hang; the slowest good file takes a tenth of one."""

LONGEST_MESSAGE: Final = 20_000

Verdict = Literal["read", "refused", "fault"]


@dataclass(frozen=True)
class Outcome:
    """How one input ended.

    Parameters
    ----------
    verdict : {"read", "refused", "fault"}
        Read to the end with finite figures; refused with one clean message; anything else.
    text : str
        The message, or the traceback.
    signature : str
        Tells faults apart: the type, and the last line of codesign that it passed.
    """

    verdict: Verdict
    text: str = ""
    signature: str = ""


class HangError(BaseException):
    """The input's time is up; nothing that catches exceptions holds it."""


def judged(kind: Kind, content: bytes, folder: Path, chance: Random) -> Outcome:
    """Write an input, read it as a user would, and say how that ended."""
    path = folder / f"input{kind.suffix}"
    path.write_bytes(content)
    try:
        with _alarm(PATIENCE), warnings.catch_warnings():
            warnings.simplefilter("error")
            to_json(kind.read(path, chance))
    except CodesignError as error:
        return _refused(kind, error, path)
    except (Exception, HangError) as error:
        return Outcome("fault", traceback.format_exc(), _signature(error))
    return Outcome("read")


def _refused(kind: Kind, error: CodesignError, path: Path) -> Outcome:
    """A refusal has the status of its kind and a message that any terminal can show."""
    text = str(error)
    wrong = ""
    if error.exit_status not in kind.statuses:
        wrong = f"exit status {error.exit_status}"
    elif not text.strip() or len(text) > LONGEST_MESSAGE:
        wrong = f"message of {len(text)} characters"
    elif not all(c.isprintable() or c == "\n" or unicodedata.category(c) == "Zs" for c in text):
        wrong = "unprintable message"
    elif "Traceback" in text:
        wrong = "traceback in the message"
    if wrong:
        return Outcome("fault", f"{wrong}: {text[:LONGEST_MESSAGE]!r}", _signature(error, wrong))
    return Outcome("refused", text)


def _signature(error: BaseException, what: str = "") -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/codesign/" in frame.filename] or list(frames)[-1:]
    where = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "?"
    return f"{what or type(error).__name__} at {where}"


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
