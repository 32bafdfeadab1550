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
        uncut_heads = len(self._uncut_heads(prediction))
        uneven = (designs.experts % replica.expert_parallel != 0).astype(np.float64)
        ungrouped = designs.experts % groups != 0
        ungrouped = ungrouped | (designs.top_k * groups > designs.experts * kept)
        violated: FloatArray = uneven + ungrouped + uncut_heads + self._untiled(prediction)
        return at_most(violated, 0.0)

    def explain(self, prediction: Prediction) -> str:
        """Name what does not divide."""
        model, replica = prediction.scenario.reference, prediction.scenario.replica
        row = prediction.designs.rows()[0]
        groups, kept = (model.moe.groups, model.moe.groups_per_token) if model.moe else (1, 1)
        heads = dict.fromkeys(self._uncut_heads(prediction))
        parts = [f"{count} attention heads over tp {replica.tensor_parallel}" for count in heads]
        if row["experts"] % replica.expert_parallel:
            parts.append(f"{row['experts']} experts over ep {replica.expert_parallel}")
        if row["experts"] % groups:
            parts.append(f"{row['experts']} experts over {groups} groups")
        if row["top_k"] * groups > row["experts"] * kept:
            parts.append(f"top-{row['top_k']} from {kept} of {groups} groups")
        if self._untiled(prediction).any():
            parts.append(f"width {row['expert_width']} into tiles of {replica.width_step}")
        return "; ".join(parts)

    def natural_step(self, assessment: Assessment) -> None:
        """Half a GPU cannot be had."""
        return

    @staticmethod
    def _uncut_heads(prediction: Prediction) -> list[int]:
        """Numbers of heads, by kind of attention, that tensor parallelism does not divide."""
        softmax = GroupedQueryAttention | LatentAttention
        mixers = prediction.scenario.reference.attention
        heads = [mixer.heads for mixer in mixers if isinstance(mixer, softmax)]
        return [count for count in heads if count % prediction.scenario.replica.tensor_parallel]

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
