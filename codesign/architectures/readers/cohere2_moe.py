"""Cohere Command A+ and North: attention and experts side by side behind one norm.

Shared experts have the routed width; the first layers may be dense with a width of their own.
"""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import (
    ExpertFields,
    first_dense,
    first_dense_fields,
    sparse_and_dense,
)
from codesign.architectures.token_mixers import (
    biases,
    grouped_query,
    grouped_query_fields,
    layer_windows,
)
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(
    experts=("num_experts",), width=("intermediate_size",), shared_experts=("num_shared_experts",)
)


def read(config: Config) -> Architecture:
    """Read a config.json of Command A+ or North."""
    attention = grouped_query(
        config, layer_windows(config, _sliding(config)), same_heads=True, **biases(config)
    )
    feed_forward = sparse_and_dense(
        config,
        EXPERTS,
        first_dense(config, default=0),
        ("prefix_dense_intermediate_size", "intermediate_size"),
    )
    return assemble(config, attention, feed_forward, tied=True, block_norms=1)


def _sliding(config: Config) -> list[bool]:
    """Without ``layer_types``: dense first layers and the rest each have a pattern."""
    first = config.integer("first_k_dense_replace", default=0, least=0)
    prefix = config.integer("prefix_dense_sliding_window_pattern", default=1)
    rest = config.integer("sliding_window_pattern", default=4)
    return [
        (layer + 1) % prefix != 0 if layer < first else (layer - first + 1) % rest != 0
        for layer in range(config.layers)
    ]


def write(architecture: Architecture) -> dict[str, Any]:
    """Return the fields of a config.json."""
    return (
        grouped_query_fields(architecture)
        | EXPERTS.write(architecture)
        | first_dense_fields(architecture, "prefix_dense_intermediate_size")
    )


FAMILY = Family(
    model_types=("cohere2_moe",),
    read=read,
    write=write,
    experts=EXPERTS,
    classes={"cohere2_moe": "Cohere2MoeForCausalLM"},
)
