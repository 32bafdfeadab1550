"""Qwen3-Next, Qwen3.5 and Qwen3.6, sparse and dense: three linear layers to one of attention."""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import (
    dense_only,
    sparse_and_dense,
    stepped,
    stepped_fields,
)
from codesign.architectures.readers.qwen2_moe import EXPERTS
from codesign.architectures.token_mixers import (
    biases,
    every,
    grouped_query,
    grouped_query_fields,
    mixers_of,
    softmax_layers,
    spread,
)
from codesign.spec.architecture import Architecture
from codesign.spec.recurrent import GatedDeltaNet
from codesign.spec.token_mixer import TokenMixer

DENSE = ("qwen3_5", "qwen3_5_text")


def read(config: Config) -> Architecture:
    """Read a config.json of Qwen3-Next, Qwen3.5 or Qwen3.6."""
    softmax = softmax_layers(
        config, every(config, config.integer("full_attention_interval", default=4))
    )
    if config.model_type in DENSE:
        feed_forward = dense_only(config)
    else:
        feed_forward = sparse_and_dense(config, EXPERTS, stepped(config))
    return assemble(config, _mixers(config, softmax), feed_forward)


def _mixers(config: Config, softmax: list[bool]) -> list[TokenMixer]:
    attention = grouped_query(
        config,
        [None] * sum(softmax),
        qk_norm=True,
        output_gate=config.flag("attn_output_gate", True),
        **biases(config),
    )
    linear = len(softmax) - sum(softmax)
    return [*attention, *([_delta(config, linear)] if linear else [])]


def _delta(config: Config, layers: int) -> GatedDeltaNet:
    return GatedDeltaNet(
        layers=layers,
        key_heads=config.integer("linear_num_key_heads"),
        value_heads=config.integer("linear_num_value_heads"),
        key_dim=config.integer("linear_key_head_dim"),
        value_dim=config.integer("linear_value_head_dim"),
        kernel=config.integer("linear_conv_kernel_dim"),
    )


def write(architecture: Architecture) -> dict[str, Any]:
    """Return the fields of a config.json."""
    moe = EXPERTS.write(architecture) if architecture.moe else {}
    delta = mixers_of(architecture, GatedDeltaNet)[0]
    softmax = architecture.layers - delta.layers
    return (
        grouped_query_fields(architecture)
        | {"layer_types": spread({"linear_attention": delta.layers, "full_attention": softmax})}
        | {
            "linear_num_key_heads": delta.key_heads,
            "linear_num_value_heads": delta.value_heads,
            "linear_key_head_dim": delta.key_dim,
            "linear_value_head_dim": delta.value_dim,
            "linear_conv_kernel_dim": delta.kernel,
        }
        | moe
        | stepped_fields(architecture)
    )


FAMILY = Family(
    model_types=("qwen3_next", "qwen3_5_moe", "qwen3_5_moe_text", *DENSE),
    read=read,
    write=write,
    experts=EXPERTS,
    classes={
        "qwen3_next": "Qwen3NextForCausalLM",
        "qwen3_5_moe_text": "Qwen3_5MoeForCausalLM",
        "qwen3_5_text": "Qwen3_5ForCausalLM",
    },
)
