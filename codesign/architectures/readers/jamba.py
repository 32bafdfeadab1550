"""Jamba (AI21): Mamba layers with inner norms, attention and experts each with a period."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, sparse_and_dense
from codesign.architectures.token_mixers import every, grouped_query
from codesign.spec.architecture import Architecture
from codesign.spec.mamba import Mamba1
from codesign.spec.token_mixer import TokenMixer

EXPERTS = ExpertFields(experts=("num_experts",), width=("intermediate_size",))
CHANNELS_PER_STEP = 16


def read(config: Config) -> Architecture:
    """Read a Jamba config.json."""
    sparse = _periodic(config, "expert")
    if config.integer("num_experts") == 1:  # the class then builds dense layers
        sparse = [False] * config.layers
    return assemble(
        config,
        _mixers(config, _periodic(config, "attn")),
        sparse_and_dense(config, EXPERTS, sparse),
    )


def _periodic(config: Config, kind: str) -> list[bool]:
    period = config.integer(f"{kind}_layer_period")
    return every(config, period, config.integer(f"{kind}_layer_offset", least=0))


def _mixers(config: Config, softmax: list[bool]) -> list[TokenMixer]:
    mixers: list[TokenMixer] = []
    if any(softmax):
        mixers += grouped_query(config, [None] * sum(softmax), same_heads=True)
    if not all(softmax):
        mixers.append(_mamba(config, softmax.count(False)))
    return mixers


def _mamba(config: Config, layers: int) -> Mamba1:
    hidden = config.integer("hidden_size")
    automatic = config.value("mamba_dt_rank")[1] in ("auto", None)
    return Mamba1(
        layers=layers,
        inner_width=config.integer("mamba_expand") * hidden,
        state_dim=config.integer("mamba_d_state"),
        step_rank=-(-hidden // CHANNELS_PER_STEP) if automatic else config.integer("mamba_dt_rank"),
        kernel=config.integer("mamba_d_conv"),
        convolution_bias=config.flag("mamba_conv_bias", True),
        projection_bias=config.flag("mamba_proj_bias", False),
    )


FAMILY = Family(model_types=("jamba",), read=read, experts=EXPERTS)
