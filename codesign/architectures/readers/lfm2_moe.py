"""LFM2-MoE (Liquid AI): short convolutions between attention layers, dense first layers."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, first_dense, sparse_and_dense
from codesign.architectures.token_mixers import grouped_query, softmax_layers
from codesign.spec.architecture import Architecture
from codesign.spec.recurrent import ShortConvolution
from codesign.spec.token_mixer import TokenMixer

EXPERTS = ExpertFields(experts=("num_experts",))


def read(config: Config) -> Architecture:
    """Read an LFM2-MoE config.json."""
    if not config.has("layer_types"):
        raise config.missing("layer_types")
    softmax = softmax_layers(config, ())
    tied = config.flag("tie_embedding", True)
    return assemble(
        config,
        _mixers(config, softmax),
        sparse_and_dense(config, EXPERTS, first_dense(config)),
        tied=tied,
    )


def _mixers(config: Config, softmax: list[bool]) -> list[TokenMixer]:
    mixers: list[TokenMixer] = [*grouped_query(config, [None] * sum(softmax), qk_norm=True)]
    if not all(softmax):
        mixers.append(
            ShortConvolution(
                layers=softmax.count(False),
                kernel=config.integer("conv_L_cache"),
                channels=config.integer("hidden_size"),
                bias=config.flag("conv_bias", False),
            )
        )
    return mixers


FAMILY = Family(model_types=("lfm2_moe",), read=read, experts=EXPERTS)
