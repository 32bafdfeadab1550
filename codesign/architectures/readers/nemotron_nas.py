"""Nemotron made by architecture search (Llama-3.3-Nemotron-Super): each layer has its own width.

A layer without attention has no norm before it either; those norms are counted as `other`.
"""

from collections import Counter
from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import FeedForward
from codesign.architectures.token_mixers import biases, head_dim
from codesign.spec.architecture import Architecture
from codesign.spec.attention import GroupedQueryAttention

WIDTH_STEP = 256


def read(config: Config) -> Architecture:
    """Read a nemotron-nas config.json."""
    _, blocks = config.value("block_configs")
    if not isinstance(blocks, list) or len(blocks) != config.layers:
        raise config.fault("block_configs", f"must have {config.layers} items", blocks)
    attention = [_part(config, block, "attention") for block in blocks]
    feed_forward = [_part(config, block, "ffn") for block in blocks]
    hidden = config.integer("hidden_size")
    norms = sum(part is not None for part in (*attention, *feed_forward))
    return assemble(
        config,
        _attention(config, attention),
        _dense(config, feed_forward, hidden),
        block_norms=0,
        other_parameters=norms * hidden,
        notes=[f"other: the {norms} norms of the layers that search has kept"],
    )


def _part(config: Config, block: object, name: str) -> dict[str, Any] | None:
    part = block.get(name) if isinstance(block, dict) else None
    if not isinstance(part, dict) or part.get("replace_with_linear") or part.get("sparsify"):
        raise config.fault("block_configs", f"{name} is not understood", part)
    return None if part.get("no_op") else part


def _attention(config: Config, parts: list[dict[str, Any] | None]) -> list[GroupedQueryAttention]:
    heads = config.integer("num_attention_heads")
    shape = {"heads": heads, "head_dim": head_dim(config, heads)} | biases(config)
    groups = Counter(part.get("n_heads_in_group") for part in parts if part is not None)
    for group in groups:
        if not isinstance(group, int) or group < 1 or heads % group:
            raise config.fault("block_configs", f"n_heads_in_group must divide {heads}", group)
    return [
        GroupedQueryAttention.from_data(
            shape | {"layers": layers, "kv_heads": heads // int(group or 1)}
        )
        for group, layers in groups.items()
    ]


def _dense(config: Config, parts: list[dict[str, Any] | None], hidden: int) -> FeedForward:
    """Two thirds of a multiple of the hidden size, rounded up to a step, as its code does."""
    multiples = Counter(part.get("ffn_mult") for part in parts if part is not None)
    widths: dict[int, int] = {}
    for multiple, layers in multiples.items():
        if not isinstance(multiple, float | int) or not 0 < multiple < 100:
            raise config.fault("block_configs", "ffn_mult must be a small number", multiple)
        width = -(-int(2 * multiple * hidden / 3) // WIDTH_STEP) * WIDTH_STEP
        widths[width] = widths.get(width, 0) + layers
    return FeedForward(
        dense=[{"layers": layers, "width": width} for width, layers in widths.items()],
        dense_layers=set(range(config.layers)),
        dense_width=max(widths),
    )


FAMILY = Family(model_types=("nemotron-nas",), read=read)
