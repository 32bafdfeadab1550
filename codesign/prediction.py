"""What speculative decoding does for a design: every intermediate figure, vectorised.

This is the one seam that constraints, objectives, search and reports read. Figures are computed on
demand; one that depends on the load has a leading axis of batch sizes before the designs' axes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from codesign.designs import Designs
from codesign.draft_model import Drafting
from codesign.errors import UsageError
from codesign.figure import Figure, figure, figures_of, find_figure
from codesign.footprint import Footprint
from codesign.forward_pass import ForwardPass
from codesign.model import intensity, quality, speedup
from codesign.model.acceptance import acceptance_length
from codesign.model.amdahl import amdahl_ratio
from codesign.model.arrays import ArrayLike, FloatArray
from codesign.model.latent_router import overlap, unique_experts
from codesign.model.quality import QualityInputs
from codesign.model.roofline import Cost, total_seconds
from codesign.model.routing import RouterParameters, lag_correlation, unique_experts_uniform
from codesign.parameter_counts import (
    DesignParameters,
    WidthBudget,
    inner_size,
    reference_width,
    spent_width,
)
from codesign.replica import Replica
from codesign.spec.architecture import Architecture
from codesign.spec.calibration import Calibration

REQUEST_TOKENS = 256
"""Length of the requests whose time per token `sd_tpot_p95_s` looks at [token]."""

NORMAL_95 = 1.6449
"""Standard normal quantile at 95 %."""


@dataclass(frozen=True)
class Scenario:
    """All that is held fixed while designs are compared.

    Parameters
    ----------
    reference : Architecture
        The model the designs vary.
    replica : Replica
        Resolved hardware and degrees of parallelism.
    batch_sizes : tuple of int
        Sequences decoded together per replica.
    shares : tuple of float
        Share of the generated tokens at each batch size; adds up to 1.
    context : int
        Cached tokens per sequence [token].
    router : RouterParameters
        How alike nearby tokens' experts are.
    survival : ndarray, shape (positions,)
        Probability that a draft survives to each position [-].
    drafting : Drafting
        What is run to draft.
    price_per_gpu_hour : float, optional
        [USD/h].
    training_tokens : float
        Of every design [token].
    width_budget : {"active", "total"}, optional
        Which expert parameters the expert width keeps as the reference's.
    baseline : Architecture, optional
        What designs are compared with where a study also varies the reference itself.
    tpot_limit : float, optional
        Time per token that goodput must keep [s].
    quality_draws : int
        Draws per quality law, a power of two; 0: best coefficients alone.
    quality_epsilon : float
        Loss that the study may give up [nat/token].
    cycle_error : float
        Factor by which every cycle ratio is off: drawn, 1 at the values in use [-].
    assumptions : tuple of str
    calibration : Calibration, optional
        Whose measurements are in use.
    """

    reference: Architecture
    replica: Replica
    batch_sizes: tuple[int, ...]
    shares: tuple[float, ...]
    context: int
    router: RouterParameters
    survival: FloatArray
    drafting: Drafting
    price_per_gpu_hour: float | None
    training_tokens: float
    width_budget: WidthBudget | None = "active"
    baseline: Architecture | None = None
    tpot_limit: float | None = None
    quality_draws: int = 0
    quality_epsilon: float = quality.EPSILON
    cycle_error: float = 1.0
    assumptions: tuple[str, ...] = ()
    calibration: Calibration | None = None

    def width_to_spend(self, budget: WidthBudget) -> float:
        """Return the width over which a design spends the baseline's expert parameters [element].

        Where the hidden size or the number of MoE layers differ from the baseline's, the width
        makes up for it.
        """
        if self.baseline is None:
            return reference_width(self.reference, budget)
        own, other = inner_size(self.reference), inner_size(self.baseline)
        return reference_width(self.baseline, budget) * other / own

    def at(self, batch_sizes: tuple[int, ...]) -> "Scenario":
        """Return the same at other batch sizes, in equal shares."""
        share = 1.0 / len(batch_sizes)
        return replace(self, batch_sizes=batch_sizes, shares=(share,) * len(batch_sizes))


def predict(designs: Designs, scenario: Scenario) -> "Prediction":
    """Predict any number of designs in one scenario.

    Parameters
    ----------
    designs : Designs
    scenario : Scenario

    Returns
    -------
    Prediction
        Figures by attribute; `Prediction.value` also averages them over the workload mix.
    """
    return Prediction(designs, scenario)


class Prediction:
    """Figures of designs in a scenario.

    Parameters
    ----------
    designs : Designs
    scenario : Scenario
    """

    def __init__(self, designs: Designs, scenario: Scenario) -> None:
        self.designs = designs
        self.scenario = scenario

    # ---- over the workload mix -----------------------------------------------------------

    def value(self, name: str) -> FloatArray:
        """Return a figure, by its name or alias, over the workload mix.

        Raises
        ------
        UsageError
            If there is no such figure, with the nearest name.
        """
        chosen = find_figure(type(self), name)
        values: FloatArray = getattr(self, chosen.name)
        shares = self._per_batch(self.scenario.shares)
        match chosen.over_mix:
            case "none":
                return values
            case "max":
                return np.asarray(values.max(axis=0))
            case "mean":
                return np.asarray((shares * values).sum(axis=0))
            case "goodput":  # every token takes its time, only those in time count
                return np.asarray(
                    (shares * (values > 0)).sum(axis=0)
                    / (shares / self.sd_tokens_per_s).sum(axis=0)
                )
            case "harmonic":
                return np.asarray(1 / (shares / values).sum(axis=0))
        time = shares / self.tokens_per_s
        return np.asarray(time.sum(axis=0) / (time / values).sum(axis=0))

    @property
    def _dimensions(self) -> int:
        return len(self.designs.shape)

    def _per_batch(self, values: tuple[float, ...]) -> FloatArray:
        return np.asarray(values, dtype=np.float64).reshape((-1,) + (1,) * self._dimensions)

    # ---- the load ------------------------------------------------------------------------

    @cached_property
    def batch_size(self) -> FloatArray:
        """Sequences decoded together per replica."""
        return self._per_batch(self.scenario.batch_sizes)

    @cached_property
    def verify_width(self) -> FloatArray:
        """Tokens of one sequence that a verify pass computes, q = K + 1."""
        return self.designs.draft_tokens + 1

    @figure("token", over_mix="max", certain=True)
    def tokens(self) -> FloatArray:
        """Tokens in one verify pass, T = B q."""
        return self.batch_size * self.verify_width

    # ---- parameters and quality ----------------------------------------------------------

    @cached_property
    def _parameters(self) -> DesignParameters:
        return DesignParameters(self.scenario.reference, self.designs)

    @figure("parameter", better="minimize", certain=True)
    def total_params(self) -> FloatArray:
        """Parameters, both embeddings included, prediction layers not."""
        return self._parameters.total

    @figure("parameter", better="minimize", certain=True)
    def active_params(self) -> FloatArray:
        """Parameters one token passes, both embeddings included."""
        return self._parameters.active

    @figure("expert", alias="N", certain=True)
    def experts(self) -> FloatArray:
        """Routed experts per MoE layer."""
        return self.designs.experts

    @figure("expert", alias="k", certain=True)
    def top_k(self) -> FloatArray:
        """Routed experts per token."""
        return self.designs.top_k

    @figure("expert", alias="S", certain=True)
    def shared_experts(self) -> FloatArray:
        """Always-on experts."""
        return self.designs.shared_experts

    @figure("token", alias="K", certain=True)
    def draft_tokens(self) -> FloatArray:
        """Drafted tokens per cycle."""
        return self.designs.draft_tokens

    @figure("element", certain=True)
    def expert_width(self) -> FloatArray:
        """Intermediate width of one routed expert."""
        return self.designs.expert_width

    @figure("-", certain=True)
    def rounding_residual(self) -> FloatArray:
        """Expert parameters over the budget of the width policy, minus 1: what rounding left."""
        budget = self.scenario.width_budget
        if budget is None:
            return np.zeros((1,) * len(self.designs.shape))
        spent = spent_width(self.scenario.reference, self.designs, budget)
        return spent / self.scenario.width_to_spend(budget) - 1.0

    @figure("-", certain=True)
    def activation_ratio(self) -> FloatArray:
        """Effective ratio (k + S)/(N + S)."""
        designs = self.designs
        active = designs.top_k + designs.shared_experts
        return active / (designs.experts + designs.shared_experts)

    @figure("nat/token", better="minimize", certain=True)
    def loss_difference(self) -> FloatArray:
        """Pretraining loss minus the reference's, mean over the ensemble of scaling laws."""
        return quality.loss_difference(self.quality_inputs, self.reference_quality_inputs)

    @cached_property
    def quality_inputs(self) -> QualityInputs:
        """What the quality laws read of the designs."""
        return self._parameters.quality_inputs(self.scenario.training_tokens)

    @cached_property
    def reference_quality_inputs(self) -> QualityInputs:
        """The same of the reference."""
        baseline = self.scenario.baseline or self.scenario.reference
        base = DesignParameters(baseline, Designs.of_architecture(baseline, 0))
        own = base.quality_inputs(self.scenario.training_tokens)
        return QualityInputs(*(np.reshape(getattr(own, f.name), -1)[0] for f in fields(own)))

    @figure("FLOP", better="minimize", certain=True)
    def training_flop(self) -> FloatArray:
        """Compute of the training run, 6 N_active D."""
        return 6.0 * self.active_params * self.scenario.training_tokens

    # ---- unique experts ------------------------------------------------------------------

    def _unique(self, width: ArrayLike, router: RouterParameters) -> FloatArray:
        designs = self.designs
        return unique_experts(designs.experts, designs.top_k, self.batch_size, width, router)

    @figure("expert", over_mix="mean")
    def unique_experts_decode(self) -> FloatArray:
        """Routed experts per layer that one decode step loads, U(B, 1)."""
        return self._unique(1, self.scenario.router)

    @figure("expert", over_mix="mean")
    def unique_experts_verify(self) -> FloatArray:
        """Routed experts per layer that one verify pass loads, U(B, K+1)."""
        return self._unique(self.verify_width, self.scenario.router)

    @figure("expert", over_mix="mean")
    def unique_experts_uniform(self) -> FloatArray:
        """Experts the verify pass would load if every token chose uniformly."""
        return unique_experts_uniform(self.designs.experts, self.designs.top_k, self.tokens)

    @figure("expert", over_mix="mean")
    def unique_experts_independent(self) -> FloatArray:
        """Experts the verify pass would load if only popularity, not context, were shared."""
        return self._unique(self.verify_width, self.scenario.router.popularity_only())

    @figure("-")
    def overlap_lag1(self) -> FloatArray:
        """Share of a token's experts that the next token of its sequence selects too."""
        correlation = lag_correlation(self.scenario.router, 1)
        return overlap(self.designs.experts, self.designs.top_k, correlation)

    # ---- step times ----------------------------------------------------------------------

    def _pass(self, width: ArrayLike) -> dict[str, Cost]:
        scenario = self.scenario
        return ForwardPass(
            model=scenario.reference,
            designs=self.designs,
            replica=scenario.replica,
            router=scenario.router,
            sequences=self.batch_size,
            width=np.asarray(width, dtype=np.float64),
            context=scenario.context,
        ).costs()

    @cached_property
    def decode_costs(self) -> dict[str, Cost]:
        """Components of one decode step."""
        return self._pass(1)

    @cached_property
    def verify_costs(self) -> dict[str, Cost]:
        """Components of one verify pass."""
        return self._pass(self.verify_width)

    @figure("s", over_mix="mean", better="minimize")
    def step_time_decode_s(self) -> FloatArray:
        """One decode step of the target, T(B, 1)."""
        return total_seconds(self.decode_costs)

    @figure("s", over_mix="mean", better="minimize")
    def step_time_verify_s(self) -> FloatArray:
        """One verify pass of the target, T(B, K+1)."""
        return total_seconds(self.verify_costs)

    @figure("s", over_mix="mean", better="minimize")
    def draft_time_s(self) -> FloatArray:
        """Drafting K tokens, D(B, K)."""
        scenario = self.scenario
        return scenario.drafting.seconds(
            self.designs, scenario.replica, scenario.router, self.batch_size, scenario.context
        )

    @figure("-", over_mix="mean")
    def routed_time_fraction(self) -> FloatArray:
        """Routed experts' share of the decode step, launch floor included."""
        return self._routed(self.decode_costs).seconds / self.step_time_decode_s

    @figure("-", over_mix="mean")
    def routed_load_fraction(self) -> FloatArray:
        """Share of the decode step that is proportional to unique experts (Amdahl's f)."""
        return self._routed(self.decode_costs).memory / self.step_time_decode_s

    def _routed(self, costs: Mapping[str, Cost]) -> Cost:
        return costs.get("routed_experts", Cost())

    # ---- the cycle -----------------------------------------------------------------------

    @figure("-", over_mix="mean", better="minimize")
    def amdahl_ratio(self) -> FloatArray:
        """Verify over decode time if only the loaded experts grew."""
        grown = self.unique_experts_verify / self.unique_experts_decode
        return amdahl_ratio(self.routed_load_fraction, grown)

    @figure("-", over_mix="mean", better="maximize")
    def target_efficiency(self) -> FloatArray:
        """T(B, 1) / T(B, K+1)."""
        return self.step_time_decode_s / self.step_time_verify_s

    @figure("token", better="maximize")
    def acceptance_length(self) -> FloatArray:
        """Tokens per cycle, bonus token included."""
        return acceptance_length(self.scenario.survival, self.designs.draft_tokens)

    @figure("-", over_mix="mean", better="minimize")
    def cycle_ratio(self) -> FloatArray:
        """Draft-verify cycle over decode step."""
        return speedup.cycle_ratio(
            self.draft_time_s,
            self.step_time_verify_s,
            self.scenario.replica.sd_overhead,
            self.step_time_decode_s,
            self.designs.draft_tokens,
            self.scenario.cycle_error,
        )

    @figure("-", over_mix="time", better="maximize")
    def sd_speedup(self) -> FloatArray:
        """Decoding speedup: acceptance length over cycle ratio."""
        return self.acceptance_length / self.cycle_ratio

    @figure("token", over_mix="mean", better="minimize")
    def break_even_acceptance_length(self) -> FloatArray:
        """Acceptance length from which SD pays."""
        return self.cycle_ratio

    @figure("-", over_mix="mean", better="minimize")
    def break_even_acceptance(self) -> FloatArray:
        """Mean share of drafted tokens that must be accepted for SD to pay; above 1: never."""
        return speedup.break_even_acceptance(self.cycle_ratio, self.designs.draft_tokens)

    # ---- latency, throughput, cost, memory -----------------------------------------------

    @figure("s", over_mix="mean", better="minimize", alias="tpot")
    def tpot_s(self) -> FloatArray:
        """Time per output token of one sequence without SD."""
        return self.step_time_decode_s

    @figure("s", over_mix="mean", better="minimize", alias="sd_tpot")
    def sd_tpot_s(self) -> FloatArray:
        """Time per output token of one sequence with SD."""
        return self.step_time_decode_s / self.sd_speedup

    @figure("token/s", over_mix="harmonic", better="maximize")
    def tokens_per_s(self) -> FloatArray:
        """Tokens per second of a replica without SD."""
        return self.batch_size / self.step_time_decode_s

    @figure("token/s", over_mix="harmonic", better="maximize")
    def sd_tokens_per_s(self) -> FloatArray:
        """Tokens per second of a replica with SD."""
        return self.batch_size / self.sd_tpot_s

    @figure("token/s", over_mix="harmonic", better="maximize")
    def sd_tokens_per_s_per_gpu(self) -> FloatArray:
        """Tokens per second and GPU with SD."""
        return self.sd_tokens_per_s / self.scenario.replica.gpus

    @figure("USD", over_mix="mean", better="minimize", alias="cost")
    def cost_per_million_tokens(self) -> FloatArray:
        """Price of a million generated tokens with SD."""
        price = self.scenario.price_per_gpu_hour
        if price is None:
            raise UsageError(
                f"{self.scenario.replica.hardware.name} has no price; give one with --price, such "
                "as --price '2.5 USD/h', or add it to the profile"
            )
        return speedup.cost_per_million_tokens(price, self.sd_tokens_per_s_per_gpu)

    @cached_property
    def footprint(self) -> Footprint:
        """Memory by what fills it."""
        return Footprint.of(
            self._parameters, self.scenario.replica, self.scenario.drafting,
            self.batch_size, self.tokens, self.scenario.context,
        )  # fmt: skip

    @figure("B", over_mix="max", better="minimize", alias="memory", certain=True)
    def memory_bytes_per_gpu(self) -> FloatArray:
        """Weights, caches and workspace on the fullest GPU."""
        return self.footprint.total

    @figure("sequence", over_mix="max", better="maximize", certain=True, alias="kv_capacity")
    def kv_capacity_sequences(self) -> FloatArray:
        """Sequences of the context's length whose caches fit a replica beside everything else."""
        replica, footprint = self.scenario.replica, self.footprint
        free = replica.memory_limit - (footprint.total - footprint.caches)
        here = np.ceil(self.batch_size / replica.data_parallel)
        with np.errstate(divide="ignore", invalid="ignore"):  # an empty context fills nothing
            fitting = np.floor(np.maximum(free, 0.0) / (footprint.caches / here))
        return np.asarray(fitting * replica.data_parallel)

    @figure("s", over_mix="mean", better="minimize", alias="sd_tpot_p95")
    def sd_tpot_p95_s(self) -> FloatArray:
        """95 % quantile over requests of 256 tokens of the time per token with SD."""
        spread = speedup.request_spread(
            self.scenario.survival, self.designs.draft_tokens, REQUEST_TOKENS
        )
        return self.sd_tpot_s * (1.0 + NORMAL_95 * spread)

    @figure("-", over_mix="mean", better="maximize")
    def relative_throughput(self) -> FloatArray:
        """Tokens per second with SD over the reference's without, on the same replica."""
        own = Designs.of_architecture(self.scenario.reference, np.zeros((1,) * self._dimensions))
        return self.sd_tokens_per_s / predict(own, self.scenario).tokens_per_s

    @figure("token/s", over_mix="goodput", better="maximize", alias="goodput")
    def sd_goodput_tokens_per_s(self) -> FloatArray:
        """Tokens per second with SD that keep the workload's limit on time per token."""
        limit = self.scenario.tpot_limit
        if limit is None:
            raise UsageError("goodput needs a limit: workload.tpot_limit, such as 20 ms")
        return np.where(self.sd_tpot_s <= limit, self.sd_tokens_per_s, 0.0)

    @figure("J", over_mix="mean", better="minimize", alias="energy")
    def energy_per_token_j(self) -> FloatArray:
        """Energy per generated token with SD at the GPUs' rated power: an upper bound."""
        power = self.scenario.replica.hardware.power
        if power is None:
            raise UsageError(f"{self.scenario.replica.hardware.name} has no power; add it")
        return self.scenario.replica.gpus * power.value / self.sd_tokens_per_s

    # ---- regime --------------------------------------------------------------------------

    @cached_property
    def regime(self) -> NDArray[np.str_]:
        """What limits verification, per batch size."""
        costs = self.verify_costs.values()
        memory = sum((cost.memory for cost in costs), np.zeros(()))
        compute = sum((cost.compute for cost in costs), np.zeros(()))
        grown = self.unique_experts_verify / self.unique_experts_decode
        sparse = self.designs.top_k < self.designs.experts
        return intensity.regime(grown, memory, compute, sparse)


FIGURES: Mapping[str, Figure] = figures_of(Prediction)
"""Every figure by name, in the order of the derivation."""
