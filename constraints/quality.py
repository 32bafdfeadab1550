"""No worse than the reference, within so many nats per token of pretraining loss."""

from codesign.constraints import Assessment, Constraint, at_most
from codesign.model.quality import EPSILON
from codesign.prediction import Prediction


class Quality(Constraint):
    """Loss difference against the reference, by the scaling laws, at most `epsilon`.

    Parameters
    ----------
    epsilon : float
        Loss that may be given up [nat/token]; 0.01 is about 14 % of compute at 1e22 FLOP.
    """

    name = "quality"
    unit = "nat/token"

    def __init__(self, epsilon: float = EPSILON) -> None:
        self._epsilon = float(epsilon)

    def assess(self, prediction: Prediction, reference: Prediction) -> Assessment:
        """Assess the loss difference of every design."""
        return at_most(prediction.loss_difference, self._epsilon)
