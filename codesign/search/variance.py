"""Exact Sobol indices of the axes: how much each explains of the objective over the space."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from codesign.model.arrays import FloatArray


@dataclass
class AxisVariance:
    """Sums over valid designs, gathered chunk by chunk along the first axis.

    Parameters
    ----------
    count, total, square : float
        Number of designs, sum and sum of squares of the objective.
    by_value : list of dict
        For each axis: value position to (count, sum); positions of the first axis run on.
    explained_by_others : ndarray, shape (axes,)
        For each axis but the first: sum over all combinations of the others of sum^2 / count.
    along_first : tuple of ndarray, optional
        Count and sum over the first axis for each combination of the others.
    """

    count: float = 0.0
    total: float = 0.0
    square: float = 0.0
    by_value: list[list[tuple[FloatArray, FloatArray]]] = field(default_factory=list)
    explained_by_others: FloatArray = field(default_factory=lambda: np.zeros(0))
    along_first: tuple[FloatArray, FloatArray] | None = None

    def add(self, values: FloatArray, valid: NDArray[np.bool_]) -> None:
        """Add one chunk: arrays over the axes of the space."""
        kept = np.where(valid, values, 0.0)
        axes = range(kept.ndim)
        self.count += float(valid.sum())
        self.total += float(kept.sum())
        self.square += float((kept * kept).sum())
        if not self.by_value:
            self.by_value = [[] for _ in axes]
            self.explained_by_others = np.zeros(kept.ndim)
        for axis in axes:
            others = tuple(other for other in axes if other != axis)
            self.by_value[axis].append((valid.sum(axis=others), kept.sum(axis=others)))
            counts, sums = valid.sum(axis=axis).astype(float), kept.sum(axis=axis)
            if axis > 0:
                self.explained_by_others[axis] += _explained(counts, sums)
            elif self.along_first is None:
                self.along_first = (counts, sums)
            else:
                self.along_first = (self.along_first[0] + counts, self.along_first[1] + sums)

    def merge(self, other: "AxisVariance") -> None:
        """Add the sums of another part of the space, cut along the first axis."""
        if not other.by_value:
            return
        if not self.by_value:
            vars(self).update(vars(other))
            return
        assert self.along_first is not None and other.along_first is not None
        self.count += other.count
        self.total += other.total
        self.square += other.square
        for own, more in zip(self.by_value, other.by_value, strict=True):
            own.extend(more)
        self.explained_by_others = self.explained_by_others + other.explained_by_others
        self.along_first = (
            self.along_first[0] + other.along_first[0],
            self.along_first[1] + other.along_first[1],
        )

    def indices(self) -> list[tuple[float, float]]:
        """Return first-order and total index of every axis, over the valid designs.

        Notes
        -----
        Var E[Y | x_i] / Var Y, and 1 - Var E[Y | all but x_i] / Var Y, exact for designs that are
        equally likely (Sobol 1993; Homma and Saltelli 1996). Axes that k <= N ties together are
        not independent, so that first-order indices need not add up to less than one.
        """
        mean_square = self.total**2 / self.count
        variance = self.square - mean_square
        if variance <= 1e-12 * abs(mean_square) or self.along_first is None:
            return [(0.0, 0.0)] * len(self.by_value)
        rows = []
        for axis, parts in enumerate(self.by_value):
            if axis == 0:
                counts, sums = (np.concatenate(column) for column in zip(*parts, strict=True))
                others = _explained(*self.along_first)
            else:
                counts, sums = (np.sum(column, axis=0) for column in zip(*parts, strict=True))
                others = float(self.explained_by_others[axis])
            first = (_explained(counts.astype(float), sums) - mean_square) / variance
            rows.append((first, 1.0 - (others - mean_square) / variance))
        return rows


def _explained(counts: FloatArray, sums: FloatArray) -> float:
    present = counts > 0
    return float((sums[present] ** 2 / counts[present]).sum())
