"""ERNIE-4.5 (Baidu): sparse layers from a start to an end index; a correction per expert counts.

The correction bias of the router is a parameter of its class, not a buffer, so it is counted.
"""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, sparse_and_dense
from codesign.architectures.token_mixers import grouped_query, grouped_query_fields
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(
    experts=("moe_num_experts",),
    top_k=("moe_k",),
    shared_experts=("moe_num_shared_experts",),
    router_bias=True,
)


def read(config: Config) -> Architecture:
    """Read an ERNIE-4.5 config.json of a text model."""
    if config.flag("use_bias", False):
        raise config.fault("use_bias", "must be false: no published model has these biases", True)
    return assemble(
        config,
        grouped_query(config),
        sparse_and_dense(config, EXPERTS, _sparse(config)),
        tied=True,
    )


def _sparse(config: Config) -> list[bool]:
    layers = config.layers
    start = config.integer("moe_layer_start_index", least=0)
    end = config.integer("moe_layer_end_index", default=-1, least=-1)
    interval = config.integer("moe_layer_interval", default=1)
    last = layers - 1 if end == -1 else end
    return [start <= layer <= last and (layer + 1) % interval == 0 for layer in range(layers)]


def write(architecture: Architecture) -> dict[str, Any]:
    """Return the fields of a config.json."""
    dense = sum(group.layers for group in architecture.dense)
    width = {"intermediate_size": architecture.draft_ffn_width} if dense else {}
    return (
        grouped_query_fields(architecture)
        | EXPERTS.write(architecture)
        | {"moe_layer_start_index": dense, "moe_layer_end_index": architecture.layers - 1}
        | width
    )


FAMILY = Family(
    model_types=("ernie4_5_moe",),
    read=read,
    write=write,
    experts=EXPERTS,
    classes={"ernie4_5_moe": "Ernie4_5_MoeForCausalLM"},
)
