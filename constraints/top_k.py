"""Enough experts per token for quality laws to be believed."""

import numpy as np

from codesign.constraints import Assessment, Constraint, at_least
from codesign.model.arrays import FloatArray
from codesign.prediction import Prediction


class TopK(Constraint):
    """At least `minimum` experts per token, or the reference's number if that is smaller.

    Parameters
    ----------
    minimum : int
        Below it the scaling laws extrapolate.
    """

    name = "top_k"
    unit = "expert"

    def __init__(self, minimum: int = 4) -> None:
        self._minimum = int(minimum)

    def natural_step(self, assessment: Assessment) -> FloatArray:
        """One expert."""
        return np.ones(())

    def assess(self, prediction: Prediction, reference: Prediction) -> Assessment:
        """Assess top_k of every design."""
        floor = min(self._minimum, float(reference.designs.top_k.flat[0]))
        return at_least(prediction.designs.top_k, floor)
