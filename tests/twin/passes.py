"""One forward pass, component by component, written out from docs/model.md: 30-digit scalars."""

from dataclasses import dataclass
from typing import Any

from codesign.replica import Replica
from codesign.spec.architecture import Architecture, MixtureOfExperts
from codesign.spec.precision import Precision
from tests.twin.facts import Mixer, dtype_of, feed_forward, mixers, shared_ratio, size
from tests.twin.router import Exactly, Load, Router, Unique, busiest


@dataclass(frozen=True)
class Design:
    """What a design chooses."""

    experts: int
    top_k: int
    shared_experts: int
    draft_tokens: int
    expert_width: float


@dataclass(frozen=True)
class Time:
    """Launch floors, byte time and FLOP time of one component [s]."""

    floor: Any
    memory: Any
    compute: Any

    @property
    def seconds(self) -> Any:
        return self.floor + self.memory + self.compute


NOTHING = Time(Exactly.mpf(0), Exactly.mpf(0), Exactly.mpf(0))


def added(*times: Time) -> Time:
    """Several components as one."""
    return Time(*(sum((getattr(each, part) for each in times), Exactly.mpf(0))
                  for part in ("floor", "memory", "compute")))  # fmt: skip


@dataclass(frozen=True)
class Pass:
    """B sequences of q tokens through a model on the GPU that finishes last."""

    model: Architecture
    design: Design
    replica: Replica
    precision: Precision
    router: Router
    batch: int
    window: int
    context: int
    unique_of: Unique
    host_time: float

    @property
    def data_parallel(self) -> int:
        return self.replica.gpus // self.replica.tensor_parallel

    @property
    def sequences(self) -> int:
        """On one group of tensor-parallel GPUs."""
        return -(-self.batch // self.data_parallel)

    @property
    def tokens(self) -> int:
        return self.sequences * self.window

    @property
    def cut(self) -> int:
        return self.replica.tensor_parallel

    def components(self) -> dict[str, Time]:
        """Every component by name."""
        model = self.model
        found = {
            "attention_projections": self.projections(),
            "attention_core": added(*(self.core(each) for each in mixers(model))),
            "norms_and_small_kernels": self.small_kernels(),
            "lm_head": self.head(),
        }
        if model.dense:
            found["dense_ffn"] = self.dense()
        if self.host_time > 0:
            found["host"] = Time(Exactly.mpf(self.host_time), Exactly.mpf(0), Exactly.mpf(0))
        if self.replica.gpus > 1:
            found["communication"] = self.communication()
        if model.moe is not None:
            found |= self.mixture(model.moe)
        return found

    def seconds(self) -> Any:
        """Their sum."""
        return sum((each.seconds for each in self.components().values()), Exactly.mpf(0))

    # ---- one kernel --------------------------------------------------------------------------

    def kernel(self, kind: Any, dtype: Any, launches: Any, traffic: Any, flop: Any) -> Time:
        """t0 per launch, and bytes and FLOP joined by a p-norm that shortens both alike."""
        constants = self.replica.kernels[kind, dtype].kernel
        memory = Exactly.mpf(traffic) / Exactly.mpf(float(constants.bandwidth))
        compute = Exactly.mpf(flop) / Exactly.mpf(float(constants.compute))
        together, p = memory + compute, Exactly.mpf(constants.norm)
        if p != 1 and together > 0:
            share = (memory**p + compute**p) ** (1 / p) / together
            memory, compute = memory * share, compute * share
        return Time(launches * Exactly.mpf(float(constants.floor)), memory, compute)

    def product(
        self, dtype: str, launches: Any, parameters: Any, activations: Any, tokens: Any
    ) -> Time:
        """Dense matrix products: weights once, bf16 activations per token, 2 FLOP per weight."""
        parameters = Exactly.mpf(parameters)
        traffic = parameters * size(dtype) + tokens * Exactly.mpf(activations) * 2
        return self.kernel("gemm", dtype, launches, traffic, 2 * tokens * parameters)

    # ---- components --------------------------------------------------------------------------

    def projections(self) -> Time:
        found, hidden = mixers(self.model), self.model.hidden_size
        here = Exactly.mpf(sum(each.layers * each.matrices for each in found)) / self.cut
        layers = sum(each.layers for each in found)
        launches = sum(each.layers * each.products for each in found)
        activations = 2 * hidden * layers + here / hidden
        dtype = dtype_of(self.precision, "attention")
        return self.product(dtype, launches, here, activations, self.tokens)

    def core(self, mixer: Mixer) -> Time:
        """The cache is read once for all the tokens of a sequence."""
        seen = self.context if mixer.window is None else min(self.context, mixer.window)
        read = seen if mixer.selected is None else min(seen, mixer.selected)
        dtype = self.precision.kv_cache
        element, copies = size(dtype), min(self.cut, mixer.shards)

        def one(kind: str, tokens: int, elements: int, flop: int) -> Time:
            cached = Exactly.mpf(tokens) * elements / copies
            state = 2 * Exactly.mpf(mixer.state) / self.cut
            traffic = mixer.layers * self.sequences * (cached + state) * element
            work = Exactly.mpf(mixer.layers) * self.sequences * self.window * tokens * flop
            return self.kernel(kind, dtype, mixer.layers, traffic, work / self.cut)

        main = one(mixer.kernel, read, mixer.cached, mixer.flop)
        if not mixer.index_flop:
            return main
        return added(main, one("attention", seen, mixer.index_cached, mixer.index_flop))

    def dense(self) -> Time:
        dtype, hidden = dtype_of(self.precision, "dense"), self.model.hidden_size
        return added(
            *(
                self.product(
                    dtype,
                    2 * group.layers,
                    group.layers
                    * feed_forward(hidden, Exactly.mpf(group.width) / self.cut, group.matrices),
                    group.layers
                    * (2 * hidden + group.matrices * Exactly.mpf(group.width) / self.cut),
                    self.tokens,
                )
                for group in self.model.dense
            )
        )

    def small_kernels(self) -> Time:
        gates = self.model.moe.layers if self.model.moe else 0
        return self.elementwise(
            self.model.layers * (self.model.block_norms + 2) + gates + 5, self.tokens
        )

    def elementwise(self, launches: int, tokens: Any) -> Time:
        """Hidden state and residual, read and written in bf16."""
        traffic = launches * tokens * 4 * self.model.hidden_size * 2
        return self.kernel("elementwise", "bf16", launches, traffic, 0)

    def head(self) -> Time:
        rows = Exactly.mpf(self.model.vocab_size) / self.cut
        hidden = self.model.hidden_size
        return self.product(self.precision.embeddings, 1, hidden * rows, hidden + rows, self.tokens)

    # ---- experts -----------------------------------------------------------------------------

    def mixture(self, moe: MixtureOfExperts) -> dict[str, Time]:
        found = {"router": self.gate(moe), "routed_experts": self.routed(moe)}
        if self.design.shared_experts:
            found["shared_experts"] = self.shared(moe)
        if moe.latent_width:
            hidden, dtype = self.model.hidden_size, dtype_of(self.precision, "dense")
            found["latent_projections"] = self.product(
                dtype, 2 * moe.layers, 2 * moe.layers * hidden * moe.latent_width,
                2 * moe.layers * (hidden + moe.latent_width), self.tokens,
            )  # fmt: skip
        return found

    def gate(self, moe: MixtureOfExperts) -> Time:
        hidden, experts = self.model.hidden_size, self.design.experts
        return self.product(
            self.precision.embeddings, moe.layers, moe.layers * hidden * experts,
            moe.layers * (hidden + experts), self.tokens,
        )  # fmt: skip

    def shared(self, moe: MixtureOfExperts) -> Time:
        """All shared experts as one layer: two products and an activation."""
        hidden = self.model.hidden_size
        one = Exactly.mpf(self.design.expert_width) * Exactly.mpf(shared_ratio(self.model))
        width = self.design.shared_experts * one / self.cut
        weights = moe.layers * feed_forward(hidden, width, moe.matrices)
        products = self.product(
            dtype_of(self.precision, "shared_experts"), 2 * moe.layers, weights,
            moe.layers * (2 * hidden + moe.matrices * width), self.tokens,
        )  # fmt: skip
        return added(products, self.elementwise(moe.layers, 0))

    def load(self) -> Load:
        """Experts loaded by, and pairs of token and expert on, the GPU that has most."""
        design = self.design
        return busiest(
            design.experts, design.top_k, self.batch, self.window, self.router,
            self.replica.expert_parallel, self.unique_of,
        )  # fmt: skip

    def routed(self, moe: MixtureOfExperts) -> Time:
        load = self.load()
        dtype: Any = dtype_of(self.precision, "routed_experts")
        over = self.replica.gpus // self.replica.expert_parallel
        width = Exactly.mpf(self.design.expert_width) / over
        inputs = moe.latent_width or self.model.hidden_size
        weights = feed_forward(inputs, width, moe.matrices, moe.expert_bias)
        narrow = self.replica.kernels["routed_experts", dtype].kernel.narrow_width
        reached = 1 / (1 + (Exactly.mpf(narrow) / width) ** 1.5)
        traffic = moe.layers * load.unique * weights * size(dtype) / reached
        flop = 2 * moe.layers * load.slots * weights
        return self.kernel("routed_experts", dtype, moe.layers, traffic, flop)

    # ---- between GPUs ------------------------------------------------------------------------

    def communication(self) -> Time:
        model, replica, hidden = self.model, self.replica, self.model.hidden_size
        message = Exactly.mpf(self.tokens) * hidden * 2
        summed = sum(each.layers for each in mixers(model))
        summed += sum(group.layers for group in model.dense)
        parts = [
            self.all_reduce(summed, self.cut, message),
            # An all-gather sends half of what an all-reduce does.
            self.all_reduce(1, self.cut, Exactly.mpf(self.tokens) * model.vocab_size),
        ]
        moe = model.moe.layers if model.moe else 0
        if self.data_parallel == 1:
            parts.append(self.all_reduce(moe, replica.gpus, message))
        elif replica.expert_parallel == 1:
            parts.append(self.all_reduce(moe, replica.gpus, message * self.data_parallel))
        else:
            parts.append(self.exchange(moe, hidden))
        return added(*parts)

    def all_reduce(self, times: int, gpus: int, message: Any) -> Time:
        link = self.replica.interconnect
        if gpus == 1 or times == 0 or link is None:
            return NOTHING
        shares = link.all_reduce_shares or (1.0,) * len(link.gpus)
        floor = _between(link.gpus, link.all_reduce_floors, gpus)
        bandwidth = Exactly.mpf(link.all_reduce_bandwidth) * _between(link.gpus, shares, gpus)
        moved = 2 * Exactly.mpf(gpus - 1) / gpus * message
        return Time(times * floor, times * moved / bandwidth, Exactly.mpf(0))

    def exchange(self, layers: int, hidden: int) -> Time:
        """Tokens out to their experts and results back."""
        link = self.replica.interconnect
        assert link is not None
        dtype = dtype_of(self.precision, "routed_experts")
        outward = max(1.0, min(2.0, size(dtype)))
        sent = Exactly.mpf(self.tokens) * self.design.top_k * hidden * (outward + 2)
        floor = Exactly.mpf(link.dispatch_floor) + Exactly.mpf(link.combine_floor)
        bandwidth = Exactly.mpf(link.all_to_all_bandwidth)
        return Time(layers * floor, layers * sent / bandwidth, Exactly.mpf(0))


def _between(known: tuple[int, ...], values: tuple[float, ...], gpus: int) -> Any:
    """Linear in log2 between known numbers of GPUs, held beyond them."""
    if gpus <= known[0]:
        return Exactly.mpf(values[0])
    for low, high, left, right in zip(known, known[1:], values, values[1:], strict=False):
        if gpus <= high:
            part = Exactly.log(Exactly.mpf(gpus) / low) / Exactly.log(Exactly.mpf(high) / low)
            return left + (Exactly.mpf(right) - left) * part
    return Exactly.mpf(values[-1])
