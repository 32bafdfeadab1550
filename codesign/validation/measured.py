"""All measurement sets of a folder against the model."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from codesign.errors import UsageError
from codesign.validation.acceptance_data import acceptance_errors
from codesign.validation.cycle_data import cycle_errors, ordered_pairs
from codesign.validation.errors_by_group import GroupErrors
from codesign.validation.interval_data import cycle_interval, error_interval
from codesign.validation.intervals import IntervalScore
from codesign.validation.kernel_data import (
    attention_errors,
    dense_errors,
    forced_routing_errors,
    routed_errors,
)
from codesign.validation.step_data import composed_step_errors
from codesign.validation.tpot_data import tpot_errors

Progress = Callable[[str, int, int], None]

SETS: Final = (
    routed_errors,
    forced_routing_errors,
    dense_errors,
    attention_errors,
    composed_step_errors,
    acceptance_errors,
    tpot_errors,
    cycle_errors,
)


@dataclass(frozen=True)
class Measured:
    """What a folder of measurements says about the model.

    Parameters
    ----------
    groups : list of GroupErrors
    ordered : tuple of int
        Pairs of MoE cycle ratios in the right order, and pairs that differ by more than 5 %.
    intervals : list of IntervalScore
    """

    groups: list[GroupErrors]
    ordered: tuple[int, int] = (0, 0)
    intervals: list[IntervalScore] = field(default_factory=list)

    def summary(self) -> list[dict[str, Any]]:
        """Return errors over all groups of one data set and quantity, held-out ones only."""
        rows = []
        kinds = dict.fromkeys((g.data_set, g.quantity) for g in self.groups if not g.fitted)
        for data_set, quantity in kinds:
            kind = (data_set, quantity)
            own = [g for g in self.groups if (g.data_set, g.quantity) == kind and not g.fitted]
            errors = np.abs(np.concatenate([group.errors for group in own]))
            rows.append(
                {
                    "data_set": data_set,
                    "quantity": quantity,
                    "groups": len(own),
                    "n": int(errors.size),
                    "median_error": float(np.median(errors)),
                    "p90_error": float(np.quantile(errors, 0.9)),
                    "median_of_groups": float(np.median([group.median for group in own])),
                }
            )
        return rows


def measured_errors(folder: Path, progress: Progress | None = None) -> Measured:
    """Compare every measurement set that a folder has.

    Parameters
    ----------
    folder : Path
        With CSV files of the documented names and columns, at any depth.
    progress : callable, optional

    Raises
    ------
    UsageError
        If the folder does not exist or has none of the files.
    DataError
        If a file lacks a column.
    """
    groups: list[GroupErrors] = []
    for compare in SETS:
        groups += compare(folder)
        if progress:
            progress("measurements", 1, len(SETS) + 1)
    if not groups:
        raise UsageError(f"--data {folder}: no measurement set; see docs/validation.md for names")
    tpot = [group for group in groups if group.quantity == "TPOT"]
    scores = (cycle_interval(folder), error_interval("TPOT, (model, TP) left out", tpot))
    if progress:
        progress("measurements", 1, len(SETS) + 1)
    return Measured(groups, ordered_pairs(folder), [score for score in scores if score])
