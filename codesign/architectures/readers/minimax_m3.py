"""MiniMax-M3: blocks of tokens chosen by an index in most layers, dense first layers."""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import (
    ExpertFields,
    first_dense,
    per_layer_flags,
    sparse_and_dense,
)
from codesign.architectures.token_mixers import grouped_query
from codesign.spec.architecture import Architecture
from codesign.spec.attention import GroupedQueryAttention

EXPERTS = ExpertFields(
    experts=("num_local_experts",),
    width=("intermediate_size", "moe_intermediate_size"),
    shared_width=("shared_intermediate_size",),
)
LAYER_WORDS = {"full_attention": False, "minimax_m3_sparse": True}


def read(config: Config) -> Architecture:
    """Read a MiniMax-M3 config.json."""
    if config.flag("attention_output_gate", False):
        raise config.fault("attention_output_gate", "must be false: its shape is not known", True)
    feed_forward = sparse_and_dense(
        config, EXPERTS, first_dense(config), ("dense_intermediate_size",)
    )
    return assemble(config, _mixers(config), feed_forward)


def _mixers(config: Config) -> list[GroupedQueryAttention]:
    words = config.words("layer_types", LAYER_WORDS)
    if words:
        indexed = [LAYER_WORDS[word] for word in words]
        index = _index(
            config, "index_n_heads", "index_head_dim", "index_topk_blocks", "index_block_size"
        )
    else:
        part = config.part("sparse_attention_config")
        indexed = per_layer_flags(part, "sparse_attention_freq")
        index = _index(
            part,
            "sparse_num_index_heads",
            "sparse_index_dim",
            "sparse_topk_blocks",
            "sparse_block_size",
        )
    return [
        mixer
        for flag, indexer in ((False, None), (True, index))
        if flag in indexed
        for mixer in grouped_query(
            config, [None] * indexed.count(flag), qk_norm=True, indexer=indexer
        )
    ]


def _index(config: Config, heads: str, dim: str, blocks: str, block: str) -> dict[str, Any]:
    return {
        "heads": config.integer(heads),
        "head_dim": config.integer(dim),
        "selected_tokens": config.integer(blocks) * config.integer(block),
        "head_weights": False,
    }


FAMILY = Family(
    model_types=("minimax_m3", "minimax_m3_vl", "minimax_m3_vl_text"), read=read, experts=EXPERTS
)
