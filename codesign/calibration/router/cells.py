"""Count a trace piece by piece: per sequence group, layer and expert.

Everything that is fitted follows from these counts, so a trace of any size takes bounded memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from codesign.calibration.options import Progress
from codesign.calibration.router.trace import Ids, RowRange, Selections

LAGS: Final = tuple(range(1, 17))
"""Distances at which overlaps are counted [token]."""
WINDOWS: Final = (2, 4, 8, 16)
"""Window lengths whose unique experts are counted; each the double of the one before [token]."""

MOST_GROUPS: Final = 256
FEWEST_GROUPS: Final = 32
CELL_BYTES: Final = 256 << 20
PIECE_BYTES: Final = 1 << 20
REACH: Final = LAGS[-1]
"""Rows that a piece reads beyond its own, so that pairs and windows cross its end."""

Hot = NDArray[np.uint8]
Counts = NDArray[np.float32]


@dataclass(frozen=True)
class Part:
    """Rows of one sequence, with the planes that hold routed layers."""

    selections: Selections
    planes: tuple[int, ...]
    runs: tuple[RowRange, ...]


@dataclass(frozen=True)
class Cells:
    """Counts by group of sequences (G), layer (L) and expert (N).

    Parameters
    ----------
    selected : ndarray, shape (G, L, N)
        Tokens that chose the expert.
    pairs : ndarray, shape (lags, G, L, N)
        Pairs of tokens so far apart that both did.
    present : ndarray, shape (windows, G, L, N)
        Windows in which any token did.
    tokens : ndarray, shape (G,)
    pair_totals : ndarray, shape (lags, G)
        Pairs there are.
    window_totals : ndarray, shape (windows, G)
        Windows there are.
    top_k : int
        Experts per token.
    sequences : int
        Sequences that the groups hold.
    """

    selected: Counts
    pairs: Counts
    present: Counts
    tokens: NDArray[np.float64]
    pair_totals: NDArray[np.float64]
    window_totals: NDArray[np.float64]
    top_k: int
    sequences: int

    @property
    def groups(self) -> int:
        """Groups of sequences."""
        return int(self.selected.shape[0])

    @property
    def layers(self) -> int:
        """Routed layers."""
        return int(self.selected.shape[1])

    @property
    def experts(self) -> int:
        """Routed experts per layer."""
        return int(self.selected.shape[2])

    def of_layer(self, layer: int) -> "Cells":
        """Return the counts of one layer."""
        return Cells(
            self.selected[:, layer : layer + 1], self.pairs[:, :, layer : layer + 1],
            self.present[:, :, layer : layer + 1], self.tokens, self.pair_totals,
            self.window_totals, self.top_k, self.sequences,
        )  # fmt: skip


def count_cells(
    parts: Sequence[Part], experts: int, top_k: int, progress: Progress | None = None
) -> Cells:
    """Count all sequences; neighbouring ones share a group where there are very many.

    Parameters
    ----------
    parts : sequence of Part
        One per sequence, all with as many planes.
    experts, top_k : int
        N and k [-].
    progress : callable, optional
    """
    layers = len(parts[0].planes)
    cell = layers * experts * (1 + len(LAGS) + len(WINDOWS)) * np.dtype(np.float32).itemsize
    groups = min(len(parts), MOST_GROUPS, max(FEWEST_GROUPS, CELL_BYTES // cell))
    shape = (groups, layers, experts)
    cells = Cells(
        np.zeros(shape, np.float32),
        np.zeros((len(LAGS), *shape), np.float32),
        np.zeros((len(WINDOWS), *shape), np.float32),
        np.zeros(groups), np.zeros((len(LAGS), groups)), np.zeros((len(WINDOWS), groups)),
        top_k, len(parts),
    )  # fmt: skip
    total = sum(stop - start for part in parts for start, stop in part.runs)
    for index, part in enumerate(parts):
        group = index * groups // len(parts)
        for run in part.runs:
            _count_run(cells, group, part, run, progress, total)
    return cells


def _count_run(
    cells: Cells, group: int, part: Part, run: RowRange, progress: Progress | None, total: int
) -> None:
    width = cells.layers * cells.experts
    step = max(PIECE_BYTES // width, 4 * REACH)
    for start in range(run[0], run[1], step):
        stop = min(start + step, run[1])
        rows = part.selections.rows(start, min(stop + REACH, run[1]))
        hot = _one_hot(rows[:, list(part.planes), : cells.top_k], cells.experts)
        _count_piece(cells, group, hot, stop - start)
        if progress is not None:
            progress("counting tokens", stop - start, total)


def _one_hot(ids: Ids, experts: int) -> Hot:
    """Which expert of which layer each row chose, shape (rows, layers * experts)."""
    rows, layers, _ = ids.shape
    hot = np.zeros((rows, layers * experts), np.uint8)
    column = ids.astype(np.intp) + experts * np.arange(layers)[:, None]
    hot[np.arange(rows)[:, None], column.reshape(rows, -1)] = 1
    return hot


def _count_piece(cells: Cells, group: int, hot: Hot, own: int) -> None:
    """Add the pairs and windows that start in the first `own` rows."""
    shape = (cells.layers, cells.experts)
    cells.tokens[group] += own
    cells.selected[group] += _column_sums(hot[:own]).reshape(shape)
    for index, lag in enumerate(LAGS):
        starts = min(own, len(hot) - lag)
        if starts > 0:
            both = hot[:starts] & hot[lag : lag + starts]
            cells.pairs[index, group] += _column_sums(both).reshape(shape)
            cells.pair_totals[index, group] += starts
    seen = hot
    for index, window in enumerate(WINDOWS):
        half = window // 2
        if len(seen) <= half:
            return
        seen = seen[: len(seen) - half] | seen[half:]
        starts = min(own, len(seen))
        cells.present[index, group] += _column_sums(seen[:starts]).reshape(shape)
        cells.window_totals[index, group] += starts


def _column_sums(bits: Hot) -> NDArray[np.int64]:
    """Sums over rows; 255 at a time keep the inner sum in bytes, which is many times faster."""
    sums = np.zeros(bits.shape[1], np.int64)
    for start in range(0, len(bits), 255):
        sums += bits[start : start + 255].sum(axis=0, dtype=np.uint8)
    return sums
