"""K-EXAONE (LG AI Research): per-head query-key norms, three of four layers windowed."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble, writer
from codesign.architectures.feed_forward import (
    GROUPS,
    ExpertFields,
    first_dense,
    first_dense_fields,
    sparse_and_dense,
)
from codesign.architectures.token_mixers import grouped_query, grouped_query_fields, layer_windows
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(
    experts=("num_experts",), shared_experts=("num_shared_experts",), groups=GROUPS
)


def read(config: Config) -> Architecture:
    """Read a K-EXAONE config.json."""
    attention = grouped_query(config, layer_windows(config), same_heads=True, qk_norm=True)
    return assemble(config, attention, sparse_and_dense(config, EXPERTS, first_dense(config)))


FAMILY = Family(
    model_types=("exaone_moe",),
    read=read,
    write=writer(grouped_query_fields, EXPERTS.write, first_dense_fields),
    experts=EXPERTS,
    classes={"exaone_moe": "ExaoneMoeForCausalLM"},
)
