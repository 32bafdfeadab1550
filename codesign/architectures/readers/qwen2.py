"""Qwen2 dense, and Xiaomi's MiMo-7B, which is one with prediction layers: biased queries."""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import dense_only
from codesign.architectures.token_mixers import grouped_query, grouped_query_fields, qwen_windows
from codesign.spec.architecture import Architecture


def read(config: Config) -> Architecture:
    """Read a config.json of Qwen2, Qwen2.5 or MiMo-7B."""
    bias = config.flag("attention_bias", True)
    return assemble(
        config,
        grouped_query(config, qwen_windows(config), qkv_bias=bias),
        dense_only(config),
    )


def write(architecture: Architecture) -> dict[str, Any]:
    """Return the fields of a config.json."""
    fields = grouped_query_fields(architecture)
    return fields | {"intermediate_size": architecture.dense[0].width}


FAMILY = Family(
    model_types=("qwen2", "mimo"), read=read, write=write, classes={"qwen2": "Qwen2ForCausalLM"}
)
