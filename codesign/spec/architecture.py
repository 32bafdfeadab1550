"""The facts of one model's architecture, whatever file they came from."""

from typing import Annotated, Final, Self

from pydantic import Field, model_validator

from codesign.spec.attention import Attention
from codesign.spec.base import Count, Fraction, Items, PositiveCount, Spec, TokenCount
from codesign.spec.precision import Precision

MOST_EXPERTS: Final = 10**8
"""As of a searched axis; unique experts are tabulated to one selected expert in 1.6e8."""

MAX_PARAMETERS: Final = 10**15  # hundreds of times the largest model; counts stay exact below it


class MixtureOfExperts(Spec):
    """The routed and shared experts of a model's MoE layers.

    Parameters
    ----------
    layers : int
        MoE layers [layer].
    experts, top_k : int
        Routed experts per layer (N) and experts per token (k).
    expert_width : int
        Intermediate width of one routed expert.
    shared_experts : int
        Always-on experts (S).
    shared_width : int, optional
        Intermediate width of one shared expert; `expert_width` where absent.
    matrices : int
        Matrices per expert: 3 gated, 2 not.
    latent_width : int, optional
        Width of the routed experts' input and output where narrower than the hidden size.
    expert_bias, router_bias, shared_gate : bool
        Biases in experts and router; a sigmoid gate on the shared experts.
    groups, groups_per_token : int, optional
        Group-limited routing: a token's experts come from so many of the groups.
    """

    layers: PositiveCount
    experts: Annotated[PositiveCount, Field(le=MOST_EXPERTS)]
    top_k: PositiveCount
    expert_width: PositiveCount
    shared_experts: Count = 0
    shared_width: PositiveCount | None = None
    matrices: PositiveCount = 3
    latent_width: PositiveCount | None = None
    expert_bias: bool = False
    router_bias: bool = False
    shared_gate: bool = False
    groups: PositiveCount = 1
    groups_per_token: PositiveCount = 1

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.top_k > self.experts:
            raise ValueError(f"top_k must not exceed experts: {self.top_k} > {self.experts}")
        if self.experts % self.groups:
            raise ValueError(f"groups must divide experts: {self.experts} % {self.groups} != 0")
        if self.groups_per_token > self.groups:
            raise ValueError("groups_per_token must not exceed groups")
        return self


class DenseFeedForward(Spec):
    """Dense feed-forward layers: `layers` of one width."""

    layers: PositiveCount
    width: PositiveCount
    matrices: PositiveCount = 3
    bias: bool = False


class RoutingLocality(Spec):
    """How alike the experts of nearby tokens are, as published for this model."""

    window_correlation: Fraction = Field(
        description="mean latent correlation in a window of 4 tokens, r_w(4)"
    )
    source: str


class Training(Spec):
    """The model's pretraining budget."""

    tokens: TokenCount
    source: str


class Architecture(Spec):
    """A decoder-only transformer, dense or MoE.

    Parameters
    ----------
    name, family, source : str
        What it is called; its Hugging Face ``model_type``; where the facts were read.
    hidden_size, layers, vocab_size : int
        Model width; decoder layers without multi-token-prediction layers; rows of an embedding.
    tied_embeddings : bool
        Input and output embedding are one table.
    attention : list
        Kinds of token mixer and how many layers each has.
    moe : MixtureOfExperts, optional
        Absent in a dense model.
    dense : list of DenseFeedForward
        Dense feed-forward layers.
    block_norms : int
        Norms of hidden size per layer (one more stands before the LM head).
    norm_bias, head_bias : bool
        Every norm, and the LM head, has a bias.
    other_parameters : int
        Elements that no other field explains, with `notes` saying what they are.
    prediction_layers : int
        Multi-token-prediction layers in the checkpoint; never counted in the totals.
    draft_ffn_width : int, optional
        Dense width a draft layer of this model would have; 4 x hidden size where absent.
    """

    name: str = Field(min_length=1)
    family: str
    source: str
    hidden_size: PositiveCount
    layers: PositiveCount
    vocab_size: PositiveCount
    tied_embeddings: bool = False
    attention: Items[Attention] = Field(min_length=1)
    moe: MixtureOfExperts | None = None
    dense: Items[DenseFeedForward] = ()
    block_norms: Count = 2
    norm_bias: bool = False
    head_bias: bool = False
    other_parameters: Count = 0
    prediction_layers: Count = 0
    draft_ffn_width: PositiveCount | None = None
    precision: Precision = Precision()
    routing: RoutingLocality | None = None
    training: Training | None = None
    notes: Items[str] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        mixers = sum(group.layers for group in self.attention)
        if mixers > self.layers:
            raise ValueError(f"attention covers {mixers} layers of {self.layers}")
        if self.moe is None and not self.dense:
            raise ValueError("a model needs moe or dense feed-forward layers")
        if self._rough_size() > MAX_PARAMETERS:
            raise ValueError(f"more than {MAX_PARAMETERS:.0e} parameters: not a model")
        return self

    def _rough_size(self) -> int:
        """The largest components without their small parts [element]."""
        inner = sum(layer.layers * layer.width for layer in self.dense)
        if self.moe is not None:
            shared = self.moe.shared_experts * (self.moe.shared_width or self.moe.expert_width)
            inner += self.moe.layers * (self.moe.experts * self.moe.expert_width + shared)
        mixers = sum(
            group.layers * group.matrix_parameters(self.hidden_size) for group in self.attention
        )
        return mixers + self.hidden_size * (3 * inner + 2 * self.vocab_size)


def shared_width_ratio(architecture: Architecture) -> float:
    """Width of one shared expert over that of a routed one; designs keep the reference's."""
    moe = architecture.moe
    if moe is None or moe.shared_width is None:
        return 1.0
    return moe.shared_width / moe.expert_width
