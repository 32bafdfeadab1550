"""Routing sections from what was fitted."""

from collections.abc import Sequence

import numpy as np

from codesign.calibration.options import CalibrationOptions
from codesign.calibration.router.counts_fit import SIZES
from codesign.calibration.router.estimate import RouterEstimate
from codesign.calibration.router.table_fit import TableFit
from codesign.calibration.router.tables import Fitted, Row, routing_tables, unique_row
from codesign.calibration.router.trace import LocalityTable
from codesign.model.arrays import FloatArray
from codesign.model.latent_router import unique_experts_popularity_only
from codesign.model.routing import overlap_independent, unique_experts_independent
from codesign.spec.calibration import LayerRouting, RoutingSection
from codesign.spec.section import Parameter, Residual, Source, Table


def trace_section(
    fitted: Fitted,
    sources: Sequence[Source],
    notes: Sequence[str],
    warnings: Sequence[str],
    options: CalibrationOptions,
) -> RoutingSection:
    """Return the section of traces that keep the order of tokens."""
    tables, residual = routing_tables(fitted)
    estimate = fitted.estimate
    return RoutingSection(
        date=options.day.isoformat(),
        sources=tuple(sources),
        samples=int(fitted.cells.tokens.sum()),
        samples_unit=(
            f"tokens of {fitted.cells.sequences:,} sequences in {len(fitted.layers)} layers"
        ),
        residual=residual,
        parameters=estimate.parameters(),
        correlations=estimate.correlations(),
        defaults=estimate.defaults,
        notes=tuple(notes),
        warnings=(*warnings, *estimate.warnings),
        tables=tables,
        experts=fitted.cells.experts,
        top_k=fitted.cells.top_k,
        window_correlations=estimate.window_correlations(),
        layers=_layers(fitted.layers, fitted.layer_estimates),
    )


def _layers(layers: Sequence[int], estimates: Sequence[RouterEstimate]) -> tuple[LayerRouting, ...]:
    return tuple(
        LayerRouting(
            layer=layer,
            parameters=estimate.parameters(),
            window_correlations=estimate.window_correlations(),
        )
        for layer, estimate in zip(layers, estimates, strict=True)
        if estimate.parameters()
    )


def counts_section(
    counts: FloatArray,
    top_k: int,
    layers: Sequence[int],
    estimates: Sequence[RouterEstimate],
    sources: Sequence[Source],
    notes: Sequence[str],
    warnings: Sequence[str],
    options: CalibrationOptions,
    samples: tuple[int, str],
) -> RoutingSection:
    """Return the section of counts, whose first estimate is of all layers together."""
    pooled, *by_layer = estimates
    tables = _counts_tables(counts, top_k, layers, pooled)
    return RoutingSection(
        date=options.day.isoformat(),
        sources=tuple(sources),
        samples=samples[0],
        samples_unit=samples[1],
        residual=_residual(tables[0].rows),
        parameters=pooled.parameters(),
        correlations=pooled.correlations(),
        defaults=pooled.defaults,
        notes=tuple(notes),
        warnings=tuple(warnings),
        tables=tables,
        experts=counts.shape[1],
        top_k=top_k,
        layers=_layers(layers, by_layer),
    )  # fmt: skip


def _counts_tables(
    counts: FloatArray, top_k: int, layers: Sequence[int], pooled: RouterEstimate
) -> tuple[Table, Table]:
    experts = counts.shape[1]
    chosen = np.minimum(top_k * counts / counts.sum(axis=1, keepdims=True), 1.0)
    batches = []
    for size in SIZES:
        measured = float(unique_experts_independent(chosen, size).mean())
        fitted = float(unique_experts_popularity_only(experts, top_k, size, pooled.router))
        batches.append(unique_row((size,), measured, size, chosen, top_k, fitted))
    popularity: list[Row] = [
        (layer, round(float(overlap_independent(row)), 6),
         round(float(row.max() * experts / top_k), 6), int((row == 0).sum()))
        for layer, row in zip(layers, chosen, strict=True)
    ]  # fmt: skip
    return (
        Table(
            name="unique_by_batch", title="Unique experts of B independent tokens",
            columns=("B", "measured", "uniform", "independent", "fitted"), rows=tuple(batches),
        ),
        Table(
            name="popularity", title="Popularity", rows=tuple(popularity),
            columns=("layer", "overlap independent", "most popular / uniform", "never used"),
        ),
    )  # fmt: skip


def table_section(
    table: LocalityTable, fit: TableFit, sources: Sequence[Source], options: CalibrationOptions
) -> RoutingSection:
    """Return the section of a published table."""
    router = fit.router
    values = {
        "popularity": (router.popularity, fit.popularity_error), "request": (router.request, None),
        "recency": (router.recency, None), "decay": (router.decay, None),
    }  # fmt: skip
    tables = _published_tables(table, fit)
    return RoutingSection(
        date=options.day.isoformat(),
        sources=tuple(sources),
        samples=len(table.unique_by_batch) + len(table.overlap_by_lag),
        samples_unit="figures of a table",
        residual=_residual(tables[0].rows),
        parameters={
            name: Parameter(value=float(value), standard_error=error)
            for name, (value, error) in values.items()
            if name not in fit.defaults
        },
        defaults=fit.defaults,
        warnings=(
            "fitted in the published closed form (a fixed threshold), as the generic router was; "
            "errors of a table's figures are not known",
        ),
        tables=tuple(each for each in tables if each.rows),
        experts=table.experts,
        top_k=table.top_k,
    )  # fmt: skip


def _published_tables(table: LocalityTable, fit: TableFit) -> tuple[Table, ...]:
    size = (table.experts, table.top_k)
    batches: list[Row] = [
        (batch, measured, round(fit.unique(*size, batch, 1), 4))
        for batch, measured in sorted(table.unique_by_batch.items())
    ]
    windows: list[Row] = [(q, round(fit.unique(*size, 1, q), 4)) for q in (2, 4, 8, 16)]
    lags: list[Row] = [
        (lag, table.overlap_by_lag[lag], round(r, 6)) for lag, r in fit.correlation.items()
    ]
    return (
        Table(
            name="unique_by_batch", title="Unique experts of B independent tokens",
            columns=("B", "measured", "fitted"), rows=tuple(batches),
        ),
        Table(
            name="unique_by_window", title="Unique experts of q consecutive tokens (predicted)",
            columns=("q", "fitted"), rows=tuple(windows),
        ),
        Table(
            name="overlap_by_lag", title="Overlap of two tokens of a sequence",
            columns=("lag", "measured", "r"), rows=tuple(lags),
        ),
    )  # fmt: skip


def _residual(rows: Sequence[Row]) -> Residual | None:
    """Root mean square relative error of a fit; rows end in measured ... fitted."""
    pairs = [(float(row[-1] or 0), float(row[1] or 0)) for row in rows]
    if not pairs:
        return None
    error = np.sqrt(np.mean([(fit / measured - 1.0) ** 2 for fit, measured in pairs]))
    return Residual(
        value=round(float(error), 6),
        meaning="root mean square relative error of unique experts by batch size",
    )
