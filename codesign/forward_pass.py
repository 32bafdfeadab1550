"""One forward pass of a transformer, component by component, on the GPU that finishes last."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from codesign.designs import Designs
from codesign.model.arrays import FloatArray
from codesign.model.communication import all_reduce, dispatch_combine
from codesign.model.expert_parallel import RankLoad, busiest_rank
from codesign.model.latent_router import unique_experts
from codesign.model.parameters import expert_parameters
from codesign.model.roofline import Cost
from codesign.model.routing import RouterParameters
from codesign.model.step_time import (
    ACTIVATION_BYTES,
    attention_core,
    dense_gemm,
    elementwise,
    routed_experts,
)
from codesign.replica import Replica, attention_kernel
from codesign.spec.architecture import Architecture, MixtureOfExperts, shared_width_ratio
from codesign.spec.attention import Attention
from codesign.spec.hardware import KernelKind
from codesign.spec.precision import BYTES_PER_ELEMENT

LAUNCHES_PER_LAYER: Final = 2
"""Rotary embedding with the cache write, and the activation function; norms come on top."""

LAUNCHES_PER_PASS: Final = 5
"""Embedding lookup, last norm, and three kernels of sampling."""


@dataclass(frozen=True)
class ForwardPass:
    """What one pass computes.

    Parameters
    ----------
    model : Architecture
        Everything but N, k, S and the expert width, which come from `designs`.
    designs : Designs
    replica : Replica
    router : RouterParameters
    sequences, width : ndarray
        B sequences of the replica, q tokens each; axes broadcast with the designs'.
    context : int
        Cached tokens per sequence [token].
    load : RankLoad, optional
        Experts loaded and token slots per layer where they are known; the router's otherwise.
    """

    model: Architecture
    designs: Designs
    replica: Replica
    router: RouterParameters
    sequences: FloatArray
    width: FloatArray
    context: int
    load: RankLoad | None = None

    def costs(self) -> dict[str, Cost]:
        """Return the cost of every component [s]: first those no design changes."""
        costs = {"attention_projections": self._projections(), "attention_core": self._attention()}
        if self.model.dense:
            costs["dense_ffn"] = self._dense()
        costs["norms_and_small_kernels"] = self._small_kernels()
        costs["lm_head"] = self._head()
        if self.replica.host_time > 0:
            costs["host"] = Cost(floor=np.asarray(self.replica.host_time))
        if self.replica.gpus > 1:
            costs["communication"] = self._communication()
        if self.model.moe is not None:
            costs |= self._experts(self.model.moe)
        return costs

    @property
    def _sequences_here(self) -> FloatArray:
        return self.replica.sequences_here(self.sequences)

    @property
    def _tokens_here(self) -> FloatArray:
        return self._sequences_here * self.width

    def _projections(self) -> Cost:
        kernel, size = self.replica.gemm("attention")
        hidden, shards = self.model.hidden_size, self.replica.tensor_parallel
        weights = [group.layers * group.matrix_parameters(hidden) for group in self.model.attention]
        layers = sum(group.layers for group in self.model.attention)
        launches = sum(group.layers * group.projections for group in self.model.attention)
        parameters = sum(weights) / shards
        activations = 2.0 * hidden * layers + parameters / hidden
        return dense_gemm(kernel, launches, self._tokens_here, parameters, size, activations)

    def _attention(self) -> Cost:
        total = Cost()
        for group in self.model.attention:
            seen = min(self.context, group.window or self.context)
            # Neighbouring queries are taken to select the same tokens, so they are read once.
            read = min(seen, group.selected_tokens or seen)
            main = group.cache_elements_per_token - group.index_elements_per_token
            kind = attention_kernel(group)
            total = total + self._core(kind, group, read, main, group.flop_per_cached_token)
            if group.index_flop_per_cached_token:
                index = group.index_elements_per_token
                flop = group.index_flop_per_cached_token
                total = total + self._core("attention", group, seen, index, flop)
        return total

    def _core(
        self, kind: KernelKind, group: Attention, read: int, elements: int, flop: int
    ) -> Cost:
        """One kernel per layer over `read` cached tokens of so many elements and FLOP each."""
        dtype = self.replica.precision.kv_cache
        size, shards = BYTES_PER_ELEMENT[dtype], self.replica.tensor_parallel
        return attention_core(
            self.replica.kernel(kind, dtype),
            group.layers,
            self._sequences_here,
            self.width,
            read,
            elements / min(shards, group.cache_shards) * size,
            flop / shards,
            group.state_elements_per_sequence / shards * size,
        )

    def _experts(self, moe: MixtureOfExperts) -> dict[str, Cost]:
        costs = {"router": self._router(moe)}
        if np.any(self.designs.shared_experts > 0):
            costs["shared_experts"] = self._shared(moe)
        if moe.latent_width is not None:
            costs["latent_projections"] = self._latent(moe, moe.latent_width)
        costs["routed_experts"] = self._routed(moe)
        return costs

    def _latent(self, moe: MixtureOfExperts, latent_width: int) -> Cost:
        """Down to the routed experts' narrower input and up again."""
        kernel, size = self.replica.gemm("dense")
        both = self.model.hidden_size + latent_width
        parameters = 2 * moe.layers * self.model.hidden_size * latent_width
        return dense_gemm(
            kernel, 2 * moe.layers, self._tokens_here, parameters, size, 2.0 * moe.layers * both
        )

    def _routed(self, moe: MixtureOfExperts) -> Cost:
        replica = self.replica
        dtype = replica.precision.of("routed_experts")
        load = self.load or self._expert_load()
        cut = replica.expert_tensor_parallel
        width_here = self.designs.expert_width / cut
        one = expert_parameters(
            moe.latent_width or self.model.hidden_size, width_here, moe.matrices, moe.expert_bias
        )
        return routed_experts(
            replica.kernel("routed_experts", dtype),
            moe.layers,
            load.unique_experts,
            load.token_slots,
            one,
            BYTES_PER_ELEMENT[dtype],
            width_here,
        )

    def _expert_load(self) -> RankLoad:
        """Experts loaded and token-expert pairs computed on the GPU that has most of them."""
        designs, ranks = self.designs, self.replica.expert_parallel
        shape = (designs.experts, designs.top_k, self.sequences, self.width, self.router)
        if ranks == 1:
            slots = self.sequences * self.width * designs.top_k
            return RankLoad(unique_experts(*shape), slots)
        return busiest_rank(*shape, ranks)

    def _router(self, moe: MixtureOfExperts) -> Cost:
        """The gate, on every GPU in full; its top-k is among the small kernels."""
        dtype = self.replica.precision.embeddings
        hidden, experts = self.model.hidden_size, self.designs.experts
        return dense_gemm(
            self.replica.kernel("gemm", dtype),
            moe.layers,
            self._tokens_here,
            moe.layers * hidden * experts,
            BYTES_PER_ELEMENT[dtype],
            moe.layers * (hidden + experts),
        )

    def _shared(self, moe: MixtureOfExperts) -> Cost:
        """One fused feed-forward layer of S experts' width: two products and an activation."""
        kernel, size = self.replica.gemm("shared_experts")
        hidden, shared = self.model.hidden_size, self.designs.shared_experts
        width = shared * self.designs.expert_width * shared_width_ratio(self.model)
        width = width / self.replica.tensor_parallel
        present = (shared > 0).astype(np.float64)
        products = dense_gemm(
            kernel,
            2 * moe.layers * present,
            self._tokens_here,
            moe.layers * expert_parameters(hidden, width, moe.matrices),
            size,
            moe.layers * (2.0 * hidden + moe.matrices * width) * present,
        )
        small = self.replica.kernel("elementwise", "bf16")
        return products + elementwise(small, moe.layers, 0.0, hidden) * present

    def _dense(self) -> Cost:
        kernel, size = self.replica.gemm("dense")
        hidden, shards = self.model.hidden_size, self.replica.tensor_parallel
        total = Cost()
        for group in self.model.dense:
            total = total + dense_gemm(
                kernel,
                2 * group.layers,
                self._tokens_here,
                group.layers * expert_parameters(hidden, group.width / shards, group.matrices),
                size,
                group.layers * (2.0 * hidden + group.matrices * group.width / shards),
            )
        return total

    def _small_kernels(self) -> Cost:
        layers = self.model.layers * (self.model.block_norms + LAUNCHES_PER_LAYER)
        gates = self.model.moe.layers if self.model.moe else 0
        kernel = self.replica.kernel("elementwise", "bf16")
        launches = layers + gates + LAUNCHES_PER_PASS
        return elementwise(kernel, launches, self._tokens_here, self.model.hidden_size)

    def _head(self) -> Cost:
        dtype = self.replica.precision.embeddings
        hidden, rows = self.model.hidden_size, self.model.vocab_size / self.replica.tensor_parallel
        return dense_gemm(
            self.replica.kernel("gemm", dtype),
            1,
            self._tokens_here,
            hidden * rows,
            BYTES_PER_ELEMENT[dtype],
            hidden + rows,
        )

    def _communication(self) -> Cost:
        """Attention and feed-forward results summed, tokens sent to experts, logits gathered."""
        link, replica = self.replica.interconnect, self.replica
        assert link is not None
        hidden = self.model.hidden_size
        message = self._tokens_here * (hidden * ACTIVATION_BYTES)
        moe_layers = self.model.moe.layers if self.model.moe else 0
        dense_layers = sum(group.layers for group in self.model.dense)
        attention_layers = sum(group.layers for group in self.model.attention)
        logits = self._tokens_here * (self.model.vocab_size * ACTIVATION_BYTES / 2)
        total = all_reduce(link, attention_layers + dense_layers, replica.tensor_parallel, message)
        total = total + all_reduce(link, 1, replica.tensor_parallel, logits)
        if replica.data_parallel == 1:
            return total + all_reduce(link, moe_layers, replica.gpus, message)
        if replica.expert_parallel == 1:
            gathered = message * replica.data_parallel
            return total + all_reduce(link, moe_layers, replica.gpus, gathered)
        copies = self._tokens_here * self.designs.top_k
        outward = min(BYTES_PER_ELEMENT[replica.precision.of("routed_experts")], ACTIVATION_BYTES)
        return total + dispatch_combine(link, moe_layers, copies * hidden, max(outward, 1.0))
