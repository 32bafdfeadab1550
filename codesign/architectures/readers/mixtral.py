"""Mixtral (Mistral AI): every layer sparse, no shared experts; widths in `intermediate_size`."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble, writer
from codesign.architectures.feed_forward import ExpertFields, FeedForward
from codesign.architectures.token_mixers import grouped_query, grouped_query_fields
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(experts=("num_local_experts",), width=("intermediate_size",))


def read(config: Config) -> Architecture:
    """Read a Mixtral config.json."""
    window = config.integer("sliding_window") if config.has("sliding_window") else None
    return assemble(
        config,
        grouped_query(config, [window] * config.layers),
        FeedForward(moe=EXPERTS.read(config, config.layers)),
    )


FAMILY = Family(
    model_types=("mixtral",),
    read=read,
    write=writer(grouped_query_fields, EXPERTS.write),
    experts=EXPERTS,
    classes={"mixtral": "MixtralForCausalLM"},
)
