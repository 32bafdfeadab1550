"""Hy3 (Tencent): per-head query-key norms, a dense first layer, one shared expert."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble, writer
from codesign.architectures.feed_forward import (
    ExpertFields,
    first_dense,
    first_dense_fields,
    sparse_and_dense,
)
from codesign.architectures.token_mixers import biases, grouped_query, grouped_query_fields
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(experts=("num_experts",), shared_experts=("num_shared_experts",))


def read(config: Config) -> Architecture:
    """Read a Hy3 config.json."""
    if config.flag("mlp_bias", False):
        raise config.fault("mlp_bias", "must be false: no published model has these biases", True)
    attention = grouped_query(config, qk_norm=True, **biases(config))
    feed_forward = sparse_and_dense(config, EXPERTS, first_dense(config, default=1))
    return assemble(config, attention, feed_forward)


FAMILY = Family(
    model_types=("hy_v3",),
    read=read,
    write=writer(grouped_query_fields, EXPERTS.write, first_dense_fields),
    experts=EXPERTS,
    classes={"hy_v3": "HYV3ForCausalLM"},
)
