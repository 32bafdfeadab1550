"""Qwen3 dense, and the language model of Qwen3-VL: per-head query-key norms."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import dense_only
from codesign.architectures.token_mixers import grouped_query, layer_windows
from codesign.spec.architecture import Architecture


def read(config: Config) -> Architecture:
    """Read a Qwen3 config.json."""
    bias = config.flag("attention_bias", False)
    sliding = [False] * config.layers
    if config.flag("use_sliding_window", False):
        full = config.integer("max_window_layers", least=0)
        sliding = [layer >= full for layer in range(config.layers)]
    return assemble(
        config,
        grouped_query(
            config,
            layer_windows(config, sliding),
            qk_norm=True,
            qkv_bias=bias,
            output_bias=bias,
        ),
        dense_only(config),
    )


FAMILY = Family(model_types=("qwen3", "qwen3_vl", "qwen3_vl_text"), read=read)
