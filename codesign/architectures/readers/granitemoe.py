"""Granite 3 and 4 (IBM): sparse layers of grouped-query attention or Mamba-2, shared experts.

Hybrids without routed experts (Granite 4 Micro) have their shared expert as a dense layer.
"""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, FeedForward
from codesign.architectures.token_mixers import (
    biases,
    grouped_query,
    grouped_query_fields,
    softmax_layers,
)
from codesign.spec.architecture import Architecture
from codesign.spec.mamba import Mamba2
from codesign.spec.token_mixer import TokenMixer

EXPERTS = ExpertFields(
    experts=("num_local_experts",),
    width=("intermediate_size",),
    shared_width=("shared_intermediate_size",),
)


def read(config: Config) -> Architecture:
    """Read a config.json of Granite 3 MoE or Granite 4."""
    hybrid = config.model_type == "granitemoehybrid"
    softmax = softmax_layers(config, [not hybrid] * config.layers)
    return assemble(config, _mixers(config, softmax), _feed_forward(config, hybrid))


def _feed_forward(config: Config, hybrid: bool) -> FeedForward:
    layers = config.layers
    if hybrid and config.integer("num_local_experts", least=0) == 0:
        width = config.integer("shared_intermediate_size")
        return FeedForward(
            dense=[{"layers": layers, "width": width}],
            dense_layers=set(range(layers)),
            dense_width=width,
        )
    return FeedForward(moe=EXPERTS.read(config, layers))


def _mixers(config: Config, softmax: list[bool]) -> list[TokenMixer]:
    mixers: list[TokenMixer] = []
    if any(softmax):
        mixers += grouped_query(config, [None] * sum(softmax), same_heads=True, **biases(config))
    if not all(softmax):
        mixers.append(
            Mamba2(
                layers=softmax.count(False),
                heads=config.integer("mamba_n_heads"),
                head_dim=_mamba_head_dim(config),
                groups=config.integer("mamba_n_groups"),
                state_dim=config.integer("mamba_d_state"),
                kernel=config.integer("mamba_d_conv"),
                convolution_bias=config.flag("mamba_conv_bias", True),
                projection_bias=config.flag("mamba_proj_bias", False),
            )
        )
    return mixers


def _mamba_head_dim(config: Config) -> int:
    inner = config.integer("mamba_expand") * config.integer("hidden_size")
    if config.value("mamba_d_head")[1] in ("auto", None):
        return inner // config.integer("mamba_n_heads")
    return config.integer("mamba_d_head")


def write(architecture: Architecture) -> dict[str, Any]:
    """Return the fields of a config.json."""
    experts = EXPERTS.write(architecture)
    if len(architecture.attention) != 1:  # a hybrid: the order of its layers is in a base only
        return experts
    fields = grouped_query_fields(architecture) | experts
    return {name: value for name, value in fields.items() if name != "head_dim"}


FAMILY = Family(
    model_types=("granitemoe", "granitemoeshared", "granitemoehybrid"),
    read=read,
    write=write,
    experts=EXPERTS,
    classes={
        "granitemoeshared": "GraniteMoeSharedForCausalLM",
        "granitemoe": "GraniteMoeForCausalLM",
    },
)
