"""No worse than the reference, within so many nats per token of pretraining loss."""

import numpy as np

from codesign.constraints import Assessment, Constraint, at_most
from codesign.model.arrays import FloatArray
from codesign.model.quality import EPSILON, estimate_quality
from codesign.prediction import Prediction


class Quality(Constraint):
    """A quantile of the loss difference over scaling laws and their errors, at most `epsilon`.

    The laws disagree in sign on the very trade that speculative decoding rewards, so no single one
    decides. Without draws the mean over the laws stands in for the quantile.

    Parameters
    ----------
    epsilon : float
        Loss that may be given up [nat/token].
    level : float
        Of the quantile, in (0, 1).
    """

    name = "quality"
    unit = "nat/token"

    def __init__(self, epsilon: float = EPSILON, level: float = 0.8) -> None:
        if not 0 < level < 1:
            raise ValueError(f"level must lie between 0 and 1 ({level:g})")
        self._epsilon, self._level = float(epsilon), float(level)

    def natural_step(self, assessment: Assessment) -> FloatArray:
        """Half of what is given up by default [nat/token]."""
        return np.asarray(0.005)

    def assess(self, prediction: Prediction, reference: Prediction) -> Assessment:
        """Assess every design."""
        draws = prediction.scenario.quality_draws
        if draws == 0:
            return at_most(prediction.loss_difference, self._epsilon)
        estimate = estimate_quality(
            prediction.quality_inputs,
            prediction.reference_quality_inputs,
            epsilon=self._epsilon,
            level=self._level,
            draws=draws,
        )
        return at_most(estimate.quantile, self._epsilon)
