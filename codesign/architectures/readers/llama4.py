"""Llama-4 (Meta): `intermediate_size` is the expert's, `intermediate_size_mlp` the dense one.

One shared expert of the routed width stands in every sparse layer. Three layers of four attend
within chunks; their cache and reads are those of a window of the chunk's size.
"""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, sparse_and_dense
from codesign.architectures.token_mixers import biases, every, grouped_query, grouped_query_fields
from codesign.errors import UsageError
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(experts=("num_local_experts",), width=("intermediate_size",))
LAYER_WORDS = {"chunked_attention": True, "full_attention": False}


def read(config: Config) -> Architecture:
    """Read a Llama-4 config.json."""
    feed_forward = sparse_and_dense(
        config, EXPERTS, _sparse(config), ("intermediate_size_mlp",), shared_experts=1
    )
    return assemble(
        config,
        grouped_query(config, _windows(config), **biases(config)),
        feed_forward,
    )


def _sparse(config: Config) -> list[bool]:
    if config.has("moe_layers"):
        sparse = set(config.integers("moe_layers"))
        return [layer in sparse for layer in range(config.layers)]
    return every(config, config.integer("interleave_moe_layer_step"))


def _windows(config: Config) -> list[int | None]:
    words = config.words("layer_types", LAYER_WORDS)
    rotary = config.integers("no_rope_layers")  # 1: with rotary embedding, within a chunk
    if words:
        chunked = [LAYER_WORDS[word] for word in words]
    elif len(rotary) == config.layers:
        chunked = [flag == 1 for flag in rotary]
    else:
        interval = config.integer("no_rope_layer_interval", default=4)
        chunked = [not whole for whole in every(config, interval)]
    if not config.has("attention_chunk_size"):
        return [None] * config.layers
    chunk = config.integer("attention_chunk_size")
    return [chunk if within else None for within in chunked]


def write(architecture: Architecture) -> dict[str, Any]:
    """Return the fields of a config.json."""
    experts = EXPERTS.write(architecture)
    sparse = architecture.moe.layers if architecture.moe else 0
    if architecture.layers % sparse:
        raise UsageError(f"{architecture.name}: sparse layers must be every n-th of this family")
    attention = grouped_query_fields(architecture)
    chunk = attention.pop("sliding_window", None)
    words = attention.get("layer_types", [])
    chunked = ["chunked_attention" if word.startswith("sliding") else word for word in words]
    return (
        attention
        | experts
        | {"interleave_moe_layer_step": architecture.layers // sparse}
        | {"attention_chunk_size": chunk, "intermediate_size_mlp": architecture.draft_ffn_width}
        | ({"layer_types": chunked} if chunked else {})
    )


FAMILY = Family(
    model_types=("llama4", "llama4_text"),
    read=read,
    write=write,
    experts=EXPERTS,
    classes={"llama4_text": "Llama4ForCausalLM"},
)
