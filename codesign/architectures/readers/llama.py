"""Llama 2 and 3, and Mistral: dense, the controls of every comparison."""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import dense_only
from codesign.architectures.token_mixers import biases, grouped_query, grouped_query_fields
from codesign.spec.architecture import Architecture


def read(config: Config) -> Architecture:
    """Read a config.json of Llama or Mistral."""
    window = config.integer("sliding_window") if config.has("sliding_window") else None
    return assemble(
        config,
        grouped_query(config, [window] * config.layers, same_heads=True, **biases(config)),
        dense_only(config, bias=config.flag("mlp_bias", False)),
    )


def write(architecture: Architecture) -> dict[str, Any]:
    """Return the fields of a config.json."""
    dense = architecture.dense[0]
    fields = {"intermediate_size": dense.width, "mlp_bias": dense.bias}
    return grouped_query_fields(architecture) | fields


FAMILY = Family(
    model_types=("llama", "mistral"),
    read=read,
    write=write,
    classes={"llama": "LlamaForCausalLM", "mistral": "MistralForCausalLM"},
)
