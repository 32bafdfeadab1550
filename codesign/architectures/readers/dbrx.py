"""DBRX (Databricks): sizes in `attn_config` and `ffn_config`, every layer sparse."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, FeedForward
from codesign.architectures.token_mixers import grouped_query
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(
    experts=("moe_num_experts",), top_k=("moe_top_k",), width=("ffn_hidden_size",)
)


def read(config: Config) -> Architecture:
    """Read a DBRX config.json."""
    kv_heads = config.part("attn_config").integer("kv_n_heads")
    moe = EXPERTS.read(config.part("ffn_config"), config.layers)
    return assemble(
        config,
        grouped_query(config, same_heads=True, kv_heads=kv_heads),
        FeedForward(moe=moe),
    )


FAMILY = Family(model_types=("dbrx",), read=read, experts=EXPERTS)
