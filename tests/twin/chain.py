"""From a design to every figure, as docs/model.md derives them: 30-digit scalars."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from codesign.scenario import Scenario
from codesign.spec.architecture import Architecture, DenseFeedForward
from codesign.spec.precision import Precision
from tests.twin.facts import Counts, counts, dtype_of, mixers, shared_ratio, size
from tests.twin.laws import loss_difference
from tests.twin.passes import Design, Pass
from tests.twin.router import (
    Exactly,
    Router,
    Unique,
    exact_correlation,
    excess,
    plain,
    threshold_and_share,
    uniform,
    unique,
)

REQUEST_TOKENS = 256
GIB = 2**30


@dataclass(frozen=True)
class Twin:
    """One design at one batch size; `unique_of` may stand in for the quadrature."""

    scenario: Scenario
    design: Design
    batch: int
    unique_of: Unique = unique

    # ---- parameters --------------------------------------------------------------------------

    @property
    def model(self) -> Architecture:
        return self.scenario.reference

    @cached_property
    def counts(self) -> Counts:
        design = self.design
        return counts(self.model, design.experts, design.shared_experts, design.expert_width)

    @cached_property
    def active(self) -> Any:
        idle = 1 - Exactly.mpf(self.design.top_k) / self.design.experts
        return Exactly.mpf(self.counts.total) - self.counts.routed * idle

    # ---- passes ------------------------------------------------------------------------------

    def target(self, window: int) -> Pass:
        scenario = self.scenario
        return Pass(
            self.model, self.design, scenario.replica, scenario.replica.precision,
            plain(scenario.router), self.batch, window, scenario.context, self.unique_of,
            scenario.replica.host_time,
        )  # fmt: skip

    @cached_property
    def draft_model(self) -> tuple[Architecture, Design, Precision] | None:
        """What drafts, its experts and its formats; nothing where it is a share of the target."""
        draft, target = self.scenario.drafting.draft, self.model
        precision = self.scenario.replica.precision
        if draft.kind == "fraction":
            return None
        if draft.kind == "model":
            model = self.scenario.drafting.model
            assert model is not None
            moe = model.moe
            sizes = (1, 1, 0, 1) if moe is None else (
                moe.experts, moe.top_k, moe.shared_experts, moe.expert_width)  # fmt: skip
            return model, Design(*sizes[:3], self.design.draft_tokens, sizes[3]), model.precision
        whole = [group for group in target.attention if group.window is None]
        one = (whole or list(target.attention))[0].model_copy(update={"layers": 1})
        changes: dict[str, Any] = {"layers": 1, "attention": (one,), "other_parameters": 0}
        if draft.kind == "eagle":
            width = target.draft_ffn_width or 4 * target.hidden_size
            changes |= {
                "moe": None, "dense": (DenseFeedForward(layers=1, width=width),),
                "vocab_size": min(target.vocab_size, 32_768), "tied_embeddings": True,
            }  # fmt: skip
        elif target.moe is not None:
            changes |= {"moe": target.moe.model_copy(update={"layers": 1}), "dense": ()}
        else:
            changes["dense"] = (target.dense[0].model_copy(update={"layers": 1}),)
        return target.model_copy(update=changes), self.design, precision

    @cached_property
    def draft_seconds(self) -> Any:
        """D(B, K)."""
        draft, drafted = self.scenario.drafting.draft, self.design.draft_tokens
        passes = min(drafted, 1) if draft.parallel else drafted
        if self.draft_model is None:
            alone = replace(self.target(1), batch=1, host_time=0.0)
            return passes * Exactly.mpf(draft.fraction or 0.0) * alone.seconds()
        model, design, precision = self.draft_model
        window = max(drafted, 1) if draft.parallel else 1
        one = replace(
            self.target(window), model=model, design=design, precision=precision, host_time=0.0
        )
        chaining = Exactly.mpf(0)
        if draft.kind in ("eagle", "mtp"):
            chaining = replace(one, model=self.model).elementwise(8, one.tokens).seconds
        return passes * (one.seconds() + chaining)

    # ---- memory ------------------------------------------------------------------------------

    @cached_property
    def weights(self) -> Any:
        precision = self.scenario.replica.precision
        return self._weights(self.counts, self.design, precision, True)

    def _weights(
        self, found: Counts, design: Design, precision: Precision, embeddings: bool
    ) -> Any:
        replica = self.scenario.replica
        plain = size(precision.embeddings)
        cut = found.shared * size(dtype_of(precision, "shared_experts"))
        cut += found.attention * size(dtype_of(precision, "attention"))
        cut += found.dense * size(dtype_of(precision, "dense"))
        cut += (found.embedding + found.lm_head) * plain if embeddings else 0
        whole = (found.router + found.norm + found.other) * plain
        whole += found.latent * size(dtype_of(precision, "dense"))
        routed = found.routed * size(dtype_of(precision, "routed_experts"))
        held = Exactly.mpf(-(-design.experts // replica.expert_parallel)) / design.experts
        over = replica.gpus // replica.expert_parallel
        return (
            Exactly.mpf(routed) * held / over + Exactly.mpf(cut) / replica.tensor_parallel + whole
        )

    def _caches(self, model: Architecture, precision: Precision) -> Any:
        sequences, cut = self.target(1).sequences, self.scenario.replica.tensor_parallel
        total = Exactly.mpf(0)
        for mixer in mixers(model):
            window = self.scenario.context
            kept = window if mixer.window is None else min(window, mixer.window)
            elements = (
                kept * Exactly.mpf(mixer.cached + mixer.index_cached) / min(cut, mixer.shards)
            )
            total += mixer.layers * (elements + Exactly.mpf(mixer.state) / cut)
        return total * sequences * size(precision.kv_cache)

    @cached_property
    def draft_weights(self) -> Any:
        if self.draft_model is None:
            return Exactly.mpf(0)
        model, design, precision = self.draft_model
        found = counts(model, design.experts, design.shared_experts, design.expert_width)
        own = self.scenario.drafting.draft.kind != "mtp"
        return self._weights(found, design, precision, own)

    @cached_property
    def caches(self) -> Any:
        own = self._caches(self.model, self.scenario.replica.precision)
        if self.draft_model is None:
            return own
        model, _, precision = self.draft_model
        return own + self._caches(model, precision)

    @cached_property
    def workspace(self) -> Any:
        """On the group of GPUs that has most sequences."""
        tokens = self.target(self.design.draft_tokens + 1).tokens
        return GIB + 32 * Exactly.mpf(tokens) * self.model.hidden_size

    @cached_property
    def kv_capacity(self) -> Any:
        replica = self.scenario.replica
        besides = self.weights + self.draft_weights + self.workspace
        free = max(Exactly.mpf(replica.memory_limit) - besides, 0)
        if self.caches == 0:
            return Exactly.inf if Exactly.mpf(replica.memory_limit) >= besides else Exactly.mpf(0)
        each = self.caches / self.target(1).sequences
        return Exactly.floor(free / each) * (replica.gpus // replica.tensor_parallel)

    # ---- acceptance --------------------------------------------------------------------------

    def acceptance(self) -> tuple[Any, Any]:
        """AL, and the relative spread of a request's cycles."""
        survival = [Exactly.mpf(float(each)) for each in self.scenario.survival]
        kept = survival[: self.design.draft_tokens]
        mean = 1 + sum(kept, Exactly.mpf(0))
        square = sum(((2 * place + 1) * each for place, each in enumerate(kept)), Exactly.mpf(0))
        variance = max(square - (mean - 1) ** 2, 0)
        return mean, Exactly.sqrt(variance / (mean * REQUEST_TOKENS))

    # ---- figures -----------------------------------------------------------------------------

    def unique(self, window: int, router: Router | None = None) -> Any:
        design, own = self.design, plain(self.scenario.router)
        return self.unique_of(design.experts, design.top_k, self.batch, window, router or own)

    def overlap(self) -> Any:
        """Of neighbouring tokens."""
        experts, top_k, own = self.design.experts, self.design.top_k, plain(self.scenario.router)
        share = Exactly.mpf(top_k) / experts
        if top_k == experts:
            return Exactly.mpf(1)
        threshold, variance = threshold_and_share(experts, top_k)
        correlation = Exactly.mpf(own.popularity) + own.request + own.recency
        effective = exact_correlation(correlation, threshold, variance)
        return share + excess(threshold, effective) / share

    def figures(self) -> dict[str, Any]:
        """Every figure of `codesign.prediction.FIGURES` that needs no further input."""
        scenario, design, batch = self.scenario, self.design, self.batch
        drafted, window = design.draft_tokens, design.draft_tokens + 1
        decode, verify = (self.target(width).components() for width in (1, window))
        one, many = (
            sum((each.seconds for each in found.values()), Exactly.mpf(0))
            for found in (decode, verify)
        )
        routed = decode.get("routed_experts")
        loads = routed.memory / one if routed else Exactly.mpf(0)
        experts, grown = self.unique(1), self.unique(window)
        ratio = Exactly.mpf(1)
        if drafted:
            cycle = self.draft_seconds + many + Exactly.mpf(scenario.replica.sd_overhead)
            ratio = cycle / one * Exactly.mpf(scenario.cycle_error)
        length, spread = self.acceptance()
        speedup = length / ratio
        faster = batch * speedup / one
        gpus, own = scenario.replica.gpus, plain(scenario.router)
        quantile = Exactly.sqrt(2) * Exactly.erfinv(Exactly.mpf("0.9"))
        found = {
            "tokens": batch * window,
            "total_params": self.counts.total,
            "active_params": self.active,
            "activation_ratio": Exactly.mpf(design.top_k + design.shared_experts)
            / (design.experts + design.shared_experts),
            "training_flop": 6 * self.active * Exactly.mpf(scenario.training_tokens),
            "loss_difference": self.loss(),
            "unique_experts_decode": experts,
            "unique_experts_verify": grown,
            "unique_experts_uniform": uniform(design.experts, design.top_k, batch * window),
            "unique_experts_independent": self.unique(
                window, own._replace(request=0.0, recency=0.0)
            ),
            "overlap_lag1": self.overlap(),
            "step_time_decode_s": one,
            "step_time_verify_s": many,
            "draft_time_s": self.draft_seconds,
            "routed_time_fraction": routed.seconds / one if routed else Exactly.mpf(0),
            "routed_load_fraction": loads,
            "amdahl_ratio": loads * grown / experts + 1 - loads,
            "target_efficiency": one / many,
            "acceptance_length": length,
            "cycle_ratio": ratio,
            "sd_speedup": speedup,
            "break_even_acceptance_length": ratio,
            "break_even_acceptance": (ratio - 1) / drafted if drafted else Exactly.mpf(0),
            "tpot_s": one,
            "sd_tpot_s": one / speedup,
            "sd_tpot_p95_s": one / speedup * (1 + quantile * spread),
            "tokens_per_s": batch / one,
            "sd_tokens_per_s": faster,
            "sd_tokens_per_s_per_gpu": faster / gpus,
            "memory_bytes_per_gpu": self.weights
            + self.draft_weights
            + self.caches
            + self.workspace,
            "kv_capacity_sequences": self.kv_capacity,
            "relative_throughput": faster / (batch / self.reference_seconds()),
        }
        if scenario.price_per_gpu_hour is not None:
            dollars = Exactly.mpf(scenario.price_per_gpu_hour) * gpus / 3600
            found["cost_per_million_tokens"] = dollars * 10**6 / faster
        if scenario.replica.hardware.power is not None:
            found["energy_per_token_j"] = gpus * scenario.replica.hardware.power.value / faster
        return found

    def reference_seconds(self) -> Any:
        """A decode step of the reference's own experts."""
        moe = self.model.moe
        own = Design(1, 1, 0, 0, 1) if moe is None else Design(
            moe.experts, moe.top_k, moe.shared_experts, 0, moe.expert_width)  # fmt: skip
        return replace(self, design=own).target(1).seconds()

    def loss(self) -> Any:
        """Mean of the five laws' differences to the reference."""
        moe = self.model.moe
        own = Design(1, 1, 0, 0, 1) if moe is None else Design(
            moe.experts, moe.top_k, moe.shared_experts, 0, moe.expert_width)  # fmt: skip
        return loss_difference(self._sizes(self.design), replace(self, design=own)._sizes(own))

    def _sizes(self, design: Design) -> dict[str, Any]:
        moe = self.model.moe
        layers = moe.layers if moe else self.model.layers
        always = design.shared_experts * shared_ratio(self.model)
        dense = sum(group.layers * group.width for group in self.model.dense)
        twin = replace(self, design=design)
        return {
            "total": Exactly.mpf(twin.counts.total), "active": Exactly.mpf(twin.active),
            "experts": design.experts, "top_k": design.top_k, "shared": Exactly.mpf(always),
            "dense": Exactly.mpf(dense) / layers / Exactly.mpf(design.expert_width),
            "fineness": 2 * self.model.hidden_size / Exactly.mpf(design.expert_width),
            "tokens": Exactly.mpf(self.scenario.training_tokens),
        }  # fmt: skip
