"""Nodes of a two-dimensional table and the Chebyshev polynomials that interpolate between them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander, chebvander2d

from codesign.model.arrays import FloatArray

Bounds = tuple[float, float]


def chebyshev_fit(nodes: int) -> FloatArray:
    """Matrix from values at Chebyshev nodes to coefficients, by discrete orthogonality."""
    weights = np.full(nodes, 2.0 / nodes)
    weights[0] = 1.0 / nodes
    return np.asarray(weights[:, None] * chebvander(chebpts1(nodes), nodes - 1).T)


@dataclass(frozen=True, eq=False)
class TableGrid:
    """Where a smooth function of threshold and share is tabulated.

    Parameters
    ----------
    thresholds, shares : (float, float)
        Ranges of τ and w [-].
    degrees : (int, int)
        Of the polynomials in each.
    """

    thresholds: Bounds
    shares: Bounds
    degrees: tuple[int, int]

    @cached_property
    def _nodes(self) -> list[FloatArray]:
        axes = zip((self.thresholds, self.shares), self.degrees, strict=True)
        ends = [
            (low + high + (high - low) * chebpts1(degree + 1)) / 2.0 for (low, high), degree in axes
        ]
        return [np.asarray(axis.ravel()) for axis in np.meshgrid(*ends, indexing="ij")]

    @property
    def threshold(self) -> FloatArray:
        """τ at every node, raveled [-]."""
        return self._nodes[0]

    @property
    def share(self) -> FloatArray:
        """w at every node, raveled [-]."""
        return self._nodes[1]

    @cached_property
    def fit(self) -> FloatArray:
        """Matrix from values at the nodes to coefficients."""
        first, second = (chebyshev_fit(degree + 1) for degree in self.degrees)
        return np.asarray(np.kron(first, second), dtype=np.float64)

    def polynomials(self, threshold: FloatArray, share: FloatArray) -> FloatArray:
        """Return what coefficients are weighed with; a point outside counts as one at the edge."""
        scaled = _scaled(threshold, self.thresholds), _scaled(share, self.shares)
        return np.asarray(chebvander2d(*scaled, self.degrees))


def _scaled(values: FloatArray, bounds: Bounds) -> FloatArray:
    low, high = bounds
    return (2.0 * np.clip(values, low, high) - low - high) / (high - low)
