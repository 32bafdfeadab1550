"""Refit the effective-parameters law to a team's own ablations.

Losses of different groups (data, tokenizer, recipe) are not comparable, so only differences within
a group are fitted, and the error that counts is that on a group the fit has not seen.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import least_squares

from codesign.errors import CalibrationError, DataError
from codesign.model.arrays import FloatArray
from codesign.model.quality import EFFECTIVE_PARAMETERS, Interval, Law
from codesign.model.quality.laws import dense_loss, effective_parameters
from codesign.paths import read_whole

COLUMNS = ("group", "N", "k", "S", "d_expert", "d_shared", "total", "active", "D", "loss")
"""Columns the fit reads; others are left alone."""
ZERO = ("S", "d_shared")
"""Columns in which zero means something."""

MOST_BYTES: Final = 64 * 2**20

BOUNDS = ((0.0, 0.0, 1.0), (3.0, 3.0, 1e5))
"""Bounds of theta, eta and E_m; published fits lie near .65, .3 and 107."""
TYPICAL = np.array([0.6, 0.3, 100.0])
"""Where a fit starts, and the scale of its steps."""


class _Runs(NamedTuple):
    """Training runs as arrays; `group` counts from zero."""

    group: npt.NDArray[np.intp]
    total: FloatArray
    active: FloatArray
    active_experts: FloatArray
    training_tokens: FloatArray
    loss: FloatArray

    def take(self, rows: npt.NDArray[Any]) -> "_Runs":
        return _Runs(*(column[rows] for column in self))


@dataclass(frozen=True)
class EffectiveParametersFit:
    """Coefficients of `effective_parameters` fitted to ablations.

    Attributes
    ----------
    theta, eta, maximum : Interval
        Best value and 90 % interval from resampling whole groups.
    residual : float
        Root mean square within-group error of the fit [nats per token].
    left_out : mapping
        The same for each group, under a fit to the other groups.
    runs : int
        Rows used.
    """

    theta: Interval
    eta: Interval
    maximum: Interval
    residual: float
    left_out: Mapping[str, float]
    runs: int

    @property
    def law(self) -> Law:
        """The ensemble's member with these coefficients in place of the published ones."""
        return replace(EFFECTIVE_PARAMETERS, coefficients=(self.theta, self.eta, self.maximum))


