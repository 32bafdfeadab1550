"""Memory one GPU of a replica needs for a design, its draft, their caches and workspace."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from codesign.architectures.counting import count_parameters
from codesign.draft_model import Drafting
from codesign.model.arrays import FloatArray
from codesign.model.memory import cache_bytes, workspace_bytes
from codesign.parameter_counts import DesignParameters
from codesign.replica import Replica
from codesign.spec.architecture import Architecture
from codesign.spec.precision import BYTES_PER_ELEMENT


@dataclass(frozen=True)
class Footprint:
    """Bytes on the fullest GPU, by what they hold [B].

    Parameters
    ----------
    weights, draft_weights, caches, workspace : ndarray
    """

    weights: FloatArray
    draft_weights: FloatArray
    caches: FloatArray
    workspace: FloatArray

    @property
    def total(self) -> FloatArray:
        """All of them [B]."""
        return self.weights + (self.draft_weights + self.caches + self.workspace)

    @property
    def besides_caches(self) -> FloatArray:
        """What is left of the total when no sequence is cached [B]."""
        return self.weights + (self.draft_weights + self.workspace)

    @classmethod
    def of(
        cls,
        parameters: DesignParameters,
        replica: Replica,
        drafting: Drafting,
        sequences: FloatArray,
        width: FloatArray,
        context: int,
    ) -> Self:
        """Compute it for `sequences` of `context` tokens each, `width` of each in a pass."""
        here = replica.sequences_here(sequences)
        target, draft = parameters.reference, drafting.model
        caches = _caches(target, replica, here, context)
        draft_weights = np.zeros(())
        if draft is not None:
            own = DesignParameters(draft, drafting.designs(parameters.designs))
            served = drafting.replica(replica)
            draft_weights = _weights(own, served, not drafting.shares_embeddings)
            caches = caches + _caches(draft, served, here, context)
        return cls(
            weights=_weights(parameters, replica),
            draft_weights=draft_weights,
            caches=caches,
            workspace=workspace_bytes(here * width, target.hidden_size),
        )


def _weights(parameters: DesignParameters, replica: Replica, embeddings: bool = True) -> FloatArray:
    """Routed experts over all GPUs; attention, dense, shared and embeddings over `tp`.

    Routers, norms and the projections of latent experts are on every GPU in full: engines keep
    them as replicated layers (vLLM's and SGLang's nemotron_h.py).
    """
    precision, counts = replica.precision, count_parameters(parameters.reference)
    size = {name: BYTES_PER_ELEMENT[precision.of(name)]
            for name in ("routed_experts", "shared_experts", "attention", "dense")}  # fmt: skip
    experts = parameters.designs.experts
    uneven = replica.experts_here(experts) * replica.expert_parallel / experts
    routed = parameters.routed * (size["routed_experts"] / replica.gpus) * uneven
    shared = parameters.shared * (size["shared_experts"] / replica.tensor_parallel)
    router = parameters.router * BYTES_PER_ELEMENT[precision.embeddings]
    unquantised = BYTES_PER_ELEMENT[precision.embeddings]
    cut = counts.attention * size["attention"] + counts.dense * size["dense"]
    cut += embeddings * (counts.embedding + counts.lm_head) * unquantised
    whole = counts.latent * size["dense"] + (counts.norm + counts.other) * unquantised
    return routed + shared + (router + (cut / replica.tensor_parallel + whole))


def _caches(
    model: Architecture, replica: Replica, sequences: FloatArray, context: int
) -> FloatArray:
    """Heads are cut over `tp` as far as they go, then replicated; an MLA latent always is."""
    size = BYTES_PER_ELEMENT[replica.precision.kv_cache]
    total = np.zeros(())
    for group in model.attention:
        shards = min(replica.tensor_parallel, group.cache_shards)
        total = total + cache_bytes(
            sequences,
            min(context, group.window or context),
            group.layers * group.cache_elements_per_token / shards,
            group.layers * group.state_elements_per_sequence / replica.tensor_parallel,
            size,
        )
    return total
