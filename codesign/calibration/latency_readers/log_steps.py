"""Lines of engine logs as step times.

Cycle = running sequences x acceptance length / throughput; a line is one rank's own batch.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final

from codesign.calibration.observation import Observation, Timing
from codesign.calibration.sample import Sample
from codesign.errors import CalibrationError

WARM_UP: Final = 3.0
"""A line slower than this times the median of its load is a warm-up or a pause."""


@dataclass(frozen=True)
class LogStep:
    """One line of a log.

    Parameters
    ----------
    batch_size : int
        Sequences running at the moment of the line.
    throughput : float
        Tokens per second of all of them.
    acceptance_length : float, optional
        Absent where speculative decoding was off.
    draft_tokens : int, optional
    cached : int, optional
        Tokens in the cache, of all sequences.
    rank : str
    """

    batch_size: int
    throughput: float
    acceptance_length: float | None
    draft_tokens: int | None = None
    cached: int | None = None
    rank: str = ""

    @property
    def cycle(self) -> float:
        """Time of one engine step [s]."""
        return self.batch_size * (self.acceptance_length or 1.0) / self.throughput


def merged(steps: Iterable[LogStep], where: str, title: str, backend: str) -> list[Observation]:
    """Return one observation per batch size and draft length, warm-up lines left out.

    Raises
    ------
    CalibrationError
        If there is no usable line.
    """
    groups: dict[tuple[int, bool, int | None], list[LogStep]] = {}
    ranks: set[str] = set()
    for step in steps:
        ranks.add(step.rank)
        on = step.acceptance_length is not None
        groups.setdefault((step.batch_size, on, step.draft_tokens), []).append(step)
    if not groups:
        raise CalibrationError(f"{where}: {title}: no line with running sequences and a throughput")
    notes = ["running sequences are a snapshot at each line"]
    if len(ranks) > 1:
        notes.append(f"lines of {len(ranks)} data-parallel ranks: each is a batch of its own")
    observations = []
    for (batch, on, drafted), group in sorted(groups.items(), key=lambda item: item[0][:2]):
        kept = _steady(group)
        if len(kept) < len(group):
            notes.append(f"{len(group) - len(kept)} warm-up lines at batch size {batch} left out")
        observations.append(_observation(kept, batch, on, drafted, where, title, backend))
    return [observations[0].noting(*notes), *observations[1:]]


def _steady(group: list[LogStep]) -> list[LogStep]:
    if len(group) < 3:
        return group
    typical = median(step.cycle for step in group)
    return [step for step in group if step.cycle <= WARM_UP * typical]


def _observation(
    steps: list[LogStep], batch: int, on: bool, drafted: int | None,
    where: str, title: str, backend: str,
) -> Observation:  # fmt: skip
    cycles = [step.cycle for step in steps]
    cached = [step.cached / batch for step in steps if step.cached is not None]
    notes: tuple[str, ...] = ()
    if cached:
        typical = f"{fmean(cached):.4g}"
        notes = (f"about {typical} cached tokens per sequence (snapshots): a --context to give",)
    return Observation(
        source=f"{where}, batch size {batch}, SD {'on' if on else 'off'}",
        title=title,
        backend=backend,
        batch_size=float(batch),
        draft_tokens=None if drafted is None else float(drafted),
        step=Timing(fmean(cycles), median(cycles)),
        stated_length=fmean(step.acceptance_length or 1.0 for step in steps) if on else None,
        samples=len(steps),
        notes=notes,
    )


def lacks_marks(sample: Sample, *marks: str) -> str | None:
    """Say that none of the words that tell a log is in its first 64 KiB."""
    if sample.text is None:
        return "not text"
    found = any(mark in sample.text for mark in marks)
    return None if found else f"no {marks[0]!r} in the first 64 KiB"
