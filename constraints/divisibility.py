"""The design can be cut over the GPUs and into kernel tiles."""

import numpy as np

from codesign.constraints import Assessment, Constraint, at_most
from codesign.model.arrays import FloatArray
from codesign.prediction import Prediction
from codesign.spec.attention import GroupedQueryAttention, LatentAttention


class Divisibility(Constraint):
    """Count of violated conditions, of which there may be none.

    Experts divide over expert-parallel ranks and over routing groups, of which those kept hold
    all experts of a token; attention heads divide over tensor-parallel ranks, the expert width
    into kernel tiles. The reference's own experts keep
    their published width and are not held to the last.
    """

    name = "divisibility"
    unit = "-"

    def assess(self, prediction: Prediction, reference: Prediction) -> Assessment:
        """Count the violated conditions of every design."""
        designs, scenario = prediction.designs, prediction.scenario
        model, replica = scenario.reference, scenario.replica
        groups, kept = (model.moe.groups, model.moe.groups_per_token) if model.moe else (1, 1)
        softmax = GroupedQueryAttention | LatentAttention
        heads = [group.heads for group in model.attention if isinstance(group, softmax)]
        uncut_heads = sum(count % replica.tensor_parallel != 0 for count in heads)
        uneven = (designs.experts % replica.expert_parallel != 0).astype(np.float64)
        ungrouped = designs.experts % groups != 0
        ungrouped = ungrouped | (designs.top_k * groups > designs.experts * kept)
        violated: FloatArray = uneven + ungrouped + uncut_heads + self._untiled(prediction)
        return at_most(violated, 0.0)

    def natural_step(self, assessment: Assessment) -> None:
        """Half a GPU cannot be had."""
        return

    @staticmethod
    def _untiled(prediction: Prediction) -> FloatArray:
        own = prediction.scenario.reference.moe
        designs = prediction.designs
        untiled = designs.expert_width % prediction.scenario.replica.width_step != 0
        if own is None:
            return np.zeros(())
        published = (
            (designs.experts == own.experts)
            & (designs.top_k == own.top_k)
            & (designs.shared_experts == own.shared_experts)
            & (designs.expert_width == own.expert_width)
        )
        return np.asarray(untiled & ~published, dtype=np.float64)
