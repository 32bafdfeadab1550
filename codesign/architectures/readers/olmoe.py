"""OLMoE and FlexOlmo (Ai2): query-key norms over all heads; widths in `intermediate_size`."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble, writer
from codesign.architectures.feed_forward import ExpertFields, FeedForward
from codesign.architectures.token_mixers import biases, grouped_query, grouped_query_fields
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(experts=("num_experts",), width=("intermediate_size",))


def read(config: Config) -> Architecture:
    """Read a config.json of OLMoE or FlexOlmo."""
    attention = grouped_query(
        config, same_heads=True, qk_norm=True, qk_norm_span="all_heads", **biases(config)
    )
    return assemble(config, attention, FeedForward(moe=EXPERTS.read(config, config.layers)))


FAMILY = Family(
    model_types=("olmoe", "flex_olmo"),
    read=read,
    write=writer(grouped_query_fields, EXPERTS.write),
    experts=EXPERTS,
    classes={"olmoe": "OlmoeForCausalLM", "flex_olmo": "FlexOlmoForCausalLM"},
)
