"""Asked to stop during a study that is kept: finish the batch, then say how to go on."""

import signal
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Any, Final, Self

from codesign.errors import InterruptedStudyError

REQUESTS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)
"""Ctrl-C, a batch system that wants its node back, a terminal that was closed."""


def be_interrupted() -> None:
    """Let every request to stop be as Ctrl-C, unless it is ignored, as under nohup."""
    if _in_charge():
        for each in REQUESTS:
            if signal.getsignal(each) == signal.SIG_DFL:
                signal.signal(each, signal.default_int_handler)


def _in_charge() -> bool:
    """Whether Python lets this thread say what a signal does."""
    return threading.current_thread() is threading.main_thread()


class Interruption:
    """A context in which the first request only asks to stop; the second one stops at once.

    Parameters
    ----------
    place : str
        Where trials are kept. Empty: nowhere, so that the first one stops at once.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._asked = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if self._place and _in_charge():
            for each in REQUESTS:
                if callable(signal.getsignal(each)):  # neither ignored nor deadly
                    self._before[each] = signal.signal(each, self._ask)
        return self

    def __exit__(self, *error: object) -> None:
        for each, before in self._before.items():
            signal.signal(each, before)

    def check(self, told: int, trials: int) -> None:
        """Stop here if that was asked for.

        Raises
        ------
        InterruptedStudyError
        """
        if self._asked:
            raise InterruptedStudyError(
                f"interrupted; {told} of {trials} trials are kept in {self._place}: "
                "the same command with --resume continues"
            )

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
        with suppress(OSError):  # the terminal may be gone
            print("finishing the batch; Ctrl-C again stops at once", file=sys.stderr)
