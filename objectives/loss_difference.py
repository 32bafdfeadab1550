"""Pretraining loss given up against the reference."""

from codesign.model.arrays import FloatArray
from codesign.objectives import Objective
from codesign.prediction import Prediction


class LossDifference(Objective):
    """Loss minus the reference's by the scaling laws, in nats per token; less is better."""

    name = "loss_difference"
    direction = "minimize"
    unit = "nat/token"
    certain = True

    def evaluate(self, prediction: Prediction) -> FloatArray:
        """Return the loss difference of every design [nat/token]."""
        return prediction.loss_difference
