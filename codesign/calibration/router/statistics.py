"""Unique experts and overlaps of a counted trace, with the covariance of their errors.

Errors have two origins: which sequences were recorded, and which popularity the experts happen to
have (a model has only so many experts, whose popularity is one draw of the router's). Resampling
sequences alone misses the second, which is the larger one for most traces. Both are counted by
two-way clustering (Cameron, Gelbach and Miller 2011, doi:10.1198/jbes.2010.07136): the covariance
clustered by sequence plus that by expert less that by both.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from codesign.calibration.router.cells import LAGS, WINDOWS, Cells
from codesign.model.arrays import FloatArray

BATCH_SIZES: Final = (2, 4, 8, 16, 32, 64)
"""Numbers of sequences, one token of each, whose unique experts are counted."""


def batch_sizes(groups: int) -> tuple[int, ...]:
    """Return the batch sizes that so many groups of sequences can tell: up to half of them."""
    return tuple(size for size in BATCH_SIZES if size <= groups // 2)


@dataclass(frozen=True)
class Statistics:
    """Means over layers, and the covariance of their errors.

    Parameters
    ----------
    unique : ndarray, shape (sizes,)
        Unique experts of one token each of `batch_sizes` sequences [-].
    overlap : ndarray, shape (lags,)
        Share of a token's experts that the token so far behind has too [-].
    spread : ndarray, shape (1 + sizes + lags,) squared, optional
        Covariance of the errors of: an expert's share of selections, whose sum over experts is
        fixed (see `covariance`), unique experts, overlaps. Absent for fewer than four groups.
    """

    unique: FloatArray
    overlap: FloatArray
    spread: FloatArray | None

    def covariance(self, slope: FloatArray) -> FloatArray | None:
        """Return the covariance of unique experts and overlaps, given the exact top-k.

        Parameters
        ----------
        slope : ndarray, shape (sizes + lags,)
            Change of each with the number of experts a token selects, relative to that number. An
            exact top-k keeps the number by moving the threshold for all experts: what a sample of
            experts gains by popular ones it loses by the threshold.
        """
        if self.spread is None:
            return None
        fixed = np.hstack([-slope[:, None], np.eye(slope.size)])
        matrix = fixed @ self.spread @ fixed.T
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        return np.asarray(vectors * np.maximum(values, 0.0) @ vectors.T)


def measure(cells: Cells) -> tuple[Statistics, list[Statistics]]:
    """Return the statistics of all layers together, and of each."""
    parts = [_Layer(cells, layer) for layer in range(cells.layers)]
    sequences = sum(part.by_sequence for part in parts) / len(parts)
    experts = sum(part.by_expert for part in parts) / len(parts) ** 2
    both = sum(part.by_both for part in parts) / len(parts) ** 2
    spread = None
    if cells.groups >= FEWEST_GROUPS_FOR_ERRORS:
        spread = _outer(np.asarray(sequences), cells.groups) + experts - both
    values = np.mean([part.values for part in parts], axis=0)
    return _statistics(values, spread), [part.statistics(cells.groups) for part in parts]


FEWEST_GROUPS_FOR_ERRORS: Final = 4


def _statistics(values: FloatArray, spread: FloatArray | None) -> Statistics:
    sizes = values.size - 1 - len(LAGS)
    return Statistics(values[1 : 1 + sizes], values[1 + sizes :], spread)


def _outer(deviations: FloatArray, clusters: int) -> FloatArray:
    """Covariance of a sum over clusters, shape of deviations (clusters, statistics)."""
    return np.asarray(deviations.T @ deviations * clusters / max(clusters - 1, 1))


class _Layer:
    """One layer: each statistic is a sum over experts of a mean over groups of sequences."""

    def __init__(self, cells: Cells, layer: int) -> None:
        share, share_cells = _share(cells, layer)
        unique, unique_cells = _unique(cells, layer)
        overlap, overlap_cells = _overlap(cells, layer)
        by_expert = np.vstack([share, unique, overlap])
        influence = np.concatenate([share_cells, unique_cells, overlap_cells])
        self.values = by_expert.sum(axis=1)
        self.by_sequence = influence.sum(axis=2).T
        self.by_expert = _outer(
            (by_expert - by_expert.mean(axis=1, keepdims=True)).T, cells.experts
        )
        flat = influence.reshape(len(influence), -1)
        self.by_both = flat @ flat.T * cells.groups / max(cells.groups - 1, 1)

    def statistics(self, groups: int) -> Statistics:
        spread = None
        if groups >= FEWEST_GROUPS_FOR_ERRORS:
            spread = _outer(self.by_sequence, groups) + self.by_expert - self.by_both
        return _statistics(self.values, spread)


def _share(cells: Cells, layer: int) -> tuple[FloatArray, FloatArray]:
    """Each expert's share of all selections, and each cell's influence on it."""
    counts = cells.selected[:, layer].astype(np.float64)
    total = cells.tokens.sum() * cells.top_k
    share = counts.sum(axis=0) / total
    influence = (counts - share * cells.tokens[:, None] * cells.top_k) / total
    return share[None], influence[None]


def _overlap(cells: Cells, layer: int) -> tuple[FloatArray, FloatArray]:
    counts = cells.pairs[:, :, layer].astype(np.float64)
    totals = np.maximum(cells.pair_totals.sum(axis=1), 1.0)[:, None] * cells.top_k
    share = counts.sum(axis=1) / totals
    expected = share[:, None] * cells.pair_totals[..., None] * cells.top_k
    return share, (counts - expected) / totals[..., None]


def _unique(cells: Cells, layer: int) -> tuple[FloatArray, FloatArray]:
    sizes = batch_sizes(cells.groups)
    missed = 1.0 - cells.selected[:, layer] / cells.tokens[:, None]
    if not sizes:
        return np.empty((0, cells.experts)), np.empty((0, *missed.shape))
    levels = spared(missed, sizes[-1])
    without = _without_each(missed, levels, sizes)
    order = np.array(sizes)
    scale = order[:, None, None] / cells.groups
    influence = -scale * (without * missed - levels[order][:, None])
    return 1.0 - levels[order], influence


def spared(missed: FloatArray, largest: int) -> FloatArray:
    """Mean probability that a token each of 0, 1, ..., `largest` different groups spare an expert.

    Parameters
    ----------
    missed : ndarray, shape (groups, ...)
        Probability that a token of each group does.

    Notes
    -----
    The elementary symmetric polynomial over its number of terms: unbiased, for it never takes two
    tokens of one request.
    """
    levels = np.zeros((largest + 1, *missed.shape[1:]))
    levels[0] = 1.0
    for count, row in enumerate(missed, start=1):
        size = np.arange(min(count, largest), 0, -1).reshape(-1, *(1,) * row.ndim)
        chosen = size[:, ...].ravel()
        levels[chosen] += size / count * (row * levels[chosen - 1] - levels[chosen])
    return levels


def _without_each(missed: FloatArray, levels: FloatArray, sizes: tuple[int, ...]) -> FloatArray:
    """`spared` by one token fewer, of the groups other than each; (sizes, groups, experts)."""
    groups = len(missed)
    rest = np.ones_like(missed)
    found = []
    for size in range(1, sizes[-1] + 1):
        if size in sizes:
            found.append(rest)
        rest = (groups * levels[size] - size * missed * rest) / (groups - size)
    return np.stack(found)


def unique_of_windows(cells: Cells, layer: int | None = None) -> FloatArray:
    """Unique experts of windows of consecutive tokens, mean over layers, shape (windows,) [-]."""
    present = cells.present if layer is None else cells.present[:, :, layer : layer + 1]
    totals = cells.window_totals.sum(axis=1)
    sums = present.sum(axis=(1, 3), dtype=np.float64).mean(axis=1)
    unseen = np.full(len(WINDOWS), np.nan)
    return np.asarray(np.divide(sums, totals, out=unseen, where=totals > 0))


def unique_of_batches(cells: Cells, window: int) -> dict[int, float]:
    """Unique experts of windows of several sequences, mean over layers, by batch size [-]."""
    index = WINDOWS.index(window)
    totals = cells.window_totals[index]
    present = cells.present[index][totals > 0]
    sizes = batch_sizes(len(present))
    if not sizes:
        return {}
    unique = np.zeros(sizes[-1] + 1)
    for layer in range(cells.layers):
        missed = 1.0 - present[:, layer] / totals[totals > 0][:, None]
        unique += (1.0 - spared(missed, sizes[-1])).sum(axis=1) / cells.layers
    return {size: float(unique[size]) for size in sizes}
