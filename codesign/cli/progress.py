"""Progress on standard error: bars on a terminal, now and then a line elsewhere."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from codesign.cli.output import say

Progress = Callable[[str, int, int], None]

EVERY: Final = 30.0
"""Between two lines where there is no terminal [s]."""


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Give a function told the stage, how much more of it is done, and how much there is."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    tasks: dict[str, TaskID] = {}
    with Bars(console=Console(stderr=True), transient=True) as bars:

        def report(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bars.add_task(stage, total=total)
            bars.advance(tasks[stage], done)

        yield report


def _lines() -> Progress:
    """Say how far a long run is: a log tells it from one that hangs."""
    so_far: Counter[str] = Counter()
    said = time.monotonic()

    def report(stage: str, done: int, total: int) -> None:
        nonlocal said
        so_far[stage] += done
        if time.monotonic() - said >= EVERY:
            say(f"{stage}: {so_far[stage]:,} of {total:,}")
            said = time.monotonic()

    return report
