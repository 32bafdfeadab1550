"""Qwen3-MoE, and the language model of Qwen3-VL-MoE: per-head query-key norms."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble, writer
from codesign.architectures.feed_forward import (
    ExpertFields,
    sparse_and_dense,
    stepped,
    stepped_fields,
)
from codesign.architectures.token_mixers import biases, grouped_query, grouped_query_fields
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(experts=("num_experts", "num_local_experts"))


def read(config: Config) -> Architecture:
    """Read a Qwen3-MoE config.json."""
    slides = config.flag("use_sliding_window", False)
    window = config.integer("sliding_window") if slides else None
    return assemble(
        config,
        grouped_query(config, [window] * config.layers, qk_norm=True, **biases(config)),
        sparse_and_dense(config, EXPERTS, stepped(config)),
    )


FAMILY = Family(
    model_types=("qwen3_moe", "qwen3_vl_moe", "qwen3_vl_moe_text"),
    read=read,
    write=writer(grouped_query_fields, EXPERTS.write, stepped_fields),
    experts=EXPERTS,
    classes={"qwen3_moe": "Qwen3MoeForCausalLM"},
)
