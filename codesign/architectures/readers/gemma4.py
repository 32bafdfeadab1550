"""Gemma 4 (Google): a dense layer beside the experts of every layer, six or seven norms.

Layers that see the whole context have other heads than windowed ones, and may use their keys as
values. The small models with per-layer embeddings and shared caches are not read.
"""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, FeedForward
from codesign.architectures.token_mixers import ATTENTION_WORDS, every, grouped_query
from codesign.spec.architecture import Architecture
from codesign.spec.attention import GroupedQueryAttention

EXPERTS = ExpertFields(experts=("num_experts",), top_k=("top_k_experts",), router_bias=True)
DENSE_NORMS = 4
MOE_NORMS = 7
ROUTER_SCALES = 1


def read(config: Config) -> Architecture:
    """Read a Gemma 4 config.json."""
    for name in ("hidden_size_per_layer_input", "num_kv_shared_layers"):
        if config.integer(name, default=0, least=0):
            rule = "must be 0: per-layer embeddings and shared caches are not known"
            raise config.fault(name, rule, config.value(name)[1])
    sparse = config.flag("enable_moe_block", False)
    norms = MOE_NORMS + ROUTER_SCALES if sparse else DENSE_NORMS
    notes = ["norms include the scale of the router's input"] if sparse else []
    return assemble(
        config, _mixers(config), _feed_forward(config, sparse), tied=True,
        block_norms=norms, other_parameters=0, notes=notes,
    )  # fmt: skip


def _feed_forward(config: Config, sparse: bool) -> FeedForward:
    layers, width = config.layers, config.integer("intermediate_size")
    return FeedForward(
        moe=EXPERTS.read(config, layers) if sparse else None,
        dense=[{"layers": layers, "width": width}],
        dense_layers=set() if sparse else set(range(layers)),
        dense_width=width,
    )


def _mixers(config: Config) -> list[GroupedQueryAttention]:
    words = config.words("layer_types", ATTENTION_WORDS)
    whole = [not ATTENTION_WORDS[word] for word in words] if words else every(config, 6)
    bias = config.flag("attention_bias", False)
    shared = config.flag("attention_k_eq_v", False)
    wide: dict[str, Any] = {"head_dim": config.integer("global_head_dim", default=512)}
    if shared:
        wide |= {"shared_key_value": True}
        wide["kv_heads"] = config.integer("num_global_key_value_heads", "num_key_value_heads")
    traits = {"qk_norm": True, "qkv_bias": bias, "output_bias": bias}
    mixers = grouped_query(config, [None] * whole.count(True), **traits | wide)
    if False in whole:
        window = config.integer("sliding_window")
        mixers += grouped_query(config, [window] * whole.count(False), **traits)
    return mixers


FAMILY = Family(model_types=("gemma4", "gemma4_text"), read=read, experts=EXPERTS)
