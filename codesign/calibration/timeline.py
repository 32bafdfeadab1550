"""Kernels and step markers on a common clock, kept in bounded memory: 17 bytes a kernel."""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from codesign.calibration.kernel_names import CATEGORIES, Category, category_of
from codesign.calibration.profile_points import KernelTotal, Profile, StepProfile
from codesign.calibration.recorded_kernels import (
    GRAPH_REMEDY,
    require_equal,
    require_layers,
    require_work,
)
from codesign.calibration.step_markers import Marker
from codesign.errors import DataError
from codesign.model.arrays import FloatArray

MOST_NAMES: Final = 20_000
FEWEST_STEPS: Final = 3
"""Steps from which a scatter over steps is given."""


@dataclass(frozen=True)
class _Spans:
    """Kernels sorted by start [s]."""

    start: FloatArray
    end: FloatArray
    category: NDArray[np.int8]

    def take(self, rows: slice) -> "_Spans":
        return _Spans(self.start[rows], self.end[rows], self.category[rows])

    def summed(self) -> dict[Category, float]:
        times = np.bincount(self.category, self.end - self.start, minlength=len(CATEGORIES))
        return dict(zip(CATEGORIES, times.tolist(), strict=True))

    def union(self) -> dict[Category, float]:
        found = {}
        for index, name in enumerate(CATEGORIES):
            rows = self.category == index
            found[name] = union_length(self.start[rows], self.end[rows])
        return found


def union_length(start: FloatArray, end: FloatArray) -> float:
    """Length covered by intervals that are sorted by their start.

    Examples
    --------
    >>> union_length(np.array([0.0, 1.0, 5.0]), np.array([2.0, 3.0, 6.0]))
    4.0
    """
    if start.size == 0:
        return 0.0
    latest = np.maximum.accumulate(end)
    before = np.concatenate([[start[0]], latest[:-1]])
    return float(np.sum(np.maximum(latest - np.maximum(start, before), 0.0)))


