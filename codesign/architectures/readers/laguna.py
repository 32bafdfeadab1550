"""Laguna (Poolside): a gate per head, heads per layer, one shared expert, dense first layer.

The correction bias of the router is a parameter of its class, not a buffer, so it is counted.
"""

from collections import Counter

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, first_dense, sparse_and_dense
from codesign.architectures.token_mixers import biases, grouped_query, layer_windows
from codesign.spec.architecture import Architecture
from codesign.spec.attention import GroupedQueryAttention

EXPERTS = ExpertFields(
    experts=("num_experts",),
    shared_width=("shared_expert_intermediate_size",),
    router_bias=True,
)


def read(config: Config) -> Architecture:
    """Read a Laguna config.json."""
    feed_forward = sparse_and_dense(config, EXPERTS, first_dense(config, default=1))
    return assemble(config, _mixers(config), feed_forward)


def _mixers(config: Config) -> list[GroupedQueryAttention]:
    heads = config.integers("num_attention_heads_per_layer", least=1)
    if not heads:
        heads = [config.integer("num_attention_heads")] * config.layers
    if len(heads) != config.layers:
        raise config.fault("num_attention_heads_per_layer", f"needs {config.layers} items", heads)
    _, gating = config.value("gating")
    per_head = gating in (True, None, "per-head")
    if not per_head and gating != "per-element":
        raise config.fault("gating", "knows per-head, per-element", gating)
    kinds = Counter(zip(heads, layer_windows(config), strict=True))
    return [
        mixer
        for (count, window), layers in sorted(kinds.items(), key=lambda item: item[0][1] or 0)
        for mixer in grouped_query(
            config, [window] * layers, heads=count, qk_norm=True,
            head_gate=per_head, output_gate=not per_head, **biases(config),
        )
    ]  # fmt: skip


FAMILY = Family(model_types=("laguna",), read=read, experts=EXPERTS)
