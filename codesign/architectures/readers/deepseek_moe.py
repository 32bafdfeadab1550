"""DeepSeekMoE 16B, the first of its line: plain multi-head attention, dense first layer."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import first_dense, sparse_and_dense
from codesign.architectures.readers.deepseek import EXPERTS
from codesign.architectures.token_mixers import biases, grouped_query
from codesign.spec.architecture import Architecture


def read(config: Config) -> Architecture:
    """Read a DeepSeekMoE config.json."""
    attention = grouped_query(config, same_heads=True, **biases(config))
    return assemble(config, attention, sparse_and_dense(config, EXPERTS, first_dense(config)))


FAMILY = Family(model_types=("deepseek",), read=read, experts=EXPERTS)
