"""GLM-4.5, 4.6 and 4.7 (Zhipu): grouped-query attention, dense first layers."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import first_dense, sparse_and_dense
from codesign.architectures.readers.deepseek import EXPERTS
from codesign.architectures.token_mixers import grouped_query
from codesign.spec.architecture import Architecture


def read(config: Config) -> Architecture:
    """Read a GLM-4.5 config.json."""
    attention = grouped_query(
        config,
        qkv_bias=config.flag("attention_bias", False),
        qk_norm=config.flag("use_qk_norm", False),
    )
    return assemble(config, attention, sparse_and_dense(config, EXPERTS, first_dense(config)))


FAMILY = Family(model_types=("glm4_moe", "glm4v_moe", "glm4v_moe_text"), read=read)
