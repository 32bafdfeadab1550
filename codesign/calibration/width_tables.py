"""Tables on how the time of a pass grows with its width."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from codesign.calibration.latency_tables import ms, whole
from codesign.calibration.width_curves import WidthCurve
from codesign.model.acceptance import acceptance_length, decay_survival
from codesign.spec.draft import DEFAULT_ACCEPTANCE
from codesign.spec.section import Cell, Table

LONGEST: Final = 8
"""Draft tokens up to which a gain is looked for."""

SHOWN_WIDTHS: Final = 16
"""Widths up to which unmeasured passes are predicted too."""


def width_tables(curves: Sequence[WidthCurve], shape: tuple[int, int] | None) -> list[Table]:
    """Jump after one token, slope beyond, and passes of every width."""
    told = [curve for curve in curves if curve.ratio is not None or curve.slope is not None]
    if not told:
        return []
    columns = (
        "B", "context", "T(2)/T(1)", "bound", "line at 0 [ms]", "slope [ms/token]", "T(1) [ms]",
        "T(1) off curve [ms]", "verdict",
    )  # fmt: skip
    tables = [
        Table(
            name="width_curves",
            title=(
                "Growth of a pass with its width (bound: of T(2)/T(1), if all of the pass were "
                "reading weights)"
            ),
            columns=columns,
            rows=tuple(_width_row(curve) for curve in told),
        )
    ]
    rows = [row for curve in told for row in _passes(curve, shape)]
    if rows:
        tables.append(
            Table(
                name="passes",
                title="Passes by width, measured and from the curve of two tokens and more",
                columns=("B", "width", "measured [ms]", "curve [ms]", "residual [%]"),
                rows=tuple(rows),
            )
        )
    tables += _verification(told, shape)
    return tables


def _width_row(curve: WidthCurve) -> tuple[Cell, ...]:
    return (
        whole(curve.batch_size), whole(curve.context), curve.ratio, curve.bound,
        ms(curve.intercept), ms(curve.slope),
        float(curve.seconds[0]) * 1e3 if curve.widths[0] == 1 else None,
        ms(curve.decode_gap), _short(curve),
    )  # fmt: skip


def _short(curve: WidthCurve) -> str:
    told = []
    if _beyond_weights(curve):
        told.append("outside overlap")
    if curve.separate_decode:
        told.append("own decode kernel")
    return ", ".join(told) or "within weight traffic"


def _beyond_weights(curve: WidthCurve) -> bool:
    return curve.ratio is not None and curve.bound is not None and curve.ratio > curve.bound


def verdict(curve: WidthCurve) -> str:
    """Say what of the curve weight traffic does not explain; nothing where it explains all."""
    told = []
    if _beyond_weights(curve):
        told.append(
            f"T(2)/T(1) = {curve.ratio:.3g} exceeds {curve.bound:.4g}, the most that reading "
            "weights can make of it: the rest is outside expert overlap (another kernel, a floor)"
        )
    if curve.separate_decode and curve.decode_gap is not None:
        side = "below" if curve.decode_gap < 0 else "above"
        told.append(
            f"one token runs a kernel of its own: {abs(curve.decode_gap) * 1e3:.3g} ms {side} what "
            "wider passes continue to"
        )
    return "; ".join(told)


def _passes(curve: WidthCurve, shape: tuple[int, int] | None) -> list[tuple[Cell, ...]]:
    most = int(curve.widths[-1])
    every = set(curve.widths.tolist())
    if most <= SHOWN_WIDTHS:
        every |= set(map(float, range(1, most + 1)))
    widths = np.array(sorted(every))
    predicted = curve.predicted(widths, shape)
    if predicted is None:
        return []
    measured = dict(zip(curve.widths.tolist(), curve.seconds.tolist(), strict=True))
    rows: list[tuple[Cell, ...]] = []
    for width, seconds in zip(widths.tolist(), predicted.tolist(), strict=True):
        seen = measured.get(width)
        residual = (seconds / seen - 1) * 100 if seen else None
        rows.append((whole(curve.batch_size), int(width), ms(seen), seconds * 1e3, residual))
    return rows


def _verification(curves: Sequence[WidthCurve], shape: tuple[int, int] | None) -> list[Table]:
    """What verification costs and can gain at each number of tokens, compute share beside it."""
    rows = [row for curve in curves for row in _gains(curve, shape)]
    if not rows:
        return []
    columns = ("tokens", "time [ms]", "compute share [%]", "T(2m)/T(m)", "best K", "speedup")
    title = (
        "What speculative decoding can gain at most: the draft for nothing, acceptance "
        f"{DEFAULT_ACCEPTANCE.form} {DEFAULT_ACCEPTANCE.values} (K = 0: no gain)"
    )
    return [Table(name="verification", title=title, columns=columns, rows=tuple(rows))]


def _gains(curve: WidthCurve, shape: tuple[int, int] | None) -> list[tuple[Cell, ...]]:
    known = dict(zip(curve.widths.tolist(), curve.seconds.tolist(), strict=True))
    most = float(curve.widths[-1])
    first, ratio = DEFAULT_ACCEPTANCE.values
    length = acceptance_length(decay_survival(first, ratio, LONGEST), np.arange(LONGEST + 1))
    rows: list[tuple[Cell, ...]] = []
    for width, seconds in known.items():
        wider = np.arange(1, LONGEST + 1) + 1.0
        wider = wider[wider * width <= most] * width
        fitted = curve.predicted(wider, shape)
        if fitted is None or not wider.size:
            continue
        passes = [known.get(w, f) for w, f in zip(wider.tolist(), fitted.tolist(), strict=True)]
        speedups = [1.0, *(float(length[k + 1]) * seconds / t for k, t in enumerate(passes))]
        best = int(np.argmax(speedups))
        share = None
        if curve.curve is not None:
            computed = float(curve.curve.coefficients[2]) * width * curve.batch_size
            share = computed / seconds * 100
        tokens = int(width * curve.batch_size)
        rows.append((tokens, seconds * 1e3, share, passes[0] / seconds, best, speedups[best]))
    return rows
