"""Timed kernels as the model sees them: bytes, FLOP and what shape they belong to."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from codesign.model.arrays import FloatArray

if TYPE_CHECKING:
    from pandas import DataFrame

Reasons = Mapping[str, Any]
"""Why rows are left out, and a truth value per row."""

MILLISECOND: Final = 1e-3


@dataclass(frozen=True)
class TimedKernels:
    """Measurements of one kernel on one device, engine and number format.

    Parameters
    ----------
    traffic, flop, seconds : ndarray, shape (rows,)
        Bytes moved [B], work [FLOP], measured time [s].
    configuration : ndarray of str, shape (rows,)
        Shape that rows share; what is left out together.
    width : ndarray, shape (rows,), optional
        Width of a routed expert on one GPU, where narrow ones are slower [element].
    whole : ndarray of bool, shape (rows,), optional
        Rows of unsharded experts.
    source : str
        Engine version and kernel names.
    left_out : dict of str to int
        Reason and number of rows that are not here.
    """

    traffic: FloatArray
    flop: FloatArray
    seconds: FloatArray
    configuration: NDArray[np.str_]
    source: str
    width: FloatArray | None = None
    whole: NDArray[np.bool_] | None = None
    left_out: dict[str, int] = field(default_factory=dict)

    def only(self, rows: NDArray[np.bool_]) -> "TimedKernels":
        """Return the chosen rows."""
        return replace(
            self,
            traffic=self.traffic[rows],
            flop=self.flop[rows],
            seconds=self.seconds[rows],
            configuration=self.configuration[rows],
            width=None if self.width is None else self.width[rows],
            whole=None if self.whole is None else self.whole[rows],
        )


def without(rows: "DataFrame", reasons: Reasons) -> tuple["DataFrame", dict[str, int]]:
    """Drop rows for stated reasons; a row counts under the first that holds.

    Parameters
    ----------
    rows : DataFrame
    reasons : mapping of str to array_like of bool, shape (rows,)
        By reason, which rows it excludes.
    """
    counts, kept = {}, np.ones(len(rows), dtype=np.bool_)
    for reason, excluded in reasons.items():
        now = kept & np.asarray(excluded, dtype=np.bool_)
        if now.any():
            counts[reason] = int(now.sum())
        kept &= ~now
    return rows[kept], counts


def reachable(timed: TimedKernels, memory_bandwidth: float) -> TimedKernels:
    """Drop rows that moved their bytes faster than the memory can: they were read from the cache.

    Parameters
    ----------
    timed : TimedKernels
    memory_bandwidth : float
        Of the datasheet [B/s].
    """
    cached = timed.traffic / timed.seconds > memory_bandwidth
    if not cached.any():
        return timed
    reason = "faster than the memory: read from the cache"
    return replace(timed.only(~cached), left_out=timed.left_out | {reason: int(cached.sum())})


def groups_of(rows: "DataFrame", names: list[str]) -> Iterator[tuple[tuple[Any, ...], "DataFrame"]]:
    """Yield each combination of some columns' values, and its rows."""
    for key, own in rows.groupby(names):
        yield key if isinstance(key, tuple) else (key,), own


def column(rows: "DataFrame", name: str) -> FloatArray:
    """Return one column as floating-point numbers."""
    return rows[name].to_numpy(dtype=np.float64)


def labels(rows: "DataFrame", names: list[str]) -> NDArray[np.str_]:
    """Return one label per row, ``128/8/2048/768``."""
    joined = rows[names[0]].astype(str)
    for name in names[1:]:
        joined = joined + "/" + rows[name].astype(str)
    return joined.to_numpy(dtype=np.str_)


def kernel_names(rows: "DataFrame") -> str:
    """Return the kernels measured, the most frequent first."""
    counts = rows["kernel_source"].value_counts()
    return " + ".join(str(name) for name in counts.index[:3])
