"""How configs name the sizes of attention, and which layers see only a window."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from codesign.architectures.config import Config
from codesign.errors import UsageError
from codesign.spec.architecture import Architecture
from codesign.spec.attention import GroupedQueryAttention, LatentAttention
from codesign.spec.token_mixer import TokenMixer

Mixer = TypeVar("Mixer", bound=TokenMixer)
Windows = Sequence[int | None]

ATTENTION_WORDS: Final[Mapping[str, bool]] = {
    "full_attention": False,
    "sliding_attention": True,
}
"""Words of ``layer_types`` for softmax attention, and whether they mean a window."""

HYBRID_WORDS: Final[Mapping[str, bool]] = {
    "full_attention": True,
    "attention": True,
    "linear_attention": False,
    "mamba": False,
    "conv": False,
}
"""Words of ``layer_types`` of hybrids, and whether they mean softmax attention."""


def grouped_query(
    config: Config,
    windows: Windows | None = None,
    *,
    same_heads: bool = False,
    **facts: Any,
) -> list[GroupedQueryAttention]:
    """Return the grouped-query attention of a model, one group per window.

    Parameters
    ----------
    config : Config
        The file.
    windows : sequence of (int or None), optional
        For each attention layer its window [token]; absent: all layers see the whole context.
    same_heads : bool
        Without ``num_key_value_heads`` there are as many as query heads: its class's default.
    **facts
        Further fields of `GroupedQueryAttention`.
    """
    heads = config.integer("num_attention_heads", "n_heads")
    kv_heads = config.integer(
        "num_key_value_heads", "num_attention_groups", default=heads if same_heads else None
    )
    shape = {"heads": heads, "kv_heads": kv_heads, "head_dim": head_dim(config, heads)} | facts
    if shape["heads"] % shape["kv_heads"]:
        raise config.fault("num_attention_heads", f"must be a multiple of {kv_heads}", heads)
    layers = Counter([None] * config.layers if windows is None else windows)
    whole_context_first = sorted(layers.items(), key=lambda item: item[0] is not None)
    return [
        GroupedQueryAttention.from_data({"layers": count, "window": window} | shape)
        for window, count in whole_context_first
    ]


def mixers_of(architecture: Architecture, kind: type[Mixer]) -> list[Mixer]:
    """Return the mixers of one kind, of which a family must have one.

    Raises
    ------
    UsageError
        There is none.
    """
    mixers: list[Mixer] = [mixer for mixer in architecture.attention if isinstance(mixer, kind)]
    if not mixers:
        raise UsageError(
            f"{architecture.name}: {architecture.family} is written with {kind.__name__}, "
            "of which there is none"
        )
    return mixers


def grouped_query_fields(architecture: Architecture) -> dict[str, Any]:
    """Return the config's fields for grouped-query attention, windows included."""
    groups = mixers_of(architecture, GroupedQueryAttention)
    fields: dict[str, Any] = {
        "num_attention_heads": groups[0].heads,
        "num_key_value_heads": groups[0].kv_heads,
        "head_dim": groups[0].head_dim,
        "attention_bias": groups[0].qkv_bias,
    }
    windows = {group.window: group.layers for group in groups if group.window is not None}
    if not windows:
        return fields
    (window, windowed), *others = windows.items()
    if others:
        raise UsageError(f"{architecture.name}: a config.json can name one window, not several")
    whole = sum(group.layers for group in groups) - windowed
    words = spread({"sliding_attention": windowed, "full_attention": whole})
    return fields | {"sliding_window": window} | ({"layer_types": words} if whole else {})


def latent_fields(architecture: Architecture) -> dict[str, Any]:
    """Return the config's fields for multi-head latent attention."""
    group = mixers_of(architecture, LatentAttention)[0]
    return {
        "num_attention_heads": group.heads,
        "num_key_value_heads": group.heads,
        "q_lora_rank": group.q_lora_rank,
        "kv_lora_rank": group.kv_lora_rank,
        "qk_nope_head_dim": group.qk_nope_head_dim,
        "qk_rope_head_dim": group.qk_rope_head_dim,
        "v_head_dim": group.v_head_dim,
        "attention_bias": group.projection_bias,
    }


