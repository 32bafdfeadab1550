"""MiMo-V2-Flash (Xiaomi): windowed layers have sinks and key-value heads of their own number."""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import (
    GROUPS,
    ExpertFields,
    first_dense,
    per_layer_flags,
    sparse_and_dense,
)
from codesign.architectures.token_mixers import ATTENTION_WORDS, grouped_query
from codesign.spec.architecture import Architecture
from codesign.spec.attention import GroupedQueryAttention

EXPERTS = ExpertFields(
    experts=("n_routed_experts",), shared_experts=("n_shared_experts",), groups=GROUPS
)


def read(config: Config) -> Architecture:
    """Read a MiMo-V2-Flash config.json."""
    feed_forward = sparse_and_dense(config, EXPERTS, first_dense(config))
    return assemble(config, _mixers(config), feed_forward)


def _mixers(config: Config) -> list[GroupedQueryAttention]:
    sliding = _sliding(config)
    bias = config.flag("attention_bias", False)
    whole: dict[str, Any] = {
        "value_dim": config.integer("v_head_dim"),
        "sinks": config.flag("add_full_attention_sink_bias", False),
    }
    windowed: dict[str, Any] = {
        "heads": config.integer("swa_num_attention_heads", "num_attention_heads"),
        "kv_heads": config.integer(
            "swa_num_key_value_heads", default=2 * config.integer("num_key_value_heads")
        ),
        "head_dim": config.integer("swa_head_dim", "head_dim"),
        "value_dim": config.integer("swa_v_head_dim", "v_head_dim"),
        "sinks": config.flag("add_swa_attention_sink_bias", True),
    }
    window = config.integer("sliding_window", "sliding_window_size")
    return [
        mixer
        for slides, sees, facts in ((False, None, whole), (True, window, windowed))
        if slides in sliding
        for mixer in grouped_query(config, [sees] * sliding.count(slides), qkv_bias=bias, **facts)
    ]


def _sliding(config: Config) -> list[bool]:
    words = config.words("layer_types", ATTENTION_WORDS)
    if words:
        return [ATTENTION_WORDS[word] for word in words]
    return per_layer_flags(config, "hybrid_layer_pattern")


FAMILY = Family(model_types=("mimo_v2_flash",), read=read, experts=EXPERTS)
