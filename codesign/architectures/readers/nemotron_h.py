"""Nemotron-H and Nemotron-3 (NVIDIA): each layer is one of Mamba-2, attention, experts, dense.

Experts have two matrices; those of Nemotron-3 Super live in a latent space narrower than the
hidden size.
"""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import GROUPS, ExpertFields, FeedForward
from codesign.architectures.token_mixers import (
    grouped_query,
    grouped_query_fields,
    mixers_of,
    spread,
)
from codesign.spec.architecture import Architecture
from codesign.spec.mamba import Mamba2
from codesign.spec.token_mixer import TokenMixer

EXPERTS = ExpertFields(
    experts=("n_routed_experts",),
    shared_experts=("n_shared_experts",),
    shared_width=("moe_shared_expert_intermediate_size",),
    groups=GROUPS,
    matrices=2,
)
PATTERN = {"M": "mamba", "*": "attention", "E": "moe", "-": "mlp"}
LAYER_WORDS = {word: word for word in PATTERN.values()} | {
    "linear_attention": "mamba",
    "full_attention": "attention",
}


def read(config: Config) -> Architecture:
    """Read a config.json of Nemotron-H or Nemotron-3."""
    layers = _layers(config)
    return assemble(
        config,
        _mixers(config, layers),
        _feed_forward(config, layers),
        tied=None,
        block_norms=1,
    )


def _layers(config: Config) -> list[str]:
    words = config.words("layers_block_type", LAYER_WORDS) or config.words(
        "layer_types", LAYER_WORDS
    )
    if words:
        return [LAYER_WORDS[word] for word in words]
    _, pattern = config.value("hybrid_override_pattern")
    if pattern is None:
        raise config.missing("hybrid_override_pattern", "layers_block_type")
    if not isinstance(pattern, str) or len(pattern) != config.layers or set(pattern) - set(PATTERN):
        rule = f"must be {config.layers} characters of {' '.join(PATTERN)}"
        raise config.fault("hybrid_override_pattern", rule, pattern)
    return [PATTERN[character] for character in pattern]


def _mixers(config: Config, layers: list[str]) -> list[TokenMixer]:
    mixers: list[TokenMixer] = []
    if config.flag("attention_bias", False):
        raise config.fault("attention_bias", "must be false: this family has no such biases", True)
    if "attention" in layers:
        mixers += grouped_query(config, [None] * layers.count("attention"))
    if "mamba" in layers:
        mixers.append(
            Mamba2(
                layers=layers.count("mamba"),
                heads=config.integer("mamba_num_heads"),
                head_dim=config.integer("mamba_head_dim"),
                groups=config.integer("n_groups"),
                state_dim=config.integer("ssm_state_size"),
                kernel=config.integer("conv_kernel"),
                convolution_bias=config.flag("use_conv_bias", True),
                projection_bias=config.flag("use_bias", False),
            )
        )
    return mixers


def _feed_forward(config: Config, layers: list[str]) -> FeedForward:
    bias = config.flag("mlp_bias", False)
    moe, dense, width = None, [], None
    if "moe" in layers:
        if config.integer("n_shared_experts", default=0, least=0) > 1:
            raise config.fault(
                "n_shared_experts", "must be 0 or 1", config.value("n_shared_experts")[1]
            )
        if bias:
            raise config.fault("mlp_bias", "must be false where there are experts", bias)
        latent = config.integer("moe_latent_size", default=0, least=0)
        moe = EXPERTS.read(config, layers.count("moe"), latent_width=latent or None)
    if "mlp" in layers:
        width = config.integer("intermediate_size")
        dense = [{"layers": layers.count("mlp"), "width": width, "matrices": 2, "bias": bias}]
    return FeedForward(
        moe=moe,
        dense=dense,
        dense_layers={layer for layer, kind in enumerate(layers) if kind == "mlp"},
        dense_width=width,
    )


def write(architecture: Architecture) -> dict[str, Any]:
    """Return the fields of a config.json."""
    mamba = mixers_of(architecture, Mamba2)[0]
    attention = {}
    if len(architecture.attention) > 1:
        attention = grouped_query_fields(architecture)
    return (
        attention
        | {"layers_block_type": _order(architecture), "mamba_num_heads": mamba.heads}
        | {"mamba_head_dim": mamba.head_dim, "n_groups": mamba.groups}
        | {"ssm_state_size": mamba.state_dim, "conv_kernel": mamba.kernel}
        | {"use_conv_bias": mamba.convolution_bias, "use_bias": mamba.projection_bias}
        | _expert_fields(architecture)
        | ({"intermediate_size": architecture.dense[0].width} if architecture.dense else {})
    )


def _order(architecture: Architecture) -> list[str]:
    """Mixers and feed-forward layers evenly mixed; the published order is in the base only."""
    layers = {"mamba": 0, "moe": 0, "mlp": 0, "attention": 0}
    for mixer in architecture.attention:
        layers["mamba" if isinstance(mixer, Mamba2) else "attention"] += mixer.layers
    layers["moe"] = architecture.moe.layers if architecture.moe else 0
    layers["mlp"] = sum(group.layers for group in architecture.dense)
    return spread({word: count for word, count in layers.items() if count})


def _expert_fields(architecture: Architecture) -> dict[str, Any]:
    """The class builds one shared expert, as wide as all together."""
    moe = architecture.moe
    if moe is None:
        return {}
    together = moe.shared_experts * (moe.shared_width or moe.expert_width)
    return EXPERTS.write(architecture) | {
        "n_shared_experts": int(moe.shared_experts > 0),
        "moe_shared_expert_intermediate_size": together,
        "moe_latent_size": moe.latent_width,
    }


FAMILY = Family(
    model_types=("nemotron_h",),
    read=read,
    write=write,
    experts=EXPERTS,
    classes={"nemotron_h": "NemotronHForCausalLM"},
)
