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
        violated = np.zeros(())
        for broken, _ in self._conditions(prediction):
            violated = violated + broken
        return at_most(violated, 0.0)

    def explain(self, prediction: Prediction) -> str:
        """Name what does not divide."""
        row = prediction.designs.rows()[0]
        conditions = self._conditions(prediction)
        return "; ".join(
            dict.fromkeys(words.format(**row) for broken, words in conditions if broken.any())
        )

    def natural_step(self, assessment: Assessment) -> None:
        """Half a GPU cannot be had."""
        return

    def _conditions(self, prediction: Prediction) -> list[tuple[FloatArray, str]]:
        """Where each condition is broken, 1 or 0, and its words, the design's figures left out."""
        designs, scenario = prediction.designs, prediction.scenario
        model, replica = scenario.reference, scenario.replica
        groups, kept = (model.moe.groups, model.moe.groups_per_token) if model.moe else (1, 1)
        ungrouped = designs.experts % groups != 0
        ungrouped = ungrouped | (designs.top_k * groups > designs.experts * kept)
        softmax = GroupedQueryAttention | LatentAttention
        heads = [mixer.heads for mixer in model.attention if isinstance(mixer, softmax)]
        tp, ep, step = replica.tensor_parallel, replica.expert_parallel, replica.width_step
        conditions = [
            *((np.asarray(count % tp != 0), f"{count} attention heads over tp {tp}")
              for count in heads),
            (designs.experts % ep != 0, f"{{experts}} experts over ep {ep}"),
            (ungrouped, f"{{experts}} experts, top-{{top_k}}, over {kept} of {groups} groups"),
            (self._untiled(prediction), f"width {{expert_width}} into tiles of {step}"),
        ]  # fmt: skip
        return [(broken.astype(np.float64), words) for broken, words in conditions]

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
