"""Draft length by batch size."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np

from codesign.errors import UsageError
from codesign.export.served import Served
from codesign.model.arrays import FloatArray
from codesign.prediction import predict

LARGEST: Final = 1024
"""Batch sizes a table goes up to where more sequences would fit."""

POINTS_PER_DOUBLING: Final = 4
"""As dense as the batch sizes for which engines capture graphs."""

SIZES_AT_ONCE: Final = 24
"""Batch sizes whose tables of unique experts stay cached while the draws go through them."""

WORTH_A_CHANGE: Final = 0.005
"""A draft length is kept until another one yields this share more: tables stay short."""

Range = tuple[int, int, int]
"""First and last batch size, both inclusive, and the draft length between them."""


@dataclass(frozen=True)
class Schedule:
    """Draft lengths of consecutive ranges of batch sizes.

    Parameters
    ----------
    ranges : tuple of (int, int, int)
        First and last batch size, inclusive, and K.

    Raises
    ------
    UsageError
        If the first range does not start at 1, or ranges are out of order or overlap.
    """

    ranges: tuple[Range, ...]

    def __post_init__(self) -> None:
        if not self.ranges or self.ranges[0][0] != 1:
            raise UsageError("a schedule of draft lengths starts at batch size 1")
        for first, last, drafted in self.ranges:
            if first > last or drafted < 0:
                raise UsageError(f"a range of batch sizes is empty or drafts less than nothing: "
                                 f"[{first}, {last}, {drafted}]")  # fmt: skip
        for (_, last, _), (first, _, _) in pairwise(self.ranges):
            if first <= last:
                raise UsageError(f"ranges of batch sizes overlap: one ends at {last}, the next "
                                 f"starts at {first}")  # fmt: skip

    @property
    def longest(self) -> int:
        """The largest draft length."""
        return max(drafted for _, _, drafted in self.ranges)

    @property
    def rising(self) -> tuple[int, ...]:
        """Batch sizes at which the draft length rises again."""
        return tuple(b[0] for a, b in pairwise(self.ranges) if b[2] > a[2])

    def draft_tokens(self, batch_size: int) -> int:
        """Return K at a batch size; gaps, and what lies beyond, inherit the K before them."""
        return [drafted for first, _, drafted in self.ranges if first <= batch_size][-1]


@dataclass(frozen=True)
class BestLengths:
    """The schedule and what it was chosen from.

    Parameters
    ----------
    schedule : Schedule
    batch_sizes : tuple of int
    draft_tokens : tuple of int
        By batch size, as the schedule has it.
    speedups : ndarray, shape (batch sizes,)
        Expected, with that draft length [-].
    """

    schedule: Schedule
    batch_sizes: tuple[int, ...]
    draft_tokens: tuple[int, ...]
    speedups: FloatArray


def best_lengths(served: Served, largest: int | None = None) -> BestLengths:
    """Return the best draft length of every batch size.

    Parameters
    ----------
    served : Served
    largest : int, optional
        Largest batch size; absent: what fits into memory, at most 1,024.

    Notes
    -----
    The expected speedup over the study's draws is compared, at four batch sizes per doubling; a
    range begins at the first of them that prefers another length.
    """
    sizes = batch_sizes(largest or largest_batch(served))
    speedups = _expected_speedups(served, sizes)
    lengths = served.designs.draft_tokens.reshape(-1)
    chosen = _kept_while_good(speedups)
    drafted = tuple(int(lengths[place]) for place in chosen)
    starts = [0, *(i for i in range(1, len(sizes)) if drafted[i] != drafted[i - 1])]
    ends = [*(sizes[start] - 1 for start in starts[1:]), sizes[-1]]
    ranges = tuple(
        (sizes[start], end, drafted[start]) for start, end in zip(starts, ends, strict=True)
    )
    own = speedups[np.arange(len(sizes)), chosen]
    return BestLengths(Schedule(ranges), sizes, drafted, own)


def batch_sizes(largest: int) -> tuple[int, ...]:
    """Return batch sizes from 1 to `largest`, four per doubling.

    Examples
    --------
    >>> batch_sizes(16)
    (1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 13, 16)
    """
    steps = int(np.ceil(np.log2(largest) * POINTS_PER_DOUBLING)) if largest > 1 else 0
    sizes = np.rint(2.0 ** (np.arange(steps + 1) / POINTS_PER_DOUBLING)).astype(int)
    return tuple(int(size) for size in np.unique(np.minimum(sizes, largest)))


def largest_batch(served: Served) -> int:
    """Return how many sequences fit a replica, no fewer than the study's and no more than 1,024."""
    longest = served.designs.take(int(served.designs.draft_tokens.argmax()))
    fitting = float(predict(longest, served.scenario).kv_capacity_sequences.max())
    return max(int(min(fitting, LARGEST)), *served.scenario.batch_sizes)


def _expected_speedups(served: Served, sizes: Sequence[int]) -> FloatArray:
    """Mean over the draws, or at the values in use; shape (batch sizes, draft lengths)."""
    scenarios = served.draws.scenarios or (served.scenario,)
    parts = []
    for start in range(0, len(sizes), SIZES_AT_ONCE):
        some = tuple(sizes[start : start + SIZES_AT_ONCE])
        total = np.zeros((len(some), served.designs.draft_tokens.size))
        for scenario in scenarios:
            total = total + predict(served.designs, scenario.at(some)).sd_speedup
        parts.append(total / len(scenarios))
    return np.concatenate(parts)


def _kept_while_good(speedups: FloatArray) -> list[int]:
    """Best length at each batch size; the one before is kept while little is lost by it."""
    chosen: list[int] = []
    for row in speedups:
        best = int(np.argmax(row))
        if chosen and row[chosen[-1]] >= row[best] * (1.0 - WORTH_A_CHANGE):
            best = chosen[-1]
        chosen.append(best)
    return chosen
