"""Tables of a routing section: measured next to uniform, independent and fitted."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from codesign.calibration.router.cells import LAGS, WINDOWS, Cells
from codesign.calibration.router.estimate import RouterEstimate
from codesign.calibration.router.expected import expected_routing
from codesign.calibration.router.statistics import (
    Statistics,
    batch_sizes,
    unique_of_batches,
    unique_of_windows,
)
from codesign.model.arrays import FloatArray
from codesign.model.latent_router import unique_experts
from codesign.model.routing import (
    lag_correlation,
    overlap_independent,
    unique_experts_independent,
    unique_experts_uniform,
)
from codesign.spec.section import Cell, Residual, Table

COLUMNS: Final = ("measured", "uniform", "independent", "fitted")

Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Fitted:
    """A counted trace with its fits.

    Parameters
    ----------
    cells : Cells
    layers : tuple of int
        Numbers of the layers.
    pooled : Statistics
    by_layer : list of Statistics
    estimate : RouterEstimate
        Of all layers together.
    layer_estimates : list of RouterEstimate
    """

    cells: Cells
    layers: tuple[int, ...]
    pooled: Statistics
    by_layer: list[Statistics]
    estimate: RouterEstimate
    layer_estimates: list[RouterEstimate]

    @property
    def chosen(self) -> FloatArray:
        """Probability that a token selects each expert, shape (layers, N) [-]."""
        return np.asarray(
            self.cells.selected.sum(axis=0, dtype=np.float64) / self.cells.tokens.sum()
        )

    def fitted(self, batch_size: int, window: int) -> float:
        """Unique experts of the fitted router [-]."""
        experts, top_k = self.cells.experts, self.cells.top_k
        return float(unique_experts(experts, top_k, batch_size, window, self.estimate.router))


def unique_row(
    load: tuple[Cell, ...],
    measured: float,
    tokens: int,
    chosen: FloatArray,
    top_k: int,
    fitted: float,
) -> Row:
    """Return one row: what was loaded, and what the baselines and the fit say of it."""
    experts = chosen.shape[1]
    uniform = float(unique_experts_uniform(experts, top_k, tokens))
    independent = float(unique_experts_independent(chosen, tokens).mean())
    return (*load, *(round(x, 4) for x in (measured, uniform, independent, fitted)))


def routing_tables(fitted: Fitted) -> tuple[tuple[Table, ...], Residual | None]:
    """Return the tables, and the error on windows and cells that were not fitted."""
    batches, windows, cells = _batch_rows(fitted), _window_rows(fitted), _cell_rows(fitted)
    tables = [
        Table(
            name="unique_by_batch", title="Unique experts of one token each of B sequences",
            columns=("B", *COLUMNS), rows=tuple(batches),
        ),
        Table(
            name="unique_by_window", title="Unique experts of q consecutive tokens (not fitted)",
            columns=("q", *COLUMNS), rows=tuple(windows),
        ),
        Table(
            name="unique_by_cell",
            title="Unique experts of q consecutive tokens each of B sequences (not fitted)",
            columns=("B", "q", *COLUMNS), rows=tuple(cells),
        ),
        Table(
            name="overlap_by_lag", title="Overlap of two tokens of a sequence",
            columns=("lag", *COLUMNS, "r", "standard error of r"), rows=tuple(_lag_rows(fitted)),
        ),
        Table(
            name="layers", title="Layers",
            columns=("layer", "overlap at lag 1", "overlap independent", "most popular / uniform",
                     "r_p", "r(1)", "r_w(4)"),
            rows=tuple(_layer_rows(fitted)),
        ),
    ]  # fmt: skip
    return tuple(table for table in tables if table.rows), _residual(windows, cells)


def _batch_rows(fitted: Fitted) -> list[Row]:
    sizes = batch_sizes(fitted.cells.groups)
    return [
        unique_row((size,), value, size, fitted.chosen, fitted.cells.top_k, fitted.fitted(size, 1))
        for size, value in zip(sizes, fitted.pooled.unique.tolist(), strict=True)
    ]


def _window_rows(fitted: Fitted) -> list[Row]:
    return [
        unique_row(
            (window,), value, window, fitted.chosen, fitted.cells.top_k, fitted.fitted(1, window)
        )
        for window, value in zip(WINDOWS, unique_of_windows(fitted.cells).tolist(), strict=True)
        if np.isfinite(value)
    ]


def _cell_rows(fitted: Fitted) -> list[Row]:
    return [
        unique_row(
            (size, window), value, size * window, fitted.chosen, fitted.cells.top_k,
            fitted.fitted(size, window),
        )
        for window in WINDOWS
        for size, value in unique_of_batches(fitted.cells, window).items()
    ]  # fmt: skip


def _lag_rows(fitted: Fitted) -> list[Row]:
    cells, estimate = fitted.cells, fitted.estimate
    router = estimate.router
    lags = np.array(LAGS[: estimate.correlation.shape[1]], dtype=np.float64)
    if not lags.size:
        return []
    expected = expected_routing(cells.experts, cells.top_k, batch_sizes(cells.groups))
    own = np.array([float(router.popularity)]), np.array([float(router.skew)])
    modelled = expected.overlap(*own, lag_correlation(router, lags)[None])[0]
    independent = round(float(overlap_independent(fitted.chosen).mean()), 6)
    errors = estimate.correlation[1:].std(axis=0, ddof=1) if len(estimate.correlation) > 2 else None
    return [
        (
            LAGS[index], round(float(fitted.pooled.overlap[index]), 6),
            round(cells.top_k / cells.experts, 6), independent, round(float(modelled[index]), 6),
            round(float(estimate.correlation[0, index]), 6),
            None if errors is None else round(float(errors[index]), 6),
        )
        for index in range(lags.size)
    ]  # fmt: skip


def _layer_rows(fitted: Fitted) -> list[Row]:
    rows: list[Row] = []
    uniform = fitted.cells.top_k / fitted.cells.experts
    for index, layer in enumerate(fitted.layers):
        chosen, estimate = fitted.chosen[index], fitted.layer_estimates[index]
        near = estimate.correlation[0, 0] if estimate.correlation.shape[1] else None
        window = estimate.window_correlations().get("4")
        known = "popularity" not in estimate.defaults
        rows.append(
            (
                layer, round(float(fitted.by_layer[index].overlap[0]), 6),
                round(float(overlap_independent(chosen)), 6),
                round(float(chosen.max() / uniform), 4),
                round(float(estimate.values["popularity"][0]), 4) if known else None,
                None if near is None else round(float(near), 4),
                None if window is None else round(window.value, 4),
            )
        )  # fmt: skip
    return rows


def _residual(windows: list[Row], cells: list[Row]) -> Residual | None:
    rows = [*windows, *cells]
    if not rows:
        return None
    return Residual(
        value=round(_mean_error(rows, COLUMNS.index("fitted")), 6),
        meaning=(
            "mean relative error of unique experts over windows and cells that were not fitted; of "
            f"independent tokens {_mean_error(rows, COLUMNS.index('independent')):.3g}"
        ),
    )


def _mean_error(rows: list[Row], column: int) -> float:
    figures = np.array([row[-len(COLUMNS) :] for row in rows], dtype=np.float64)
    return float(np.abs(figures[:, column] / figures[:, 0] - 1.0).mean())
