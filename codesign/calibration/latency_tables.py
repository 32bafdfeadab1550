"""Tables of a latency section: what was measured, what follows, how well it is fitted."""

from collections.abc import Sequence

import numpy as np

from codesign.calibration.draft_runs import best_draft_tokens, outcomes, ratio_line
from codesign.calibration.kernel_fit import KernelFit
from codesign.calibration.latency_fit import ConstantsFit
from codesign.calibration.latency_points import STEP_TIMES, LatencyPoint
from codesign.calibration.moesd_fit import MoesdFit, rows_of
from codesign.calibration.observation import DraftRun
from codesign.model.arrays import FloatArray
from codesign.spec.section import Cell, Table


def points_table(points: Sequence[LatencyPoint]) -> Table:
    """Every point with its meaning."""
    rows: list[tuple[Cell, ...]] = [
        (
            shown(point.source),
            point.meaning,
            whole(point.batch_size),
            whole(point.draft_tokens),
            whole(point.context),
            point.seconds * 1e3,
            ms(point.median_seconds),
            ms(point.token_seconds),
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
                whole(point.batch_size),
                whole(point.draft_tokens),
                whole(point.context),
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
            whole(point.batch_size),
            whole(point.draft_tokens),
            whole(point.context),
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


def kernel_table(fit: KernelFit) -> Table:
    """Kernel times against floor + time per expert + time per token."""
    fitted, every = ((1 + one.residuals) * fit.seconds for one in (fit.fit, fit.reading_every_pair))
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
            whole(o.run.batch_size), o.run.draft_tokens, o.run.tokens_per_s,
            o.run.acceptance_length, ms(o.cycle), o.ratio, o.speedup,
        )
        for o in found
    ]  # fmt: skip
    columns = (
        "B", "K", "tokens_per_s", "AL", "cycle [ms]", "cycle_ratio", "speedup",
    )  # fmt: skip
    best: list[tuple[Cell, ...]] = []
    for batch in sorted({run.batch_size for run in runs}):
        line = ratio_line(found, batch) or (None, None)
        best.append((whole(batch), best_draft_tokens(runs, batch), *line))
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


def ms(seconds: float | None) -> float | None:
    """Return seconds as milliseconds."""
    return None if seconds is None else seconds * 1e3


def whole(value: float | None) -> float | int | None:
    """A count as a whole number where it is one."""
    return int(value) if value is not None and value == round(value) else value
