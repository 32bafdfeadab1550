"""Errors of many measurements, by source, model and hardware."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from codesign.model.arrays import FloatArray
from codesign.validation.rows import ValidationRow


@dataclass(frozen=True)
class GroupErrors:
    """Predicted against reported, over the measurements of one group.

    Parameters
    ----------
    data_set, quantity : str
        Which measurements, and what of them is compared.
    source, model, hardware : str
    fitted : bool
        Constants were fitted to these very measurements; otherwise they were held out.
    predicted, reported : ndarray, shape (measurements,)
    note : str
    spread : float
        Log standard deviation expected of the group's median, known without its measurements [-].
    """

    data_set: str
    quantity: str
    source: str
    model: str
    hardware: str
    fitted: bool
    predicted: FloatArray
    reported: FloatArray
    note: str = ""
    spread: float = 0.0

    @property
    def errors(self) -> FloatArray:
        """Relative errors with their sign [-]."""
        return np.asarray(self.predicted / self.reported - 1.0)

    @property
    def median(self) -> float:
        """Median absolute error [-]."""
        return float(np.median(np.abs(self.errors)))

    @property
    def p90(self) -> float:
        """90th percentile of the absolute error [-]."""
        return float(np.quantile(np.abs(self.errors), 0.9))

    def to_row(self) -> ValidationRow:
        """Return the group as one row: medians, and the median absolute error."""
        return ValidationRow(
            case=f"{self.data_set}/{self.model}/{self.hardware}",
            quantity=self.quantity,
            predicted=float(np.median(self.predicted)),
            reported=float(np.median(self.reported)),
            tolerance=None,
            source=self.source,
            fitted=self.fitted,
            note=self.note,
            measured_error=self.median,
        )

    def to_record(self) -> dict[str, Any]:
        """Return the group's error statistics."""
        return {
            "data_set": self.data_set,
            "quantity": self.quantity,
            "source": self.source,
            "model": self.model,
            "hardware": self.hardware,
            "n": int(self.predicted.size),
            "bias": float(np.median(self.errors)),
            "median_error": self.median,
            "p90_error": self.p90,
            "fitted": self.fitted,
            "note": self.note,
        }
