"""Phi-3.5-MoE (Microsoft): norms with biases, perhaps biases in attention and LM head."""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, FeedForward
from codesign.architectures.token_mixers import biases, grouped_query, grouped_query_fields
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(experts=("num_local_experts",), width=("intermediate_size",))


def read(config: Config) -> Architecture:
    """Read a Phi-3.5-MoE config.json."""
    window = config.integer("sliding_window") if config.has("sliding_window") else None
    return assemble(
        config,
        grouped_query(config, [window] * config.layers, **biases(config)),
        FeedForward(moe=EXPERTS.read(config, config.layers)),
        norm_bias=True,
        head_bias=config.flag("lm_head_bias", False),
    )


def write(architecture: Architecture) -> dict[str, Any]:
    """Return the fields of a config.json."""
    fields = grouped_query_fields(architecture) | EXPERTS.write(architecture)
    return fields | {"lm_head_bias": architecture.head_bias}


FAMILY = Family(
    model_types=("phimoe",),
    read=read,
    write=write,
    experts=EXPERTS,
    classes={"phimoe": "PhimoeForCausalLM"},
)
