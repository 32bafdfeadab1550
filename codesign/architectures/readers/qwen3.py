"""Qwen3 dense, and the language model of Qwen3-VL: per-head query-key norms."""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import dense_only
from codesign.architectures.token_mixers import (
    biases,
    grouped_query,
    grouped_query_fields,
    qwen_windows,
)
from codesign.spec.architecture import Architecture


def read(config: Config) -> Architecture:
    """Read a Qwen3 config.json."""
    return assemble(
        config,
        grouped_query(config, qwen_windows(config), qk_norm=True, **biases(config)),
        dense_only(config),
    )


def write(architecture: Architecture) -> dict[str, Any]:
    """Return the fields of a config.json."""
    fields = {"intermediate_size": architecture.dense[0].width}
    return grouped_query_fields(architecture) | fields


FAMILY = Family(
    model_types=("qwen3", "qwen3_vl", "qwen3_vl_text"),
    read=read,
    write=write,
    classes={"qwen3": "Qwen3ForCausalLM"},
)
