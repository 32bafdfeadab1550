"""Kimi Linear and Kimi-K3 (Moonshot): Kimi delta attention, some layers of latent attention.

K3 has latent experts, full-rank gates and gated latent attention. No class of it is public:
its routed experts are exact, its attention follows the config's words (docs/adding-a-family.md).
"""

from collections.abc import Mapping
from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, first_dense, sparse_and_dense
from codesign.architectures.token_mixers import latent, softmax_layers
from codesign.spec.architecture import Architecture
from codesign.spec.recurrent import KimiDeltaAttention
from codesign.spec.token_mixer import TokenMixer

EXPERTS = ExpertFields(
    experts=("num_experts",),
    top_k=("num_experts_per_token",),
    shared_experts=("num_shared_experts",),
    groups=("num_expert_group", "topk_group"),
)


def read(config: Config) -> Architecture:
    """Read a config.json of Kimi Linear or Kimi-K3."""
    narrow = config.integer("routed_expert_hidden_size", default=0, least=0)
    return assemble(
        config,
        _mixers(config),
        sparse_and_dense(config, EXPERTS, first_dense(config, 1), latent_width=narrow or None),
        tied=None,
        notes=_notes(config),
    )


def _mixers(config: Config) -> list[TokenMixer]:
    linear = config.mapping("linear_attn_config")
    part = config.part("linear_attn_config") if linear else config
    softmax = softmax_layers(config, _listed(config, linear))
    rank = part.integer("head_dim", "linear_head_dim")
    mixers: list[TokenMixer] = []
    if any(softmax):
        mixers += latent(
            config, sum(softmax), output_gate=config.flag("mla_use_output_gate", False)
        )
    if not all(softmax):
        mixers.append(
            KimiDeltaAttention(
                layers=softmax.count(False),
                heads=part.integer("num_heads", "linear_num_heads"),
                head_dim=rank,
                kernel=part.integer("short_conv_kernel_size", "linear_conv_kernel_dim"),
                decay_rank=rank,
                gate_rank=None if part.flag("use_full_rank_gate", False) else rank,
            )
        )
    return mixers


def _listed(config: Config, linear: Mapping[str, Any]) -> list[bool]:
    """``full_attn_layers`` counts from 1."""
    if not linear:
        raise config.missing("linear_attn_config", "layer_types")
    full = set(config.part("linear_attn_config").integers("full_attn_layers", least=1))
    return [layer + 1 in full for layer in range(config.layers)]


def _notes(config: Config) -> list[str]:
    if config.outer.get("model_type") != "kimi_k3":
        return []
    return ["norms of the latent and of block residuals are not counted: their shape is not public"]


FAMILY = Family(model_types=("kimi_linear", "kimi_k3"), read=read, experts=EXPERTS)
