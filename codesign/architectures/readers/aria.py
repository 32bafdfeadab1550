"""Aria (Rhymes AI): every layer sparse, shared experts of the routed width."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, FeedForward
from codesign.architectures.token_mixers import biases, grouped_query
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(
    experts=("moe_num_experts",),
    top_k=("moe_topk",),
    width=("intermediate_size", "moe_intermediate_size"),
    shared_experts=("moe_num_shared_experts",),
)


def read(config: Config) -> Architecture:
    """Read an Aria config.json."""
    if config.flag("mlp_bias", False):
        raise config.fault("mlp_bias", "must be false: no published model has these biases", True)
    attention = grouped_query(config, same_heads=True, **biases(config))
    return assemble(config, attention, FeedForward(moe=EXPERTS.read(config, config.layers)))


FAMILY = Family(model_types=("aria", "aria_text"), read=read, experts=EXPERTS)
