"""Weights, caches and workspace fit into the GPUs of the replica."""

from codesign.constraints import Assessment, Constraint, at_most
from codesign.prediction import Prediction


class Memory(Constraint):
    """Bytes on the fullest GPU at the largest batch size of the mix, all experts resident.

    The limit is the profile's capacity times the deployment's memory utilisation.
    """

    name = "memory"
    unit = "B"

    def assess(self, prediction: Prediction, reference: Prediction) -> Assessment:
        """Assess the memory of every design."""
        limit = prediction.scenario.replica.memory_limit
        return at_most(prediction.value("memory_bytes_per_gpu"), limit)
