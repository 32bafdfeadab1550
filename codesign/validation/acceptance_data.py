"""Measured acceptance lengths against the forms, each draft length predicted from the others."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
from scipy.optimize import least_squares

from codesign.calibration.kernels.rows import groups_of
from codesign.model.acceptance import acceptance_length, constant_survival, decay_survival
from codesign.model.arrays import FloatArray
from codesign.validation.errors_by_group import GroupErrors
from codesign.validation.tables import find_table, read_table

FEWEST: Final = 4
"""Draft lengths of a curve from which one can be left out."""


def acceptance_errors(folder: Path) -> Iterator[GroupErrors]:
    """AL(K) by the decay and the constant form, K left out in turn."""
    path = find_table(folder, "acceptance_by_K")
    if path is None:
        return
    table = read_table(path, ("file", "model", "mode", "K", "AL"))
    for (file, model, mode), rows in groups_of(table, ["file", "model", "mode"]):
        lengths, reported = rows["K"].to_numpy(), rows["AL"].to_numpy(dtype=np.float64)
        if lengths.size < FEWEST:
            continue
        for form, start in (("decay", (0.75, 0.96)), ("constant", (0.75,))):
            predicted = np.array(
                [_without(lengths, reported, place, start) for place in range(lengths.size)]
            )
            yield GroupErrors(
                "acceptance", f"AL(K), {form} form", "SemiAnalysisAI/InferenceX",
                f"{model}, {mode}", str(file), False, predicted, reported,
                "one draft length left out at a time",
            )  # fmt: skip


def _without(
    lengths: FloatArray, reported: FloatArray, place: int, start: tuple[float, ...]
) -> float:
    kept = np.arange(lengths.size) != place

    def lengths_of(x: FloatArray, at: FloatArray) -> FloatArray:
        most = int(lengths.max())
        curve = decay_survival(x[0], x[1], most) if x.size > 1 else constant_survival(x[0], most)
        return acceptance_length(curve, at)

    def residuals(x: FloatArray) -> FloatArray:
        return np.asarray(lengths_of(x, lengths[kept]) / reported[kept] - 1.0)

    fit = least_squares(residuals, start, bounds=(0.01, 1.0))
    return float(lengths_of(fit.x, lengths[place : place + 1])[0])
