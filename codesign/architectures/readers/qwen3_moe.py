"""Qwen3-MoE, and the language model of Qwen3-VL-MoE: per-head query-key norms."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, sparse_and_dense, stepped
from codesign.architectures.token_mixers import grouped_query
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(experts=("num_experts", "num_local_experts"))


def read(config: Config) -> Architecture:
    """Read a Qwen3-MoE config.json."""
    window = None
    if config.flag("use_sliding_window", False):
        window = config.integer("sliding_window")
    bias = config.flag("attention_bias", False)
    return assemble(
        config,
        grouped_query(
            config, [window] * config.layers, qk_norm=True, qkv_bias=bias, output_bias=bias
        ),
        sparse_and_dense(config, EXPERTS, stepped(config)),
    )


FAMILY = Family(
    model_types=("qwen3_moe", "qwen3_vl_moe", "qwen3_vl_moe_text"),
    read=read,
)
