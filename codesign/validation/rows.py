"""One comparison of a prediction with what was reported."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ValidationRow:
    """One line of `codesign validate`.

    Parameters
    ----------
    case, quantity : str
        What is compared.
    predicted, reported : float
        In the unit of the quantity; `predicted` is None where the model does not cover it.
    tolerance : float, optional
        Of the relative error, or the absolute one where zero is reported [-].
    source : str
        Where the reported number was read.
    fitted : bool
        The model's constants were fitted to this number.
    note : str
        Why it is missed, or outside the model.
    measured_error : float, optional
        Median absolute relative error of a group of measurements, of which `predicted` and
        `reported` are medians [-].
    """

    case: str
    quantity: str
    predicted: float | None
    reported: float
    tolerance: float | None
    source: str
    fitted: bool = False
    note: str = ""
    measured_error: float | None = None

    @property
    def error(self) -> float | None:
        """Relative error; absolute where zero is reported; of a group, its median [-]."""
        if self.measured_error is not None:
            return self.measured_error
        if self.predicted is None:
            return None
        difference = self.predicted - self.reported
        return difference / abs(self.reported) if self.reported else difference

    @property
    def ok(self) -> bool | None:
        """Within tolerance; None where nothing is predicted or no tolerance is set."""
        if self.error is None or self.tolerance is None:
            return None
        return abs(self.error) <= self.tolerance

    def to_record(self) -> dict[str, Any]:
        """Return the row with the stable keys."""
        return {
            "case": self.case,
            "quantity": self.quantity,
            "predicted": self.predicted,
            "reported": self.reported,
            "error": self.error,
            "tolerance": self.tolerance,
            "source": self.source,
            "fitted": self.fitted,
            "ok": self.ok,
            "note": self.note,
        }
