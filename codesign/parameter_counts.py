"""Parameters of designs: what the searched axes change, on top of what the reference fixes."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from codesign.architectures.counting import count_parameters
from codesign.designs import Designs
from codesign.model.arrays import FloatArray
from codesign.model.parameters import (
    active_parameters,
    routed_parameters,
    router_parameters,
    shared_parameters,
)
from codesign.model.quality import QualityInputs
from codesign.spec.architecture import Architecture, shared_width_ratio

WidthBudget = Literal["active", "total"]


@dataclass(frozen=True)
class DesignParameters:
    """Parameter counts of designs of one reference.

    Parameters
    ----------
    reference : Architecture
    designs : Designs
    """

    reference: Architecture
    designs: Designs

    @cached_property
    def routed(self) -> FloatArray:
        """Of all routed experts [parameter]."""
        moe, designs = self.reference.moe, self.designs
        if moe is None:
            return np.zeros(())
        width = moe.latent_width or self.reference.hidden_size
        return routed_parameters(
            moe.layers, designs.experts, width, designs.expert_width, moe.matrices, moe.expert_bias
        )

    @cached_property
    def shared(self) -> FloatArray:
        """Of all shared experts [parameter]."""
        moe = self.reference.moe
        if moe is None:
            return np.zeros(())
        return shared_parameters(
            moe.layers,
            self.designs.shared_experts,
            self.reference.hidden_size,
            self.designs.expert_width * shared_width_ratio(self.reference),
            moe.matrices,
            moe.expert_bias,
        )

    @cached_property
    def router(self) -> FloatArray:
        """Of all routers [parameter]."""
        moe = self.reference.moe
        if moe is None:
            return np.zeros(())
        return router_parameters(
            moe.layers, self.designs.experts, self.reference.hidden_size, moe.router_bias,
            moe.shared_gate,
        )  # fmt: skip

    @cached_property
    def fixed(self) -> int:
        """Everything the axes leave alone [parameter]."""
        counts = count_parameters(self.reference)
        return counts.total - counts.routed - counts.shared - counts.router

    @cached_property
    def total(self) -> FloatArray:
        """All parameters, both embeddings included [parameter]."""
        return self.routed + self.shared + (self.router + self.fixed)

    @cached_property
    def active(self) -> FloatArray:
        """Parameters one token passes: total - routed (1 - k/N) [parameter]."""
        return active_parameters(self.total, self.routed, self.designs.experts, self.designs.top_k)

    def quality_inputs(self, training_tokens: float) -> QualityInputs:
        """Return what the quality laws read."""
        moe, designs = self.reference.moe, self.designs
        dense_width = sum(group.layers * group.width for group in self.reference.dense)
        layers = moe.layers if moe else self.reference.layers
        return QualityInputs(
            total=self.total,
            active=self.active,
            experts=designs.experts,
            top_k=designs.top_k,
            shared_experts=designs.shared_experts * shared_width_ratio(self.reference),
            hidden_size=self.reference.hidden_size,
            expert_width=designs.expert_width,
            training_tokens=training_tokens,
            dense_experts=dense_width / layers / designs.expert_width,
        )


def sharing_experts(reference: Architecture, designs: Designs, budget: WidthBudget) -> FloatArray:
    """Experts that share the width budget: S and k, or S and N; shared ones in routed widths."""
    routed = designs.top_k if budget == "active" else designs.experts
    return routed + designs.shared_experts * shared_width_ratio(reference)


def spent_width(reference: Architecture, designs: Designs, budget: WidthBudget) -> FloatArray:
    """Width that designs spend on those experts [element]."""
    return sharing_experts(reference, designs, budget) * designs.expert_width


def inner_size(reference: Architecture) -> int:
    """Elements of all MoE layers' experts per unit of expert width, over matrices [element]."""
    moe = reference.moe
    return 1 if moe is None else moe.layers * (moe.latent_width or reference.hidden_size)


def reference_width(reference: Architecture, budget: WidthBudget) -> float:
    """Width that the reference spends on them: the budget [element]."""
    own = Designs.of_architecture(reference, 0)
    return float(spent_width(reference, own, budget).reshape(-1)[0])
