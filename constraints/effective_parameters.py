"""As many dense-equivalent parameters as the reference, or a share of them."""

import numpy as np

from codesign.constraints import Assessment, Constraint, at_least
from codesign.model.arrays import FloatArray
from codesign.model.quality import EFFECTIVE_PARAMETERS, QualityInputs, effective_parameters
from codesign.prediction import Prediction


class EffectiveParameters(Constraint):
    """Dense-equivalent parameters by the EffParam law, at least `share` of the reference's.

    Parameters
    ----------
    share : float
        [-]
    """

    name = "effective_parameters"
    unit = "parameter"

    def __init__(self, share: float = 1.0) -> None:
        self._share = float(share)

    def assess(self, prediction: Prediction, reference: Prediction) -> Assessment:
        """Assess every design."""
        own = _equivalent(prediction.reference_quality_inputs)
        return at_least(_equivalent(prediction.quality_inputs), self._share * own)


def _equivalent(design: QualityInputs) -> FloatArray:
    best = [interval.value for interval in EFFECTIVE_PARAMETERS.coefficients]
    sizes = (design.total, design.active, design.active_experts)
    return np.asarray(effective_parameters(*sizes, *best), dtype=np.float64)
