"""Ling and Ring (inclusionAI, Bailing), versions 1 and 2: softmax attention only.

Version 2 has per-head query-key norms and routes within groups.
"""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import (
    GROUPS,
    ExpertFields,
    first_dense,
    sparse_and_dense,
)
from codesign.architectures.token_mixers import grouped_query
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(
    experts=("num_experts",), shared_experts=("num_shared_experts",), groups=GROUPS
)


def read(config: Config) -> Architecture:
    """Read a config.json of Ling or Ring, versions 1 and 2."""
    attention = grouped_query(
        config,
        qkv_bias=config.flag("use_qkv_bias", False),
        output_bias=config.flag("use_bias", False),
        qk_norm=config.flag("use_qk_norm", config.model_type == "bailing_moe_v2"),
    )
    return assemble(
        config, attention, sparse_and_dense(config, EXPERTS, first_dense(config, default=0))
    )


FAMILY = Family(model_types=("bailing_moe", "bailing_moe_v2"), read=read, experts=EXPERTS)
