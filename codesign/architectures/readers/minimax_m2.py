"""MiniMax-M2: query-key norms over all heads, no shared experts, softmax attention only."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble, writer
from codesign.architectures.feed_forward import ExpertFields, FeedForward
from codesign.architectures.token_mixers import grouped_query, grouped_query_fields
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(experts=("num_local_experts",), width=("intermediate_size",))


def read(config: Config) -> Architecture:
    """Read a MiniMax-M2 config.json."""
    if 0 in config.integers("attn_type_list"):
        raise config.fault(
            "attn_type_list", "must be all 1: linear layers are not of this family", 0
        )
    if config.integer("shared_intermediate_size", default=0, least=0):
        raise config.fault("shared_intermediate_size", "must be 0: its class has none", True)
    _, span = config.value("qk_norm_type")
    if span not in (None, "per_layer"):
        raise config.fault("qk_norm_type", "knows per_layer", span)
    attention = grouped_query(config, qk_norm=True, qk_norm_span="all_heads")
    return assemble(config, attention, FeedForward(moe=EXPERTS.read(config, config.layers)))


FAMILY = Family(
    model_types=("minimax_m2",),
    read=read,
    write=writer(grouped_query_fields, EXPERTS.write),
    experts=EXPERTS,
    classes={"minimax_m2": "MiniMaxM2ForCausalLM"},
)
