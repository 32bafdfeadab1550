"""`calibrate acceptance`: read, merge, fit."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from codesign.calibration.accepted.groups import Group, disagreements, merged_groups
from codesign.calibration.accepted.records import AcceptanceRecord, Scrape
from codesign.calibration.accepted.scrapes import intervals
from codesign.calibration.accepted.section import AcceptanceFit, Row, acceptance_section
from codesign.calibration.accepted.survival_fit import (
    Rates,
    constant_rate,
    decaying_rate,
    first_rate_of_length,
    monotone_survival,
    rates_from_lengths,
)
from codesign.calibration.detect import read_files
from codesign.calibration.options import CalibrationOptions
from codesign.errors import CalibrationError, DataError
from codesign.model.acceptance import acceptance_length
from codesign.spec.calibration import AcceptanceSection
from codesign.spec.draft import DEFAULT_ACCEPTANCE

DEFAULT_RATIO: Final = DEFAULT_ACCEPTANCE.values[1]

LONGEST_DRAFT: Final = 256
TELLING_DRAFTS: Final = 100
"""Fewer drafts have the same counts by chance."""


def calibrate_acceptance(paths: Sequence[Path], options: CalibrationOptions) -> AcceptanceSection:
    """Fit how many drafted tokens are accepted.

    Parameters
    ----------
    paths : sequence of Path
        Metrics, logs, benchmark results, responses, or lists of acceptance lengths by K.
    options : CalibrationOptions
        Of which `draft_tokens` says K where a file does not.

    Raises
    ------
    DataError
        If a file is broken or not understood.
    CalibrationError
        If speculative decoding was off, or K is not known.
    """
    readings = read_files(paths, "acceptance", options)
    data = [item for reading in readings for item in reading.data]
    records = [item for item in data if isinstance(item, AcceptanceRecord)]
    records += intervals([item for item in data if isinstance(item, Scrape)])
    records, copies = _distinct(records)
    records = [_with_draft_tokens(record, options) for record in records]
    wild = next((r for r in records if (r.draft_tokens or 1) > LONGEST_DRAFT), None)
    if wild is not None:
        raise DataError(f"{wild.label}: {wild.draft_tokens} tokens per draft cannot be")
    if not records:
        raise CalibrationError(f"{paths[0]}: no drafts in it: speculative decoding was off")
    groups = merged_groups(records)
    fit = _fit(groups).saying(
        notes=[note for record in records for note in record.notes],
        warnings=[
            *(warning for record in records for warning in record.warnings),
            *copies,
            *disagreements(groups),
        ],
    )
    sources = [reading.source for reading in readings]
    return acceptance_section(fit, groups, _series(records), sources, options)


def _distinct(
    records: Sequence[AcceptanceRecord],
) -> tuple[list[AcceptanceRecord], list[str]]:
    """Drop runs that another file has too: the same counts are the same run."""
    seen: dict[tuple[float, float], AcceptanceRecord] = {}
    kept, copies = [], []
    for record in records:
        if (record.drafts or 0) >= TELLING_DRAFTS and record.accepted is not None:
            assert record.drafts is not None
            key = (round(record.drafts, 3), round(record.accepted, 3))
            first = seen.setdefault(key, record)
            if first.file != record.file:
                copies.append(
                    f"{record.label}: the same counts as {first.label}: the same run, counted once"
                )
                continue
        kept.append(record)
    return kept, copies


def _with_draft_tokens(record: AcceptanceRecord, options: CalibrationOptions) -> AcceptanceRecord:
    if record.draft_tokens is not None or options.draft_tokens is None:
        return record
    return replace(record, draft_tokens=options.draft_tokens)


def _fit(groups: Sequence[Group]) -> AcceptanceFit:
    known = [group for group in groups if group.draft_tokens is not None]
    warnings = [
        f"{group.records} records with acceptance length {group.length:.4g} have no draft length "
        "and are not fitted; give --draft-tokens"
        for group in groups
        if group.draft_tokens is None
    ]
    curves = [group for group in known if group.survival.size]
    if curves:
        fit = _from_curves(curves, groups)
    elif len({group.draft_tokens for group in known}) > 1:
        fit = _from_lengths(known)
    elif known:
        fit = _from_one_length(known[0])
    else:
        raise CalibrationError(
            f"acceptance length {groups[0].length:.6g}, but the draft length is in no file: give "
            "--draft-tokens"
        )
    notes = []
    if fit.form == "positions":
        notes = [
            f"acceptance beyond K = {fit.survival.size} carries the last conditional rate on "
            "(extrapolated)"
        ]
    return fit.saying(notes=notes, warnings=warnings)


def _from_curves(curves: Sequence[Group], groups: Sequence[Group]) -> AcceptanceFit:
    """Survival was counted: that of one draft length is used, for they are never merged."""
    used = max(curves, key=_tried)
    survival = used.survival
    decay = decaying_rate(survival, used.drafts, used.scatter) if survival.size > 1 else None
    defaults = {}
    if decay is None:
        defaults["ratio"] = f"one position only; {DEFAULT_RATIO} carries on from it"
        decay = Rates(np.array([float(survival[0]), DEFAULT_RATIO]), None)
    notes = []
    if len(groups) > 1:
        notes = [
            f"survival is that of K = {used.draft_tokens}, where most tokens were tried; draft "
            "lengths are never merged"
        ]
    fit = AcceptanceFit(
        "positions", survival, used.survival_error,
        constant_rate(survival, used.drafts, used.scatter), decay, survival.size, defaults,
    )  # fmt: skip
    return fit.saying(notes=notes, warnings=_length_conflicts(fit, groups))


def _tried(group: Group) -> tuple[float, int]:
    """Drafted tokens whose acceptance was decided; the longer curve where nothing was counted."""
    decided = 1.0 + float(group.survival[:-1].sum())
    return (group.drafts or 0.0) * decided, group.survival.size


def _length_conflicts(fit: AcceptanceFit, groups: Sequence[Group]) -> list[str]:
    """Acceptance lengths that the survival in use does not explain."""
    found = []
    for group in groups:
        if group.draft_tokens is None or group.survival.size:
            continue
        length = float(acceptance_length(fit.used(group.draft_tokens), group.draft_tokens))
        if abs(length / group.length - 1.0) > 0.05:
            found.append(
                f"K = {group.draft_tokens}: acceptance length {group.length:.4g}, but the survival "
                f"in use gives {length:.4g}"
            )
    return found


def _from_lengths(groups: Sequence[Group]) -> AcceptanceFit:
    """One run per draft length: differences of lengths are no survival curve, they scatter."""
    draft = np.array([group.draft_tokens for group in groups], dtype=np.float64)
    lengths = np.array([group.length for group in groups])
    weight = np.array([group.drafts or 1.0 for group in groups])
    constant, decay = rates_from_lengths(draft, lengths)
    survival = monotone_survival(draft, lengths, weight / weight.mean())
    whole = np.array_equal(draft, np.arange(1, draft.size + 1))
    empty = np.empty(0)
    note = "acceptance lengths of separate runs: survival is the nearest non-increasing curve"
    if not whole:
        note = "acceptance lengths at separate K: a decaying rate, for positions are not known"
    return AcceptanceFit(
        "positions" if whole else "decay", survival if whole else empty,
        np.full(survival.size, np.nan) if whole else empty, constant, decay, int(draft.max()),
        notes=(note,),
    )  # fmt: skip


def _from_one_length(group: Group) -> AcceptanceFit:
    """One number tells one parameter: the ratio stays at its default."""
    draft_tokens = group.draft_tokens or 1
    slope = 1e-4
    rates = []
    for ratio in (1.0, DEFAULT_RATIO):
        first = first_rate_of_length(draft_tokens, group.length, ratio)
        covariance = None
        if group.length_error is not None:
            more = first_rate_of_length(draft_tokens, group.length + slope, ratio)
            covariance = np.array([[((more - first) / slope * group.length_error) ** 2]])
        rates.append((first, covariance))
    (rate, rate_error), (first, first_error) = rates
    full = None if first_error is None else np.diag([float(first_error[0, 0]), 0.0])
    return AcceptanceFit(
        "decay", np.empty(0), np.empty(0), Rates(np.array([rate]), rate_error),
        Rates(np.array([first, DEFAULT_RATIO]), full), draft_tokens,
        {"ratio": f"one acceptance length at one K; {DEFAULT_RATIO} as measured on other drafts"},
        warnings=("no acceptance by position: AL at other K rests on the default decay",),
    )  # fmt: skip


def _series(records: Sequence[AcceptanceRecord]) -> list[Row]:
    """Each named list of runs against its own monotone curve."""
    rows: list[Row] = []
    for name in dict.fromkeys(record.series for record in records if record.series):
        own = [record for record in records if record.series == name and record.draft_tokens]
        draft = np.array([record.draft_tokens for record in own], dtype=np.float64)
        lengths = np.array([record.length for record in own])
        survival = monotone_survival(draft, lengths, np.ones(draft.size))
        fitted = acceptance_length(survival, draft.astype(np.intp))
        rows += [
            (name, int(k), round(float(seen), 6), round(float(fit), 6), round(float(seen - fit), 6))
            for k, seen, fit in zip(draft, lengths, fitted, strict=True)
        ]
    return rows
