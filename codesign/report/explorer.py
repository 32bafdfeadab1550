"""Data of the interactive front: every figure of the space, packed small, and the marked designs.

The cloud travels as the open mesh it was evaluated on: a figure is stored only for the axes it
depends on, as 16-bit steps between its ends. Marked designs carry full numbers.
"""

import base64
import zlib
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from codesign.designs import AXES
from codesign.model.arrays import FloatArray
from codesign.prediction import FIGURES
from codesign.records import Record, plain
from codesign.report.cloud import EXPECTED, Cloud, Figures, Marked
from codesign.report.glossary import better, constraint_label, label, meaning, unit
from codesign.shown import SIGNED, UNITS

STEPS: Final = 2**16 - 1
WIDE: Final = 100.0
"""Positive figures that span more than this factor are stored by their logarithm."""

KEY_FIGURES: Final = (
    "sd_speedup", "sd_tpot_s", "sd_tokens_per_s_per_gpu", "total_params", "active_params",
    "loss_difference", "memory_bytes_per_gpu", "unique_experts_verify", "acceptance_length",
    "cycle_ratio",
)  # fmt: skip
"""Shown while pointing at a design; all of them where designs are compared."""


def explorer_data(result: Record, cloud: Cloud, marked: Marked) -> Record:
    """Return what the page's explorer draws.

    Parameters
    ----------
    result : dict
    cloud : Cloud
        Of the study's space.
    marked : Marked
        Front, best, reference and published shapes.
    """
    names = list(cloud.figures.columns)
    packed = _Packed()
    columns = [
        _described(name, names) | packed.add(np.asarray(cloud.figures.columns[name]))
        for name in names
    ]
    violations = [
        {"label": constraint_label(name)} | packed.add(np.asarray(mask, dtype=np.float64))
        for name, mask in cloud.figures.violations.items()
    ]
    return {
        "axes": {axis: list(values) for axis, values in cloud.axes.items()},
        "columns": columns,
        "violations": violations,
        "blob": packed.blob(),
        "marked": _marked(marked, names),
        "x": names.index(_shown_as(result["front_objectives"][1], names)),
        "y": names.index(_shown_as(result["front_objectives"][0], names)),
        "pair": len(result["front_objectives"]) == 2,
        "whole": cloud.whole,
        "shown": cloud.shown,
    }


def _shown_as(objective: str, names: list[str]) -> str:
    return EXPECTED + objective if EXPECTED + objective in names else _figure_name(objective)


def _figure_name(objective: str) -> str:
    return next((n for n, f in FIGURES.items() if f.alias == objective), objective)


def _described(name: str, names: list[str]) -> Record:
    """How a column is named and shown."""
    plain_name = name.removeprefix(EXPECTED)
    shown_as = unit(plain_name)
    factor, suffix = UNITS.get(shown_as, (1.0, ""))
    drawn = name != plain_name
    told = ", expected over the draws" if drawn else ""
    if EXPECTED + name in names:
        told = ", values in use"
    return {
        "name": name,
        "label": label(plain_name) + told,
        "meaning": "" if drawn else meaning(plain_name),
        "factor": factor,
        "suffix": suffix,
        "signed": shown_as in SIGNED,
        "better": better(plain_name),
        "key": drawn or name in KEY_FIGURES,
    }


class _Packed:
    """Arrays one after the other, as 16-bit steps between the ends of each."""

    def __init__(self) -> None:
        self._parts: list[NDArray[np.uint16]] = []
        self._places: dict[bytes, int] = {}
        self._length = 0

    def add(self, values: FloatArray) -> Record:
        """Append an array; return where it is and what its steps mean.

        Proportional figures, such as tokens/s of a replica and of a GPU, share their steps.
        """
        finite = np.where(np.isfinite(values), values, 0.0)
        low, high = float(finite.min()), float(finite.max())
        log = low > 0 and high / low > WIDE
        scaled = np.log(finite) if log else finite
        if log:
            low, high = float(np.log(low)), float(np.log(high))
        width = (high - low) or 1.0
        steps = np.rint((scaled - low) / width * STEPS).astype("<u2").reshape(-1)
        place = self._places.setdefault(steps.tobytes(), self._length)
        if place == self._length:
            self._parts.append(steps)
            self._length += steps.size
        return {
            "shape": list(values.shape), "at": place, "low": low, "width": width, "log": log,
        }  # fmt: skip

    def blob(self) -> str:
        """Return everything: low bytes, then high bytes, compressed, as base64."""
        every = np.concatenate(self._parts)
        planes = np.concatenate([every & 0xFF, every >> 8]).astype(np.uint8)
        return base64.b64encode(zlib.compress(planes.tobytes(), 6)).decode()


def _marked(marked: Marked, names: list[str]) -> Record:
    figures = marked.figures
    return {
        "kind": marked.kinds,
        "name": marked.names,
        "design": {axis: _list(getattr(figures.designs, axis), figures) for axis in AXES},
        "values": _shared([_list(figures.columns[name], figures) for name in names]),
        "violated": [
            [int(n) for n in np.flatnonzero(row)]
            for row in np.stack(
                [np.broadcast_to(m, figures.designs.shape) for m in figures.violations.values()],
                axis=1,
            )
        ] if figures.violations else [[] for _ in marked.kinds],
    }  # fmt: skip


def _shared(columns: list[list[Any]]) -> list[list[Any] | int]:
    """Columns, or the position of an earlier one with the same values."""
    first: dict[str, int] = {}
    places = [first.setdefault(repr(column), place) for place, column in enumerate(columns)]
    return [
        column if place == own else own
        for place, (column, own) in enumerate(zip(columns, places, strict=True))
    ]


def _list(values: FloatArray, figures: Figures) -> list[Any]:
    """Numbers of the marked designs, with more digits than are ever shown."""
    full = np.broadcast_to(values, figures.designs.shape)
    return [plain(float(f"{value:.6g}")) for value in full]
