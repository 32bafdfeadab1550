"""Tables of a latency section: what was measured, what follows, how well it is fitted."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from codesign.calibration.draft_runs import best_draft_tokens, outcomes, ratio_line
from codesign.calibration.kernel_fit import KernelFit
from codesign.calibration.latency_fit import ConstantsFit
from codesign.calibration.latency_points import STEP_TIMES, LatencyPoint
from codesign.calibration.moesd_fit import MoesdFit, rows_of
from codesign.calibration.observation import DraftRun
from codesign.calibration.width_curves import WidthCurve
from codesign.model.acceptance import acceptance_length, decay_survival
from codesign.model.arrays import FloatArray
from codesign.spec.draft import DEFAULT_ACCEPTANCE
from codesign.spec.section import Cell, Table

LONGEST: Final = 8
"""Draft tokens up to which a gain is looked for."""

SHOWN_WIDTHS: Final = 16
"""Widths up to which unmeasured passes are predicted too."""


def points_table(points: Sequence[LatencyPoint]) -> Table:
    """Every point with its meaning."""
    rows: list[tuple[Cell, ...]] = [
        (
            shown(point.source),
            point.meaning,
            _whole(point.batch_size),
            _whole(point.draft_tokens),
            _whole(point.context),
            point.seconds * 1e3,
            _ms(point.median_seconds),
            _ms(point.token_seconds),
            point.acceptance_length,
            point.mean_batch_size,
            point.samples,
            ", ".join(point.missing) or None,
        )
        for point in points
    ]
    columns = (
        "source", "meaning", "B", "K", "context", "time [ms]", "by median [ms]",
        "per token [ms]", "AL", "mean B", "samples", "missing",
    )  # fmt: skip
    title = "Measured points (B batch size, K draft tokens, AL acceptance length)"
    return Table(name="points", title=title, columns=columns, rows=tuple(rows))


def ratios_table(points: Sequence[LatencyPoint]) -> Table | None:
    """Verification or cycle over the plain step of the same batch size and context."""
    rows: list[tuple[Cell, ...]] = []
    for point in points:
        plain = _plain(points, point)
        if plain is None:
            continue
        ratio = point.seconds / plain.seconds
        by_median = None
        if point.median_seconds and plain.median_seconds:
            by_median = point.median_seconds / plain.median_seconds
        length = point.acceptance_length
        rows.append(
            (
                point.meaning,
                _whole(point.batch_size),
                _whole(point.draft_tokens),
                _whole(point.context),
                ratio,
                by_median,
                1 / ratio,
                length,
                length / ratio if length else None,
            )
        )
    columns = (
        "meaning", "B", "K", "context", "ratio", "by medians", "target_efficiency", "AL", "speedup",
    )  # fmt: skip
    title = "Ratio to the step without speculative decoding"
    return Table(name="ratios", title=title, columns=columns, rows=tuple(rows)) if rows else None


def _plain(points: Sequence[LatencyPoint], point: LatencyPoint) -> LatencyPoint | None:
    if not point.draft_tokens or point.meaning not in STEP_TIMES or point.batch_size is None:
        return None
    return next(
        (
            other
            for other in points
            if other.draft_tokens == 0
            and other.batch_size == point.batch_size
            and other.context == point.context
            and (other.meaning == point.meaning)
        ),
        None,
    )


def residuals_table(points: Sequence[LatencyPoint], fit: ConstantsFit) -> Table:
    """Measured against fitted, and each point's error under a fit without it."""
    fitted = (1 + fit.residuals) * fit.coordinates.measured
    rows: list[tuple[Cell, ...]] = [
        (
            shown(point.source),
            _whole(point.batch_size),
            _whole(point.draft_tokens),
            _whole(point.context),
            point.seconds * 1e3,
            float(seconds) * 1e3,
            float(residual) * 100,
            float(left_out) * 100,
        )
        for point, seconds, residual, left_out in zip(
            points, fitted, fit.residuals, fit.left_out, strict=True
        )
    ]
    columns = (
        "source", "B", "K", "context", "measured [ms]", "fitted [ms]", "residual [%]",
        "left out [%]",
    )  # fmt: skip
    return Table(name="residuals", title="Fit of the step time", columns=columns, rows=tuple(rows))


