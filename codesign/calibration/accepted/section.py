"""The acceptance section: what is used, what it rests on, where it is extrapolated."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from codesign.calibration.accepted.groups import Group
from codesign.calibration.accepted.survival_fit import Rates
from codesign.calibration.options import CalibrationOptions
from codesign.model.acceptance import (
    acceptance_length,
    constant_survival,
    decay_survival,
    measured_survival,
)
from codesign.model.arrays import FloatArray
from codesign.spec.calibration import AcceptanceForm, AcceptanceGroup, AcceptanceSection
from codesign.spec.section import Cell, Correlation, Parameter, Residual, Source, Table

LONGEST_SHOWN: Final = 8
Row = tuple[Cell, ...]


@dataclass(frozen=True)
class AcceptanceFit:
    """Fitted acceptance.

    Parameters
    ----------
    form : {"positions", "decay", "constant"}
        What the model uses.
    survival, survival_error : ndarray, shape (positions,)
        Non-increasing; empty where positions cannot be told; errors NaN where not known [-].
    constant : Rates
    decay : Rates, optional
        Absent for a single position.
    observed : int
        Largest K seen.
    defaults : dict
    notes, warnings : tuple of str
    """

    form: AcceptanceForm
    survival: FloatArray
    survival_error: FloatArray
    constant: Rates
    decay: Rates | None
    observed: int
    defaults: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def saying(self, *, notes: Iterable[str] = (), warnings: Iterable[str] = ()) -> "AcceptanceFit":
        """Return the same with further notes and warnings."""
        return replace(
            self,
            notes=tuple(dict.fromkeys((*self.notes, *notes))),
            warnings=tuple(dict.fromkeys((*self.warnings, *warnings))),
        )

    def used(self, positions: int) -> FloatArray:
        """Survival that the model uses [-]."""
        if self.form == "positions":
            return measured_survival(self.survival, positions)
        if self.form == "decay" and self.decay is not None:
            return _decay_curve(self.decay, positions)
        return constant_survival(self.constant.values[0], positions)


def _decay_curve(rates: Rates, positions: int) -> FloatArray:
    first, ratio = rates.values
    return decay_survival(float(first), float(ratio), positions)


def acceptance_section(
    fit: AcceptanceFit,
    groups: Sequence[Group],
    series: Sequence[Row],
    sources: Sequence[Source],
    options: CalibrationOptions,
) -> AcceptanceSection:
    """Write down a fit."""
    counted = [group.drafts for group in groups if group.drafts]
    records = sum(group.records for group in groups)
    tables = [_group_table(groups), _position_table(fit), _length_table(fit, groups)]
    if series:
        tables.append(
            Table(
                name="series", title="Runs at one draft length each, against the monotone curve",
                columns=("list", "K", "measured", "fitted", "residual"), rows=tuple(series),
            )
        )  # fmt: skip
    return AcceptanceSection(
        date=options.day.isoformat(),
        sources=tuple(sources),
        samples=round(sum(counted)) if counted else records,
        samples_unit="drafts" if counted else "records without a count of drafts",
        residual=_residual(fit, groups),
        parameters=_parameters(fit),
        correlations=_correlations(fit),
        defaults=fit.defaults,
        notes=fit.notes,
        warnings=fit.warnings,
        tables=tuple(table for table in tables if table.rows),
        form=fit.form,
        survival=tuple(fit.survival.tolist()),
        groups=tuple(_group(group) for group in groups),
    )


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _parameters(fit: AcceptanceFit) -> dict[str, Parameter]:
    found = {}
    for index, (value, error) in enumerate(
        zip(fit.survival.tolist(), fit.survival_error.tolist(), strict=True), start=1
    ):
        found[f"survival_{index}"] = Parameter(value=value, standard_error=_number(error))
    for names, rates in ((("rate",), fit.constant), (("first", "ratio"), fit.decay)):
        if rates is None:
            continue
        errors = rates.errors
        for index, name in enumerate(names):
            if name not in fit.defaults:
                error = None if errors is None else float(errors[index])
                found[name] = Parameter(value=float(rates.values[index]), standard_error=error)
    return found


def _correlations(fit: AcceptanceFit) -> tuple[Correlation, ...]:
    if fit.decay is None or fit.decay.covariance is None or "ratio" in fit.defaults:
        return ()
    matrix = fit.decay.covariance
    scale = float(np.sqrt(matrix[0, 0] * matrix[1, 1]))
    if scale <= 0:
        return ()
    value = float(np.clip(matrix[0, 1] / scale, -1.0, 1.0))
    return (Correlation(first="first", second="ratio", value=round(value, 4)),)


def _group(group: Group) -> AcceptanceGroup:
    return AcceptanceGroup(
        draft_tokens=group.draft_tokens,
        drafts=group.drafts,
        acceptance_length=Parameter(
            value=group.length, standard_error=group.length_error, unit="token"
        ),
        survival=tuple(
            Parameter(value=value, standard_error=_number(error))
            for value, error in zip(
                group.survival.tolist(), group.survival_error.tolist(), strict=True
            )
        ),
    )


def _group_table(groups: Sequence[Group]) -> Table:
    rows: list[Row] = [
        (
            group.draft_tokens, None if group.drafts is None else round(group.drafts, 3),
            round(group.length, 6), group.length_error, group.records,
            " ".join(f"{share:.4f}" for share in group.survival) or None,
        )
        for group in groups
    ]  # fmt: skip
    return Table(
        name="groups", title="By draft length",
        columns=("K", "drafts", "acceptance length", "standard error", "records", "survival"),
        rows=tuple(rows),
    )  # fmt: skip


def _position_table(fit: AcceptanceFit) -> Table:
    size = fit.survival.size
    before = np.concatenate([[1.0], fit.survival[:-1]]) if size else fit.survival
    constant = constant_survival(fit.constant.values[0], size)
    decay = None if fit.decay is None else _decay_curve(fit.decay, size)
    rows: list[Row] = [
        (
            index + 1, round(float(fit.survival[index]), 6), _number(fit.survival_error[index]),
            round(float(fit.survival[index] / before[index]), 6) if before[index] > 0 else None,
            round(float(constant[index]), 6),
            None if decay is None else round(float(decay[index]), 6),
        )
        for index in range(size)
    ]  # fmt: skip
    return Table(
        name="positions", title="Accepted by position",
        columns=("position", "survival", "standard error", "conditional rate", "constant", "decay"),
        rows=tuple(rows),
    )  # fmt: skip


def _length_table(fit: AcceptanceFit, groups: Sequence[Group]) -> Table:
    longest = max(LONGEST_SHOWN, fit.observed)
    draft = np.arange(longest + 1)
    used = acceptance_length(fit.used(longest), draft)
    constant = acceptance_length(constant_survival(fit.constant.values[0], longest), draft)
    decay = None
    if fit.decay is not None:
        decay = acceptance_length(_decay_curve(fit.decay, longest), draft)
    measured = {group.draft_tokens: group.length for group in groups}
    rows: list[Row] = [
        (
            length, round(measured[length], 6) if length in measured else None,
            round(float(used[length]), 6), round(float(constant[length]), 6),
            None if decay is None else round(float(decay[length]), 6),
            "extrapolated" if length > fit.observed else "",
        )
        for length in range(1, longest + 1)
    ]  # fmt: skip
    return Table(
        name="acceptance_length", title=f"Acceptance length; the model uses {fit.form}",
        columns=("K", "measured", "used", "constant", "decay", "beyond the data"),
        rows=tuple(rows),
    )  # fmt: skip


def _residual(fit: AcceptanceFit, groups: Sequence[Group]) -> Residual | None:
    """Of the decaying rate where there is one: the measured curve itself has none to speak of."""
    known = [group for group in groups if group.draft_tokens]
    if not known:
        return None
    longest = max(group.draft_tokens or 0 for group in known)
    draft = np.array([group.draft_tokens for group in known], dtype=np.intp)
    lengths = np.array([group.length for group in known])
    curve = constant_survival(fit.constant.values[0], longest)
    if fit.decay is not None:
        curve = _decay_curve(fit.decay, longest)
    error = np.abs(acceptance_length(curve, draft) / lengths - 1.0).max()
    name = "constant" if fit.decay is None else "decaying"
    return Residual(
        value=round(float(error), 6),
        meaning=f"largest relative error of the acceptance length with a {name} rate",
    )
