"""GLM-4.5, 4.6 and 4.7 (Zhipu): grouped-query attention, dense first layers."""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import (
    first_dense,
    first_dense_fields,
    sparse_and_dense,
)
from codesign.architectures.readers.deepseek import EXPERTS
from codesign.architectures.token_mixers import grouped_query, grouped_query_fields
from codesign.spec.architecture import Architecture


def read(config: Config) -> Architecture:
    """Read a GLM-4.5 config.json."""
    attention = grouped_query(
        config,
        qkv_bias=config.flag("attention_bias", False),
        qk_norm=config.flag("use_qk_norm", False),
    )
    return assemble(config, attention, sparse_and_dense(config, EXPERTS, first_dense(config)))


def write(architecture: Architecture) -> dict[str, Any]:
    """Return the fields of a config.json."""
    return (
        grouped_query_fields(architecture)
        | {"use_qk_norm": any(getattr(g, "qk_norm", False) for g in architecture.attention)}
        | EXPERTS.write(architecture)
        | first_dense_fields(architecture)
    )


FAMILY = Family(
    model_types=("glm4_moe", "glm4v_moe", "glm4v_moe_text"),
    read=read,
    write=write,
    experts=EXPERTS,
    classes={"glm4_moe": "Glm4MoeForCausalLM"},
)
