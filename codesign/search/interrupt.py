"""Ctrl-C during a study that is kept: finish the batch, then say how to go on."""

import signal
import sys
import threading
from types import FrameType
from typing import Self

from codesign.errors import InterruptedStudyError


class Interruption:
    """A context in which the first Ctrl-C only asks to stop; the second one stops at once.

    Parameters
    ----------
    place : str
        Where trials are kept. Empty: nowhere, so that Ctrl-C stops at once.
    """

    def __init__(self, place: str) -> None:
        self._place = place
        self._asked = False
        self._armed = bool(place) and threading.current_thread() is threading.main_thread()

    def __enter__(self) -> Self:
        if self._armed:
            self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def __exit__(self, *error: object) -> None:
        if self._armed:
            signal.signal(signal.SIGINT, self._before)

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
        print("finishing the batch; Ctrl-C again stops at once", file=sys.stderr)
