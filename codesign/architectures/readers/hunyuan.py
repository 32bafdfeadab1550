"""Hunyuan-A13B (Tencent): per-layer lists of equal values; always a shared expert."""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, FeedForward
from codesign.architectures.token_mixers import biases, grouped_query, grouped_query_fields
from codesign.errors import UsageError
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(
    experts=("num_experts",),
    top_k=("moe_topk",),
    width=("moe_intermediate_size", "intermediate_size"),
    shared_experts=("num_shared_expert",),
)


def read(config: Config) -> Architecture:
    """Read a Hunyuan MoE config.json."""
    if config.flag("use_cla", False):
        raise config.fault("use_cla", "must be false: caches shared by layers are not known", True)
    if config.integer("moe_layer_num_skipped", default=0, least=0):
        raise config.fault(
            "moe_layer_num_skipped", "must be 0", config.value("moe_layer_num_skipped")
        )
    attention = grouped_query(
        config, same_heads=True, qk_norm=config.flag("use_qk_norm", True), **biases(config)
    )
    shared = config.integer("num_shared_expert", default=1)
    moe = EXPERTS.read(config, config.layers, shared_experts=shared)
    return assemble(config, attention, FeedForward(moe=moe))


def write(architecture: Architecture) -> dict[str, Any]:
    """Return the fields of a config.json."""
    fields, moe = EXPERTS.write(architecture), architecture.moe
    if moe and (moe.shared_experts != 1 or moe.shared_width not in (None, moe.expert_width)):
        raise UsageError(f"{architecture.name}: transformers builds one shared expert, no other")
    width = {"intermediate_size": fields["moe_intermediate_size"]}
    return grouped_query_fields(architecture) | fields | width


FAMILY = Family(
    model_types=("hunyuan_v1_moe",),
    read=read,
    write=write,
    experts=EXPERTS,
    classes={"hunyuan_v1_moe": "HunYuanMoEV1ForCausalLM"},
)
