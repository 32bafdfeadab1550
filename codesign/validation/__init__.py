"""Published and user-supplied measurements against the model.

Two things, kept apart. *Drift*: predictions on a small grid against a committed baseline; any
change fails. *Accuracy*: how far predictions are from measurements; tracked, never a gate.
"""

from codesign.validation.drift import accept_drift, drift_rows
from codesign.validation.errors_by_group import GroupErrors
from codesign.validation.rows import ValidationRow
from codesign.validation.shipped import shipped_rows

__all__ = ["GroupErrors", "ValidationRow", "accept_drift", "drift_rows", "shipped_rows"]