def comparison_tables(fit: ConstantsFit, other: MoesdFit | None) -> list[Table]:
    """The component sum beside MoESD's form, on the same points."""
    if other is None:
        return []
    rows = (
        ("component sum", len(fit.choice.fitted), _rms(fit.residuals), _rms(fit.left_out)),
        ("MoESD (arXiv 2505.19645)", other.fitted, _rms(other.residuals), _rms(other.left_out)),
    )
    columns = ("form", "numbers fitted", "residual rms [%]", "left out rms [%]")
    title = "Two forms on the same points"
    return [
        Table(name="comparison", title=title, columns=columns, rows=rows),
        Table(
            name="moesd",
            title="MoESD's ten numbers",
            columns=("number", "value", "unit"),
            rows=tuple(tuple(row) for row in rows_of(other.parameters)),
        ),
    ]


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
        _whole(curve.batch_size), _whole(curve.context), curve.ratio, curve.bound,
        _ms(curve.intercept), _ms(curve.slope),
        float(curve.seconds[0]) * 1e3 if curve.widths[0] == 1 else None,
        _ms(curve.decode_gap), _short(curve),
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
        rows.append((_whole(curve.batch_size), int(width), _ms(seen), seconds * 1e3, residual))
    return rows


def _verification(
    curves: Sequence[WidthCurve], shape: tuple[int, int] | None
) -> list[Table]:
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
    length = acceptance_length(decay_survival(*DEFAULT_ACCEPTANCE.values, LONGEST), np.arange(LONGEST + 1))
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


def kernel_table(fit: KernelFit) -> Table:
    """Kernel times against floor + time per expert + time per token."""
    fitted, every = (
        (1 + one.residuals) * fit.seconds for one in (fit.fit, fit.reading_every_pair)
    )
    rows: list[tuple[Cell, ...]] = [
        (int(m), float(u), float(t) * 1e6, float(f) * 1e6, float(f / t - 1) * 100,
         float(e / t - 1) * 100)
        for m, u, t, f, e in zip(fit.tokens, fit.unique, fit.seconds, fitted, every, strict=True)
    ]  # fmt: skip
    columns = (
        "tokens", "unique_experts", "measured [us]", "fitted [us]", "residual [%]",
        "residual with min(N, m k) experts [%]",
    )  # fmt: skip
    title = "One routed-expert kernel, independent routing"
    return Table(name="kernel", title=title, columns=columns, rows=tuple(rows))


def draft_tables(runs: Sequence[DraftRun]) -> list[Table]:
    """Cycle, its ratio to a plain step and speedup by draft length; the best of each batch size."""
    if not runs:
        return []
    found = outcomes(runs)
    rows: list[tuple[Cell, ...]] = [
        (
            _whole(o.run.batch_size), o.run.draft_tokens, o.run.tokens_per_s,
            o.run.acceptance_length, _ms(o.cycle), o.ratio, o.speedup,
        )
        for o in found
    ]  # fmt: skip
    columns = (
        "B", "K", "tokens_per_s", "AL", "cycle [ms]", "cycle_ratio", "speedup",
    )  # fmt: skip
    best: list[tuple[Cell, ...]] = []
    for batch in sorted({run.batch_size for run in runs}):
        line = ratio_line(found, batch) or (None, None)
        best.append((_whole(batch), best_draft_tokens(runs, batch), *line))
    return [
        Table(name="draft_lengths", title="By draft length", columns=columns, rows=tuple(rows)),
        Table(
            name="best_draft_tokens",
            title="Best draft length measured, and R = a + b K",
            columns=("B", "K", "a", "b"),
            rows=tuple(best),
        ),
    ]


def shown(source: str) -> str:
    """Return a source without its folder; the section lists the files in full."""
    return source.rsplit("/", 1)[-1]


def _rms(residuals: FloatArray) -> float:
    return float(np.sqrt(np.mean(residuals**2))) * 100


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3


def _whole(value: float | None) -> float | int | None:
    """A count as a whole number where it is one."""
    return int(value) if value is not None and value == round(value) else value
