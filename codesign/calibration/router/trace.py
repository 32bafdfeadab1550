"""What the readers of routed experts return."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from codesign.model.arrays import FloatArray

Ids = NDArray[np.integer[Any]]
RowRange = tuple[int, int]
"""First row and the one after the last."""


class Selections(Protocol):
    """Expert ids by row (token), plane (layer) and rank, read piece by piece."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, planes and ids per row."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the ids as the file stores them."""

    def rows(self, start: int, stop: int) -> Ids:
        """Return some rows, shape (rows, planes, k)."""


@dataclass(frozen=True)
class ArraySelections:
    """Selections that are in memory.

    Parameters
    ----------
    ids : ndarray of int, shape (rows, planes, k)
    """

    ids: Ids

    @property
    def shape(self) -> tuple[int, int, int]:
        """Rows, planes and ids per row."""
        rows, planes, top_k = self.ids.shape
        return rows, planes, top_k

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the ids."""
        return self.ids.dtype

    def rows(self, start: int, stop: int) -> Ids:
        """Return some rows."""
        return self.ids[start:stop]


@dataclass(frozen=True)
class RoutingTrace:
    """Experts of consecutive tokens.

    Parameters
    ----------
    label : str
        File, and where in it.
    selections : Selections
    sequences : tuple of tuples of RowRange
        Each sequence (request) as its runs of consecutive tokens.
    layers : tuple of int
        Number of each plane, as the file counts.
    experts : int, optional
        N, where the file says.
    speculative : bool
        Speculative decoding was on, so that plane 0 may hold a draft's routing.
    facts, warnings : tuple of str
        What was read, and the traps that were met.
    """

    label: str
    selections: Selections
    sequences: tuple[tuple[RowRange, ...], ...]
    layers: tuple[int, ...]
    experts: int | None = None
    speculative: bool = False
    facts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExpertCounts:
    """How often each expert was chosen, without any order of tokens.

    Parameters
    ----------
    label : str
    counts : ndarray, shape (samples, layers, N)
        Tokens, or estimated loads.
    layers : tuple of int
    estimated : bool
        The numbers are loads in arbitrary units, not counts of tokens.
    unit : str
        What a sample is, such as ``step`` or ``pass``.
    facts, warnings : tuple of str
    """

    label: str
    counts: FloatArray
    layers: tuple[int, ...]
    estimated: bool = False
    unit: str = "step"
    facts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class LocalityTable:
    """A published table: unique experts by batch size, overlap by lag.

    Parameters
    ----------
    label : str
    experts, top_k : int
        N and k [-].
    unique_by_batch : mapping of int to float
        Of independent tokens, by their number [-].
    overlap_by_lag : mapping of int to float
        Share of a token's experts that the token so far behind has too [-].
    """

    label: str
    experts: int
    top_k: int
    unique_by_batch: Mapping[int, float]
    overlap_by_lag: Mapping[int, float]


RoutingData = RoutingTrace | ExpertCounts | LocalityTable
