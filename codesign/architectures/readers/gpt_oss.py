"""gpt-oss (OpenAI): biases in attention, experts and router, sinks, every other layer windowed."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble, writer
from codesign.architectures.feed_forward import ExpertFields, FeedForward
from codesign.architectures.token_mixers import (
    biases,
    grouped_query,
    grouped_query_fields,
    layer_windows,
)
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(
    experts=("num_local_experts",),
    top_k=("num_experts_per_tok", "experts_per_token"),
    width=("intermediate_size",),
    expert_bias=True,
    router_bias=True,
)


def read(config: Config) -> Architecture:
    """Read a gpt-oss config.json."""
    every_other = [layer % 2 == 0 for layer in range(config.layers)]
    return assemble(
        config,
        grouped_query(
            config,
            layer_windows(config, every_other),
            sinks=True,
            **biases(config, default=True),
        ),
        FeedForward(moe=EXPERTS.read(config, config.layers)),
    )


FAMILY = Family(
    model_types=("gpt_oss",),
    read=read,
    write=writer(grouped_query_fields, EXPERTS.write),
    experts=EXPERTS,
    classes={"gpt_oss": "GptOssForCausalLM"},
)
