"""What is run to draft K tokens, priced by the same component sum as the target."""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from codesign.designs import Designs
from codesign.forward_pass import ForwardPass
from codesign.model.arrays import FloatArray
from codesign.model.roofline import total_seconds
from codesign.model.routing import RouterParameters
from codesign.model.step_time import elementwise
from codesign.replica import Replica
from codesign.spec.architecture import Architecture, DenseFeedForward
from codesign.spec.draft import Draft

DRAFT_VOCABULARY: Final = 32_768
"""Rows of an EAGLE draft's LM head: the frequent tokens."""

CHAINING_LAUNCHES: Final = 8
"""Norms of token and hidden state and their join; softmax, top-k and token map of the draft head;
positions and cache slots of the next pass (SGLang's EAGLE worker, vLLM's llm_base_proposer)."""

FFN_EXPANSION: Final = 4
"""Dense width of a draft layer over the hidden size where the reference has no dense width."""


@dataclass(frozen=True)
class Drafting:
    """A draft ready to be priced.

    Parameters
    ----------
    draft : Draft
    target : Architecture
    model : Architecture, optional
        What runs; absent where the cost is a fraction of the target's step.
    """

    draft: Draft
    target: Architecture
    model: Architecture | None

    @property
    def shares_embeddings(self) -> bool:
        """A prediction layer uses the target's own embedding and head."""
        return self.draft.kind == "mtp"

    def designs(self, designs: Designs) -> Designs:
        """Return the draft's experts: the target's design, or those of a model of its own."""
        if self.draft.kind == "model" and self.model is not None:
            return Designs.of_architecture(self.model, designs.draft_tokens)
        return designs

    def replica(self, replica: Replica) -> Replica:
        """Return the target's replica with the number formats of a model of its own."""
        if self.draft.kind == "model" and self.model is not None:
            return replace(replica, precision=self.model.precision)
        return replica

    def seconds(
        self,
        designs: Designs,
        replica: Replica,
        router: RouterParameters,
        sequences: FloatArray,
        context: int,
    ) -> FloatArray:
        """Return D(B, K), the time to draft K tokens for every sequence [s]."""
        designs, replica = self.designs(designs), self.replica(replica)
        drafted = designs.draft_tokens
        passes = np.minimum(drafted, 1.0) if self.draft.parallel else drafted
        if self.model is None:
            single = np.ones((1,) * sequences.ndim)
            step = _pass(self.target, designs, replica, router, single, 1, context)
            return np.asarray(passes * (self.draft.fraction or 0.0) * step)
        width = np.maximum(drafted, 1.0) if self.draft.parallel else np.ones(())
        single = _pass(self.model, designs, replica, router, sequences, width, context)
        tokens_here = replica.sequences_here(sequences) * width
        return passes * (single + self._chaining(replica, tokens_here))

    def _chaining(self, replica: Replica, tokens: FloatArray) -> FloatArray:
        """What a layer that drafts from hidden states does beside a decoder layer's pass [s]."""
        if self.draft.kind not in ("eagle", "mtp"):
            return np.zeros(())
        small = replica.kernel("elementwise", "bf16")
        return elementwise(small, CHAINING_LAUNCHES, tokens, self.target.hidden_size).seconds


def _pass(
    model: Architecture,
    designs: Designs,
    replica: Replica,
    router: RouterParameters,
    sequences: FloatArray,
    width: FloatArray | float,
    context: int,
) -> FloatArray:
    width = np.asarray(width, dtype=np.float64)
    replica = replace(replica, host_time=0.0)  # the host prepares a cycle once, with its verify
    forward = ForwardPass(model, designs, replica, router, sequences, width, context)
    return total_seconds(forward.costs())


def eagle_layer(target: Architecture) -> Architecture:
    """Return one dense decoder layer of the target's shape with a head of the frequent tokens."""
    width = target.draft_ffn_width or FFN_EXPANSION * target.hidden_size
    return target.model_copy(
        update={
            "name": f"eagle draft of {target.name}",
            "layers": 1,
            "attention": (_one_layer(target),),
            "moe": None,
            "dense": (DenseFeedForward(layers=1, width=width),),
            "vocab_size": min(target.vocab_size, DRAFT_VOCABULARY),
            "tied_embeddings": True,  # looks tokens up in the target's table; the head is its own
            "other_parameters": 0,
        }
    )


def prediction_layer(target: Architecture) -> Architecture:
    """Return one target-shaped layer with the full head (multi-token prediction)."""
    moe = target.moe.model_copy(update={"layers": 1}) if target.moe else None
    dense = () if moe else (target.dense[0].model_copy(update={"layers": 1}),)
    return target.model_copy(
        update={
            "name": f"prediction layer of {target.name}",
            "layers": 1,
            "attention": (_one_layer(target),),
            "moe": moe,
            "dense": dense,
            "other_parameters": 0,
        }
    )


def make_drafting(draft: Draft, target: Architecture, model: Architecture | None) -> Drafting:
    """Put a draft together; `model` is what a draft of kind ``model`` runs."""
    built = {"eagle": eagle_layer, "mtp": prediction_layer}
    if draft.kind in built:
        model = built[draft.kind](target)
    return Drafting(draft, target, model)


def _one_layer(target: Architecture) -> object:
    """The target's attention that sees the whole context, once."""
    full = [group for group in target.attention if group.window is None]
    return (full or list(target.attention))[0].model_copy(update={"layers": 1})
