"""Qwen1.5-MoE and Qwen2-MoE: shared experts behind a sigmoid gate, biased queries."""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import (
    ExpertFields,
    sparse_and_dense,
    stepped,
    stepped_fields,
)
from codesign.architectures.token_mixers import grouped_query, grouped_query_fields, qwen_windows
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(
    experts=("num_experts",), shared_width=("shared_expert_intermediate_size",), shared_gate=True
)


def read(config: Config) -> Architecture:
    """Read a config.json of Qwen1.5-MoE or Qwen2-MoE."""
    return assemble(
        config,
        grouped_query(config, qwen_windows(config), qkv_bias=config.flag("qkv_bias", True)),
        sparse_and_dense(config, EXPERTS, stepped(config)),
    )


def write(architecture: Architecture) -> dict[str, Any]:
    """Return the fields of a config.json."""
    attention = grouped_query_fields(architecture)
    return (
        attention
        | {"qkv_bias": attention["attention_bias"]}
        | EXPERTS.write(architecture)
        | stepped_fields(architecture)
    )


FAMILY = Family(
    model_types=("qwen2_moe",),
    read=read,
    write=write,
    experts=EXPERTS,
    classes={"qwen2_moe": "Qwen2MoeForCausalLM"},
)
