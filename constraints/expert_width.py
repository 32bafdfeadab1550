"""Rounding the expert width keeps the budget of active expert parameters."""

import numpy as np

from codesign.constraints import Assessment, Constraint, at_most
from codesign.prediction import Prediction


class ExpertWidth(Constraint):
    """Active expert parameters differ from what the width policy asked for by at most `tolerance`.

    Without it a search harvests the rounding of the width to whole kernel tiles.

    Parameters
    ----------
    tolerance : float
        Relative [-].
    """

    name = "expert_width"
    unit = "-"

    def __init__(self, tolerance: float = 0.03) -> None:
        self._tolerance = float(tolerance)

    def natural_step(self, assessment: Assessment) -> None:
        """More rounding is no gain."""
        return

    def assess(self, prediction: Prediction, reference: Prediction) -> Assessment:
        """Assess the rounding residual of every design."""
        return at_most(np.abs(prediction.rounding_residual), self._tolerance)
