"""Step-3.5 and 3.7 Flash (StepFun): a gate per head, windowed layers with more heads."""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, sparse_and_dense
from codesign.architectures.token_mixers import ATTENTION_WORDS, biases, grouped_query
from codesign.spec.architecture import Architecture
from codesign.spec.attention import GroupedQueryAttention

EXPERTS = ExpertFields(
    experts=("moe_num_experts", "n_routed_experts"),
    top_k=("moe_top_k", "num_experts_per_tok"),
    shared_width=("share_expert_dim", "share_expert_dims"),
)


def read(config: Config) -> Architecture:
    """Read a config.json of Step-3.5-Flash or Step-3.7-Flash."""
    feed_forward = sparse_and_dense(config, EXPERTS, _sparse(config))
    return assemble(config, _mixers(config), feed_forward)


def _first_layers(config: Config, name: str) -> list[str]:
    """A list that may go on over the prediction layers, which are left out."""
    _, words = config.value(name)
    if not isinstance(words, list):
        return []
    return Config(config.path, {**config.text, name: words[: config.layers]}, config.outer).words(
        name
    )


def _sparse(config: Config) -> list[bool]:
    words = _first_layers(config, "mlp_layer_types")
    if words:
        return [word == "sparse" for word in words]
    _, listed = config.value("moe_layers_enum")
    if not isinstance(listed, str) or not all(item.strip().isdigit() for item in listed.split(",")):
        raise config.fault("moe_layers_enum", "must be layer numbers with commas", listed)
    sparse = {int(item) for item in listed.split(",")}
    return [layer in sparse for layer in range(config.layers)]


def _mixers(config: Config) -> list[GroupedQueryAttention]:
    words = _first_layers(config, "layer_types") or ["full_attention"] * config.layers
    for word in words:
        if word not in ATTENTION_WORDS:
            raise config.fault("layer_types", f"knows {', '.join(ATTENTION_WORDS)}", word)
    sliding = [ATTENTION_WORDS[word] for word in words]
    traits: dict[str, Any] = {
        "qk_norm": config.flag("use_qk_norm", True),
        "head_gate": config.flag("use_head_wise_attn_gate", True),
    } | biases(config)
    mixers = []
    if False in sliding:
        mixers += grouped_query(config, [None] * sliding.count(False), **traits)
    if True in sliding:
        window = config.integer("sliding_window")
        mixers += grouped_query(
            config, [window] * sliding.count(True), **traits | _windowed_shape(config)
        )
    return mixers


def _windowed_shape(config: Config) -> dict[str, int]:
    """Windowed layers may have other head counts than the rest."""
    if config.has("num_sliding_attention_heads"):
        return {"heads": config.integer("num_sliding_attention_heads")}
    if not config.has("attention_other_setting"):
        return {}
    other = config.part("attention_other_setting")
    return {
        "heads": other.integer("num_attention_heads"),
        "kv_heads": other.integer("num_attention_groups", "num_key_value_heads"),
        "head_dim": other.integer("head_dim"),
    }


FAMILY = Family(model_types=("step3p5", "step3p7"), read=read, experts=EXPERTS)
