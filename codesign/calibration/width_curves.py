"""How the time of a pass grows with its width: the jump after one token, and the slope beyond.

A decode step often runs a kernel of its own, so that the first point lies below what the wider
passes continue to; it is shown as a residual and kept out of the curve.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from codesign.calibration.kernel_fit import AffineFit, fit_affine
from codesign.calibration.latency_points import LatencyPoint
from codesign.model.arrays import FloatArray
from codesign.model.routing import unique_experts_uniform

APART: Final = 0.10
"""A decode step this far off the wider passes' curve, relatively, runs a kernel of its own."""

WITHIN_SCATTER: Final = 3.0
"""Or so many times the scatter of the wider passes, if that is more."""


@dataclass(frozen=True)
class WidthCurve:
    """Passes of one batch size and context, by width.

    Parameters
    ----------
    batch_size : float
    context : float, optional
    widths, seconds : ndarray
        q and measured time [s], ascending, repeats averaged.
    intercept, slope : float, optional
        Line through the passes of two tokens and more [s], [s/token].
    curve : AffineFit, optional
        In unique experts and tokens, where N and k are known and there are points enough.
    unique : ndarray, optional
        Experts that independent tokens load at each width.
    ratio, bound : float, optional
        T(2) / T(1), and the most that reading weights can make of it.
    decode_gap : float, optional
        Measured time of one token less what wider passes continue to [s].
    separate_decode : bool
        Whether that gap is more than scatter.
    """

    batch_size: float
    context: float | None
    widths: FloatArray
    seconds: FloatArray
    intercept: float | None
    slope: float | None
    curve: AffineFit | None
    unique: FloatArray | None
    ratio: float | None
    bound: float | None
    decode_gap: float | None
    separate_decode: bool

    def predicted(self, widths: FloatArray, shape: tuple[int, int] | None) -> FloatArray | None:
        """Return the time of passes of two tokens and more [s]; nothing where none is fitted."""
        if self.curve is not None and shape is not None:
            tokens = self.batch_size * widths
            return self.curve.seconds(tokens, unique_experts_uniform(*shape, tokens))
        if self.slope is None or self.intercept is None:
            return None
        return np.asarray(self.intercept + self.slope * widths)


def width_curves(points: Sequence[LatencyPoint], shape: tuple[int, int] | None) -> list[WidthCurve]:
    """Return a curve for every batch size and context at which several widths were timed.

    Parameters
    ----------
    points : sequence of LatencyPoint
        Of which only passes without draft count.
    shape : (int, int), optional
        N and k of the model.
    """
    groups: dict[tuple[float, float | None], list[LatencyPoint]] = {}
    for point in points:
        timed = point.meaning in ("target pass", "step") or point.draft_tokens == 0
        if timed and point.batch_size is not None and point.draft_tokens is not None:
            groups.setdefault((point.batch_size, point.context), []).append(point)
    curves = []
    for (batch, context), group in groups.items():
        widths = np.array([1.0 + (point.draft_tokens or 0.0) for point in group])
        distinct = np.unique(widths)
        if distinct.size < 2:
            continue
        times = np.array([point.seconds for point in group])
        mean = np.array([times[widths == width].mean() for width in distinct])
        curves.append(_curve(batch, context, distinct, mean, shape))
    return curves


def _curve(
    batch: float, context: float | None, widths: FloatArray, seconds: FloatArray,
    shape: tuple[int, int] | None,
) -> WidthCurve:  # fmt: skip
    wide = widths > 1
    unique = None if shape is None else unique_experts_uniform(*shape, batch * widths)
    intercept = slope = curve = None
    if wide.sum() >= 2:
        slope, intercept = _line(widths[wide], seconds[wide])
    if unique is not None and wide.sum() >= 4:
        curve = fit_affine(batch * widths[wide], unique[wide], seconds[wide])
    partial = WidthCurve(
        batch, context, widths, seconds, intercept, slope, curve, unique, None, None, None, False
    )
    ratio, bound = _first_step(widths, seconds, unique)
    gap, separate = _decode(partial, shape)
    return WidthCurve(
        batch,
        context,
        widths,
        seconds,
        intercept,
        slope,
        curve,
        unique,
        ratio,
        bound,
        gap,
        separate,
    )


def _line(widths: FloatArray, seconds: FloatArray) -> tuple[float, float]:
    """Slope and intercept by relative error."""
    design = np.stack([widths, np.ones_like(widths)], axis=1) / seconds[:, None]
    slope, intercept = np.linalg.lstsq(design, np.ones_like(widths), rcond=None)[0]
    return float(slope), float(intercept)


def _first_step(
    widths: FloatArray, seconds: FloatArray, unique: FloatArray | None
) -> tuple[float | None, float | None]:
    if not {1.0, 2.0} <= set(widths.tolist()):
        return None, None
    one, two = np.flatnonzero(widths == 1)[0], np.flatnonzero(widths == 2)[0]
    bound = 2.0 if unique is None else float(unique[two] / unique[one])
    return float(seconds[two] / seconds[one]), bound


def _decode(curve: WidthCurve, shape: tuple[int, int] | None) -> tuple[float | None, bool]:
    """How far one token lies off what the wider passes continue to."""
    wide = curve.widths > 1
    if curve.widths[0] != 1 or wide.sum() < 3:
        return None, False
    expected = curve.predicted(np.array([1.0]), shape)
    fitted = curve.predicted(curve.widths[wide], shape)
    assert expected is not None and fitted is not None
    gap = float(curve.seconds[0] - expected[0])
    freedom = max(int(wide.sum()) - (3 if curve.curve is not None else 2), 1)
    scatter = np.sqrt(np.sum((fitted / curve.seconds[wide] - 1) ** 2) / freedom)
    relative = abs(gap) / curve.seconds[0]
    return gap, bool(relative > max(APART, WITHIN_SCATTER * float(scatter)))
