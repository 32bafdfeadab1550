"""Which rows and planes of a trace are real: dense layers, padding and corruption found out.

A real row never names an expert twice. A plane whose every row is constant is a dense layer; a row
that is constant in any routed plane, or has an id below zero, is padding.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from codesign.calibration.options import Progress
from codesign.calibration.router.cells import Part
from codesign.calibration.router.trace import Ids, RoutingTrace, RowRange, Selections
from codesign.errors import DataError

PIECE_IDS: Final = 1 << 20

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Scan:
    """What is left of a trace.

    Parameters
    ----------
    parts : tuple of Part
        One per sequence.
    keys : tuple of bytes
        One per sequence: equal where the routing is.
    layers : tuple of int
        Numbers of the routed planes.
    dense : tuple of int
        Numbers of the dense ones.
    rows, padding : int
        Rows used and left out.
    highest : int
        Highest id seen.
    warnings : tuple of str
    """

    parts: tuple[Part, ...]
    keys: tuple[bytes, ...]
    layers: tuple[int, ...]
    dense: tuple[int, ...]
    rows: int
    padding: int
    highest: int
    warnings: tuple[str, ...]


def scan(trace: RoutingTrace, experts: int | None, progress: Progress | None = None) -> Scan:
    """Find the routed planes and the valid rows of a trace.

    Parameters
    ----------
    trace : RoutingTrace
    experts : int, optional
        N, where known.
    progress : callable, optional

    Raises
    ------
    DataError
        If rows repeat an id, ids do not fit N, or nothing is routed.
    """
    shape = trace.selections.shape
    if len(trace.layers) != shape[1]:
        raise DataError(f"{trace.label}: {len(trace.layers)} layer numbers for {shape[1]} planes")
    routed, highest = _routed_planes(trace.selections)
    planes = [plane for plane in range(shape[1]) if routed[plane]]
    warnings = list(trace.warnings)
    if trace.speculative and planes and planes[0] == 0:
        planes = planes[1:]
        warnings.append(
            f"{trace.label}: speculative decoding was on, and vLLM up to 0.25 overwrites layer 0 "
            "with the routing of a MoE draft: layer 0 left out"
        )
    if not planes:
        raise DataError(f"{trace.label}: no routed layer: every row of every plane is constant")
    _check_range(trace, highest, experts)
    valid, repeated = _valid_rows(trace.selections, planes, progress)
    if repeated or _wraps(trace, experts):
        raise DataError(_repeats(trace, repeated, int(valid.sum()) * len(planes), experts))
    parts, keys = _parts(trace, tuple(planes), valid)
    if not parts:
        raise DataError(f"{trace.label}: every row is padding")
    used = sum(stop - start for part in parts for start, stop in part.runs)
    return Scan(
        parts, keys,
        tuple(trace.layers[plane] for plane in planes),
        tuple(trace.layers[plane] for plane in range(shape[1]) if not routed[plane]),
        used, _covered(trace) - used, highest, tuple(warnings),
    )  # fmt: skip


def _covered(trace: RoutingTrace) -> int:
    return sum(stop - start for runs in trace.sequences for start, stop in runs)


def _pieces(selections: Selections) -> Iterator[tuple[int, Ids]]:
    rows, planes, width = selections.shape
    step = max(1, PIECE_IDS // (planes * width))
    for start in range(0, rows, step):
        yield start, selections.rows(start, min(start + step, rows))


def _constant(ids: Ids) -> Flags:
    """Rows that choose nothing: all ids alike, or for k = 1 below zero."""
    if ids.shape[-1] == 1:
        return (
            np.asarray(ids[..., 0] < 0) if ids.dtype.kind == "i" else np.zeros(ids.shape[:-1], bool)
        )
    return np.asarray((ids == ids[..., :1]).all(axis=-1))


def _routed_planes(selections: Selections) -> tuple[Flags, int]:
    """Planes in which some row is a real choice, and the highest id there is."""
    routed = np.zeros(selections.shape[1], dtype=np.bool_)
    highest = -1
    for _, ids in _pieces(selections):
        chosen = ids[..., 0] > 0 if ids.shape[-1] == 1 else ~_constant(ids)
        routed |= chosen.any(axis=0)
        highest = max(highest, int(ids.max()))
    return routed, highest


def _valid_rows(
    selections: Selections, planes: list[int], progress: Progress | None
) -> tuple[Flags, int]:
    """Rows that are no padding, and how many of their planes' rows repeat an id."""
    valid = np.zeros(selections.shape[0], dtype=np.bool_)
    repeated = 0
    for start, ids in _pieces(selections):
        chosen = ids[:, planes]
        padding = _constant(chosen) | (chosen < 0).any(axis=-1)
        row = ~padding.any(axis=1)
        valid[start : start + len(ids)] = row
        ordered = np.sort(chosen[row], axis=-1)
        repeated += int((ordered[..., 1:] == ordered[..., :-1]).any(axis=-1).sum())
        if progress is not None:
            progress("checking ids", len(ids), selections.shape[0])
    return valid, repeated


def _check_range(trace: RoutingTrace, highest: int, experts: int | None) -> None:
    if experts is None:
        return
    if highest >= experts:
        raise DataError(
            f"{trace.label}: expert id {highest} in a model of {experts} experts: another model, "
            "or physical ids with redundant experts"
        )


def _wraps(trace: RoutingTrace, experts: int | None) -> bool:
    return experts is not None and experts > 256 and trace.selections.dtype.itemsize == 1


def _repeats(trace: RoutingTrace, repeated: int, rows: int, experts: int | None) -> str:
    dtype: np.dtype[Any] = trace.selections.dtype
    message = f"{trace.label}: {repeated:,} of {rows:,} rows repeat an id, which no router does"
    if _wraps(trace, experts):
        return (
            f"{message}: ids of N = {experts} experts wrapped around in {dtype}; the file is lost"
        )
    return f"{message}: the ids ({dtype}) are corrupt, or are something else; the file is refused"


def _parts(
    trace: RoutingTrace, planes: tuple[int, ...], valid: Flags
) -> tuple[tuple[Part, ...], tuple[bytes, ...]]:
    parts, keys = [], []
    for runs in trace.sequences:
        split = tuple(piece for run in runs for piece in _valid_runs(valid, run))
        if split:
            parts.append(Part(trace.selections, planes, split))
            keys.append(_key(parts[-1]))
    return tuple(parts), tuple(keys)


def _valid_runs(valid: Flags, run: RowRange) -> Iterator[RowRange]:
    """Stretches without padding inside a run."""
    inside = np.concatenate([[False], valid[run[0] : run[1]], [False]])
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + run[0]
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _key(part: Part) -> bytes:
    total = hashlib.sha256()
    _, planes, width = part.selections.shape
    step = max(1, PIECE_IDS // (planes * width))
    for start, stop in part.runs:
        for first in range(start, stop, step):
            ids = part.selections.rows(first, min(first + step, stop))[:, list(part.planes)]
            total.update(ids.astype(np.int32).tobytes())
    return total.digest()
