"""Llama 2 and 3: dense, the control of every comparison."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import dense_only
from codesign.architectures.token_mixers import grouped_query
from codesign.spec.architecture import Architecture


def read(config: Config) -> Architecture:
    """Read a Llama config.json."""
    bias = config.flag("attention_bias", False)
    return assemble(
        config,
        grouped_query(config, same_heads=True, qkv_bias=bias, output_bias=bias),
        dense_only(config, bias=config.flag("mlp_bias", False)),
    )


FAMILY = Family(model_types=("llama",), read=read)
