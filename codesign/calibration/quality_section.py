"""The quality section: the effective-parameters law refitted to a team's own ablations."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pandas as pd

from codesign.calibration.detect import read_files
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.quality import fit_effective_parameters
from codesign.model.arrays import NORMAL_95
from codesign.model.quality import Interval
from codesign.spec.calibration import QualitySection
from codesign.spec.section import Parameter, Residual, Table

STANDARD_ERRORS: Final = 2 * NORMAL_95
"""Width of a 90 % interval of a normal variable, in standard errors."""


def calibrate_quality(paths: Sequence[Path], options: CalibrationOptions) -> QualitySection:
    """Fit theta, eta and the largest gain of the effective-parameters law.

    Raises
    ------
    DataError
        If a file is broken or not understood.
    CalibrationError
        If the ablations cannot tell the coefficients apart.
    """
    readings = read_files(paths, "quality", options)
    ablations = pd.concat([reading.data for reading in readings], ignore_index=True)
    fit = fit_effective_parameters(ablations, replicates=options.replicates, seed=options.seed)
    rows = tuple((name, error * 1e3) for name, error in fit.left_out.items())
    return QualitySection(
        date=options.day.isoformat(),
        sources=tuple(reading.source for reading in readings),
        samples=fit.runs,
        samples_unit="training runs",
        residual=Residual(
            value=fit.residual, unit="nat/token", meaning="within-group root mean square error"
        ),
        parameters={
            "theta": _parameter(fit.theta),
            "eta": _parameter(fit.eta),
            "maximum": _parameter(fit.maximum),
        },
        tables=(
            Table(
                name="left_out",
                title="Error on a group the fit has not seen",
                columns=("group", "error [millinat/token]"),
                rows=rows,
            ),
        ),
    )


def _parameter(interval: Interval) -> Parameter:
    spread = (interval.high - interval.low) / STANDARD_ERRORS
    return Parameter(value=interval.value, standard_error=spread)
