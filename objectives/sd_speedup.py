"""Expected decoding speedup over the workload mix."""

import numpy as np

from codesign.model.acceptance import acceptance_length
from codesign.model.arrays import FloatArray
from codesign.objectives import Objective
from codesign.prediction import Prediction
from codesign.scenario import Scenario


class SpeculativeSpeedup(Objective):
    """Time to generate the workload's tokens without SD over the time with it.

    Shares of a mix weigh tokens generated, so that the times of the batch sizes add up: a replica
    spends share / (tokens/s) on each.
    """

    name = "sd_speedup"
    direction = "maximize"
    unit = "-"

    def evaluate(self, prediction: Prediction) -> FloatArray:
        """Return the speedup of every design [-]."""
        return prediction.value("sd_tokens_per_s") / prediction.value("tokens_per_s")

    def bound(self, draft_tokens: FloatArray, scenario: Scenario) -> float:
        """Return the longest acceptance length: no verify pass is cheaper than a decode step."""
        return float(np.max(acceptance_length(scenario.survival, draft_tokens)))