class Timeline:
    """Collects kernels and markers of one device.

    Parameters
    ----------
    source : str
        For messages.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._start, self._end, self._category = array("d"), array("d"), array("b")
        self._names: dict[str, list[float]] = {}
        self._markers: dict[bool, list[Marker]] = {True: [], False: []}

    def add_kernel(self, name: str, start: float, duration: float) -> None:
        """Add a kernel, copy or fill; times in seconds."""
        category = category_of(name)
        self._start.append(start)
        self._end.append(start + duration)
        self._category.append(CATEGORIES.index(category))
        total = self._names.setdefault(name, [0.0, 0.0])
        total[0] += duration
        total[1] += 1
        if len(self._names) > MOST_NAMES:
            raise DataError(f"{self.source}: more than {MOST_NAMES:,} kernel names: no profile")

    def add_marker(self, marker: Marker, *, on_gpu: bool) -> None:
        """Add a step; markers on the GPU's own clock are preferred to those of the host."""
        self._markers[on_gpu].append(marker)

    def profile(self, title: str, layers: int | None, notes: tuple[str, ...] = ()) -> Profile:
        """Split the time by step and category.

        Parameters
        ----------
        title : str
            The format.
        layers : int, optional
            Of the model, to see whether all kernels were recorded.
        notes : tuple of str

        Raises
        ------
        DataError
            If there is no kernel, or kernels launched by graphs are missing.
        """
        if not self._start:
            raise DataError(f"{self.source}: {title} without any kernel; {GRAPH_REMEDY}")
        spans = self._sorted()
        require_work(self.kernels(), self.source)
        markers, on_gpu = self._chosen_markers()
        told = list(notes)
        if markers:
            loads = self._loads(spans, markers, on_gpu, layers, told)
        else:
            told.append("no step markers: times are of the whole profile, b and q are not in it")
            loads = [_whole(spans)]
        return Profile(self.source, title, tuple(loads), self.kernels(), tuple(told))

    def kernels(self) -> tuple[KernelTotal, ...]:
        """Totals by kernel, the longest first."""
        totals = [
            KernelTotal(name, category_of(name), seconds, int(calls))
            for name, (seconds, calls) in self._names.items()
        ]
        return tuple(sorted(totals, key=lambda total: -total.seconds))

    def _sorted(self) -> _Spans:
        start, end = np.frombuffer(self._start), np.frombuffer(self._end)
        order = np.argsort(start, kind="stable")
        category = np.frombuffer(self._category, dtype=np.int8)
        return _Spans(start[order], end[order], category[order])

    def _chosen_markers(self) -> tuple[list[Marker], bool]:
        on_gpu = bool(self._markers[True])
        return sorted(self._markers[on_gpu]), on_gpu

    def _loads(
        self,
        spans: _Spans,
        markers: list[Marker],
        on_gpu: bool,
        layers: int | None,
        notes: list[str],
    ) -> list[StepProfile]:
        edges = np.searchsorted(spans.start, [marker.start for marker in markers])
        ends = [*edges[1:].tolist(), spans.start.size]
        pieces = [spans.take(slice(a, b)) for a, b in zip(edges.tolist(), ends, strict=True)]
        decoding = [p.start.size for p, m in zip(pieces, markers, strict=True) if not m.prefills]
        require_equal(decoding, self.source)
        groups: dict[tuple[int, float], list[int]] = {}
        for index, marker in enumerate(markers):
            if marker.prefills == 0 and marker.batch_size and pieces[index].start.size:
                load = (marker.batch_size, marker.tokens / marker.batch_size)
                groups.setdefault(load, []).append(index)
        if not groups:
            raise DataError(f"{self.source}: every marked step holds a prefill; profile decoding")
        skipped = len(markers) - sum(map(len, groups.values()))
        if skipped:
            notes.append(f"{skipped} steps with a prefill or without kernels left out")
        periods = np.diff([marker.start for marker in markers])
        loads = []
        for (batch, width), steps in sorted(groups.items(), key=lambda item: -len(item[1])):
            mean = _mean_step(batch, width, steps, pieces, markers, periods, on_gpu)
            if told := require_layers(mean, layers, self.source):
                notes.append(told)
            loads.append(mean)
        return loads


def _whole(spans: _Spans) -> StepProfile:
    start, end = spans.start, spans.end
    return StepProfile(
        None, None, None, spans.summed(), spans.union(), union_length(start, end),
        float(end.max() - start[0]),
    )  # fmt: skip


def _mean_step(
    batch: int,
    width: float,
    steps: list[int],
    pieces: list[_Spans],
    markers: list[Marker],
    periods: FloatArray,
    on_gpu: bool,
) -> StepProfile:
    chosen = [pieces[index] for index in steps]
    summed = [piece.summed() for piece in chosen]
    mean = _average(summed)
    shares = [s["routed_experts"] / max(sum(s.values()) - s["copies"], 1e-30) for s in summed]
    spans = [
        markers[i].duration if on_gpu else float(p.end.max() - p.start[0])
        for i, p in zip(steps, chosen, strict=True)
    ]
    own = [float(periods[index]) for index in steps if index < periods.size]
    error = None
    if len(shares) >= FEWEST_STEPS:
        error = float(np.std(shares, ddof=1) / np.sqrt(len(shares)))
    return StepProfile(
        batch_size=float(batch),
        width=width,
        steps=len(steps),
        summed=mean,
        union=_average([piece.union() for piece in chosen]),
        busy=float(np.mean([union_length(piece.start, piece.end) for piece in chosen])),
        span=float(np.mean(spans)),
        period=float(np.mean(own)) if own else None,
        kernels=float(np.mean([np.sum(p.category != CATEGORIES.index("copies")) for p in chosen])),
        fraction_error=error,
    )


def _average(tables: list[dict[Category, float]]) -> Mapping[Category, float]:
    return {name: float(np.mean([table[name] for table in tables])) for name in CATEGORIES}
