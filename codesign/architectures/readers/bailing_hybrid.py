"""Ling 2.5 (inclusionAI): delta attention with one layer in six of gated latent attention."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, first_dense, sparse_and_dense
from codesign.architectures.token_mixers import every, latent, softmax_layers
from codesign.spec.architecture import Architecture
from codesign.spec.recurrent import KimiDeltaAttention
from codesign.spec.token_mixer import TokenMixer

EXPERTS = ExpertFields(
    experts=("num_experts",),
    top_k=("num_experts_per_token", "num_experts_per_tok"),
    shared_experts=("num_shared_experts",),
    groups=("num_expert_group", "topk_group"),
)


def read(config: Config) -> Architecture:
    """Read a Ling 2.5 config.json."""
    softmax = softmax_layers(config, every(config, config.integer("layer_group_size", default=6)))
    feed_forward = sparse_and_dense(config, EXPERTS, first_dense(config))
    return assemble(config, _mixers(config, softmax), feed_forward, tied=None)


def _mixers(config: Config, softmax: list[bool]) -> list[TokenMixer]:
    mixers: list[TokenMixer] = []
    if any(softmax):
        mixers += latent(config, sum(softmax), head_gate=True)
    if not all(softmax):
        mixers.append(
            KimiDeltaAttention(
                layers=softmax.count(False),
                heads=config.integer("num_attention_heads"),
                head_dim=config.integer("linear_head_dim", "head_dim"),
                kernel=config.integer("short_conv_kernel_size"),
            )
        )
    return mixers


FAMILY = Family(model_types=("bailing_hybrid",), read=read, experts=EXPERTS)
