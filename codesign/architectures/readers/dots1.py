"""dots.llm1 (rednote-hilab): per-head query-key norms, dense first layer, shared experts."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble, writer
from codesign.architectures.feed_forward import (
    first_dense,
    first_dense_fields,
    sparse_and_dense,
)
from codesign.architectures.readers.deepseek import EXPERTS
from codesign.architectures.token_mixers import (
    biases,
    grouped_query,
    grouped_query_fields,
    layer_windows,
)
from codesign.spec.architecture import Architecture


def read(config: Config) -> Architecture:
    """Read a dots.llm1 config.json."""
    attention = grouped_query(config, layer_windows(config), qk_norm=True, **biases(config))
    return assemble(config, attention, sparse_and_dense(config, EXPERTS, first_dense(config)))


FAMILY = Family(
    model_types=("dots1",),
    read=read,
    write=writer(grouped_query_fields, EXPERTS.write, first_dense_fields),
    experts=EXPERTS,
    classes={"dots1": "Dots1ForCausalLM"},
)
