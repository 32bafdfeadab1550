"""What a design is: its load, its parameters and quality, and the experts its tokens load."""

from dataclasses import fields
from functools import cached_property

import numpy as np

from codesign.designs import Designs
from codesign.figure import figure
from codesign.model import quality
from codesign.model.arrays import ArrayLike, FloatArray
from codesign.model.latent_router import overlap, unique_experts
from codesign.model.quality import QualityInputs
from codesign.model.routing import RouterParameters, lag_correlation, unique_experts_uniform
from codesign.parameter_counts import DesignParameters, spent_width
from codesign.scenario import Scenario


class DesignFigures:
    """First part of a `codesign.prediction.Prediction`.

    Parameters
    ----------
    designs : Designs
    scenario : Scenario
    """

    def __init__(self, designs: Designs, scenario: Scenario) -> None:
        self.designs = designs
        self.scenario = scenario

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