def spread(counts: Mapping[str, int]) -> list[str]:
    """Return one word per layer, each as evenly spread as its count allows.

    Examples
    --------
    >>> spread({"linear": 3, "full": 1})
    ['linear', 'linear', 'full', 'linear']
    """
    total = sum(counts.values())
    placed = dict.fromkeys(counts, 0)
    words: list[str] = []
    for layer in range(total):
        word = max(counts, key=lambda w: counts[w] * (layer + 1) - placed[w] * total)
        placed[word] += 1
        words.append(word)
    return words


def biases(config: Config, default: bool = False) -> dict[str, Any]:
    """``attention_bias``: of queries, keys, values and the output."""
    bias = config.flag("attention_bias", default)
    return {"qkv_bias": bias, "output_bias": bias}


def head_dim(config: Config, heads: int) -> int:
    """Return ``head_dim``; where absent, the hidden size shared out over the heads."""
    if config.has("head_dim", "attention_head_dim"):
        return config.integer("head_dim", "attention_head_dim")
    hidden = config.integer("hidden_size", "d_model")
    if hidden % heads:
        raise config.fault("hidden_size", f"must be a multiple of {heads} heads", hidden)
    return hidden // heads


def layer_windows(config: Config, sliding: Sequence[bool] | None = None) -> list[int | None]:
    """Return the window of each layer from ``layer_types`` and ``sliding_window``.

    Parameters
    ----------
    config : Config
        The file.
    sliding : sequence of bool, optional
        Which layers slide where the file has no ``layer_types``; absent: none.
    """
    words = config.words("layer_types", ATTENTION_WORDS)
    if words:
        sliding = [ATTENTION_WORDS[word] for word in words]
    if not sliding or not any(sliding):
        return [None] * config.layers
    window = config.integer("sliding_window")
    return [window if slides else None for slides in sliding]


def qwen_windows(config: Config) -> list[int | None]:
    """Return the windows of Qwen models: from ``max_window_layers`` on, if they slide at all."""
    sliding = [False] * config.layers
    if config.flag("use_sliding_window", False):
        full = config.integer("max_window_layers", least=0)
        sliding = [layer >= full for layer in range(config.layers)]
    return layer_windows(config, sliding)


def every(config: Config, period: int, offset: int | None = None) -> list[bool]:
    """Return for each layer whether its number modulo `period` is `offset`; absent: the last."""
    at = period - 1 if offset is None else offset
    return [layer % period == at for layer in range(config.layers)]


def softmax_layers(config: Config, default: Sequence[bool]) -> list[bool]:
    """Return which layers of a hybrid have softmax attention; the others are recurrent.

    Parameters
    ----------
    config : Config
        The file; its ``layer_types`` say it if there.
    default : sequence of bool
        What holds otherwise.
    """
    words = config.words("layer_types", HYBRID_WORDS)
    return [HYBRID_WORDS[word] for word in words] if words else list(default)


def latent(config: Config, layers: int | None = None, **facts: Any) -> list[LatentAttention]:
    """Return the multi-head latent attention of a model's layers, all alike."""
    rank = config.integer("q_lora_rank", default=0, least=0)
    return [
        LatentAttention.from_data(
            {
                "layers": layers or config.layers,
                "heads": config.integer("num_attention_heads"),
                "q_lora_rank": rank or None,
                "kv_lora_rank": config.integer("kv_lora_rank"),
                "qk_nope_head_dim": config.integer("qk_nope_head_dim"),
                "qk_rope_head_dim": config.integer("qk_rope_head_dim", least=0),
                "v_head_dim": config.integer("v_head_dim"),
                "projection_bias": config.flag("attention_bias", False),
            }
            | facts
        )
    ]