def read_ablations(path: Path) -> pd.DataFrame:
    """Read ablations from a CSV file.

    Parameters
    ----------
    path : Path
        A CSV file with at least `COLUMNS`: counts and widths as in the design notes, `total` and
        `active` parameters (embeddings included, or left out of all), `D` tokens, `loss` nats.

    Returns
    -------
    DataFrame
        `COLUMNS` of every row.

    Raises
    ------
    DataError
        If the file is no CSV, a column is missing, or a number is missing or out of range.
    """
    try:
        raw = read_whole(path, MOST_BYTES, "a table of ablations")
        table = pd.read_csv(BytesIO(raw), dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read as CSV: {error}") from error
    missing = [column for column in COLUMNS if column not in table.columns]
    if missing:
        raise DataError(f"{path}: missing columns: {', '.join(missing)}")
    numbers: pd.DataFrame = table[list(COLUMNS[1:])].map(_number)
    values = numbers.to_numpy(dtype=np.float64)
    wrong = ~(np.isfinite(values) & (values >= 0)) | ((values == 0) & ~np.isin(COLUMNS[1:], ZERO))
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        name = COLUMNS[1 + column]
        kind = "zero or a positive number" if name in ZERO else "a positive number"
        raise DataError(
            f"{path}, line {row + 2}: {name} must be {kind}, not {table[name].iloc[row]!r}"
        )
    numbers["group"] = table["group"].astype(str)
    return numbers


def _number(text: str) -> float:
    """A number as it is written; whatever is none is NaN."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def fit_effective_parameters(
    ablations: pd.DataFrame, *, replicates: int = 200, seed: int = 0
) -> EffectiveParametersFit:
    """Fit theta, eta and E_m of `effective_parameters` to within-group loss differences.

    Parameters
    ----------
    ablations : DataFrame
        As `read_ablations` returns it. Groups of one run say nothing and are dropped.
    replicates : int
        Bootstrap replicates behind the intervals.
    seed : int
        Seed of the bootstrap.

    Returns
    -------
    EffectiveParametersFit
        Coefficients, intervals and errors.

    Raises
    ------
    CalibrationError
        If there are fewer than two groups, or no group varies what a coefficient is fitted from.

    Notes
    -----
    Least squares on losses less their group's mean. Every group has the same weight: a group's
    runs share a recipe, so a large group is not proportionally more evidence.
    """
    runs, names = _comparable_runs(ablations)
    best = _solve(runs)
    left_out = {
        str(name): _rms(_residuals(_solve(runs.take(runs.group != i)), runs.take(runs.group == i)))
        for i, name in enumerate(names)
    }
    draws = _bootstrap(runs, best, replicates, np.random.default_rng(seed))
    limits = np.percentile(np.vstack([draws, best]), [5, 95], axis=0)
    spread = np.sort(np.vstack([limits, best]), axis=0)  # the best value may lie at a limit
    theta, eta, maximum = (
        Interval(value, low, high)
        for value, (low, _, high) in zip(best.tolist(), spread.T.tolist(), strict=True)
    )
    residual = _rms(_residuals(best, runs))
    return EffectiveParametersFit(theta, eta, maximum, residual, left_out, runs.loss.size)


def _comparable_runs(ablations: pd.DataFrame) -> tuple[_Runs, npt.NDArray[Any]]:
    sizes = ablations.groupby("group")["loss"].transform("size")
    table = ablations[sizes > 1]
    names, group = np.unique(table["group"].to_numpy(dtype=str), return_inverse=True)
    if names.size < 2:
        raise CalibrationError(
            f"quality: {names.size} group(s) of two or more runs; the error on an unseen group "
            "needs at least two"
        )
    column = {name: table[name].to_numpy(dtype=np.float64) for name in COLUMNS[1:]}
    active_experts = column["k"] + column["S"] * column["d_shared"] / column["d_expert"]
    runs = _Runs(
        group, column["total"], column["active"], active_experts, column["D"], column["loss"]
    )
    for varied, what in (
        (runs.total / runs.active, "total/active (theta and E_m are fitted from it)"),
        (runs.active_experts, "k + S (eta is fitted from it)"),
    ):
        if np.allclose(_centred(varied, group), 0, atol=1e-9 * np.max(varied)):
            raise CalibrationError(f"quality: no group has runs that differ in {what}")
    return runs, names


def _solve(runs: _Runs, start: FloatArray = TYPICAL) -> FloatArray:
    """Best theta, eta and E_m."""
    weights = 1 / np.sqrt(np.bincount(runs.group)[runs.group])

    def weighted(coefficients: FloatArray) -> FloatArray:
        return weights * _residuals(coefficients, runs)

    fit = least_squares(weighted, start, bounds=BOUNDS, x_scale=TYPICAL)
    return np.asarray(fit.x, dtype=np.float64)


def _residuals(coefficients: FloatArray, runs: _Runs) -> FloatArray:
    """Predicted less measured loss, each less its group's mean [nats per token]."""
    size = effective_parameters(runs.total, runs.active, runs.active_experts, *coefficients)
    return _centred(np.asarray(dense_loss(size, runs.training_tokens)) - runs.loss, runs.group)


def _bootstrap(
    runs: _Runs, best: FloatArray, replicates: int, generator: np.random.Generator
) -> FloatArray:
    """Fits to as many groups as there are, drawn with replacement, (replicates, 3)."""
    members = [np.flatnonzero(runs.group == i) for i in range(runs.group.max() + 1)]
    fits = []
    for chosen in generator.integers(len(members), size=(replicates, len(members))):
        rows = np.concatenate([members[i] for i in chosen])
        copies = np.repeat(np.arange(chosen.size), [members[i].size for i in chosen])
        fits.append(_solve(runs.take(rows)._replace(group=copies), best))
    return np.array(fits).reshape(replicates, 3)


def _centred(values: FloatArray, group: npt.NDArray[np.intp]) -> FloatArray:
    means = np.bincount(group, values) / np.maximum(np.bincount(group), 1)
    return values - means[group]


def _rms(values: FloatArray) -> float:
    return float(np.sqrt(np.mean(values**2)))
