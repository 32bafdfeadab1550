"""Qwen3 dense, and the language model of Qwen3-VL: per-head query-key norms."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import dense_only
from codesign.architectures.token_mixers import biases, grouped_query, qwen_windows
from codesign.spec.architecture import Architecture


def read(config: Config) -> Architecture:
    """Read a Qwen3 config.json."""
    return assemble(
        config,
        grouped_query(config, qwen_windows(config), qk_norm=True, **biases(config)),
        dense_only(config),
    )


FAMILY = Family(model_types=("qwen3", "qwen3_vl", "qwen3_vl_text"), read=read)
