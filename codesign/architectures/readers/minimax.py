"""MiniMax-01 (Text-01, M1): lightning attention with softmax attention in some layers."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, FeedForward
from codesign.architectures.token_mixers import every, grouped_query, head_dim, softmax_layers
from codesign.spec.architecture import Architecture
from codesign.spec.recurrent import LightningAttention
from codesign.spec.token_mixer import TokenMixer

EXPERTS = ExpertFields(experts=("num_local_experts",), width=("intermediate_size",))


def read(config: Config) -> Architecture:
    """Read a MiniMax-01 config.json in the form transformers gives it."""
    softmax = softmax_layers(config, [not odd for odd in every(config, 2)])
    return assemble(
        config,
        _mixers(config, softmax),
        FeedForward(moe=EXPERTS.read(config, config.layers)),
    )


def _mixers(config: Config, softmax: list[bool]) -> list[TokenMixer]:
    mixers: list[TokenMixer] = []
    if any(softmax):
        mixers += grouped_query(config, [None] * sum(softmax))
    if not all(softmax):
        heads = config.integer("num_attention_heads")
        mixers.append(
            LightningAttention(
                layers=softmax.count(False), heads=heads, head_dim=head_dim(config, heads)
            )
        )
    return mixers


FAMILY = Family(model_types=("minimax",), read=read, experts=EXPERTS)
