"""Exact parameter counts of one architecture, by component."""

from dataclasses import dataclass

from codesign.model.parameters import (
    active_parameters,
    expert_parameters,
    routed_parameters,
    router_parameters,
    shared_parameters,
)
from codesign.spec.architecture import Architecture


@dataclass(frozen=True)
class ParameterCounts:
    """Parameters of a model [element].

    Multi-token-prediction layers and buffers (router correction biases, rotary tables) are left
    out; both embeddings are included, a tied one once, as `embedding`.

    Parameters
    ----------
    total, active : int
        All parameters; those one token passes through, total - routed (1 - k/N).
    routed, shared : int
        Routed and shared experts.
    router : int
        Routers and the gates of shared experts.
    latent : int
        Projections between the hidden size and narrower routed experts.
    attention : int
        Token mixers with their biases, query-key norms and sinks.
    dense : int
        Dense feed-forward layers.
    embedding, lm_head : int
        Input embedding; output embedding where it is a table of its own.
    norm : int
        Block norms, the last norm, and the norms of compressed queries and keys-values.
    other : int
        What the architecture's notes explain.
    """

    total: int
    active: int
    routed: int
    shared: int
    router: int
    latent: int
    attention: int
    dense: int
    embedding: int
    lm_head: int
    norm: int
    other: int


def count_parameters(architecture: Architecture) -> ParameterCounts:
    """Count the parameters of an architecture, to the parameter.

    Examples
    --------
    >>> from codesign.architectures import load_architecture
    >>> counts = count_parameters(load_architecture("qwen3-30b-a3b"))
    >>> counts.total, counts.active
    (30532122624, 3353032704)
    """
    parts = _moe_parts(architecture) | {
        "attention": _attention(architecture),
        "dense": _dense(architecture),
        "embedding": architecture.vocab_size * architecture.hidden_size,
        "lm_head": _head(architecture),
        "norm": _norms(architecture),
        "other": architecture.other_parameters,
    }
    total = sum(parts.values())
    active = total
    if architecture.moe is not None:
        active = int(
            active_parameters(
                total, parts["routed"], architecture.moe.experts, architecture.moe.top_k
            )
        )
    return ParameterCounts(total=total, active=active, **parts)


def prediction_parameters(architecture: Architecture) -> int:
    """Count the multi-token-prediction layers that `count_parameters` leaves out [element].

    Parameters
    ----------
    architecture : Architecture

    Returns
    -------
    int
        0 where the checkpoint has none; copies of the embeddings are not counted again.

    Notes
    -----
    DeepSeek-V3's form (arXiv 2412.19437, section 2.2): a decoder layer like the last one, a
    projection of two hidden states to one, and three norms. Other families differ slightly.

    Examples
    --------
    >>> from codesign.architectures import load_architecture
    >>> prediction_parameters(load_architecture("deepseek-v3"))
    11610067968
    """
    hidden, moe, mixer = architecture.hidden_size, architecture.moe, architecture.attention[0]
    feed_forward = 0
    if moe is not None:
        feed_forward = sum(_moe_parts(architecture).values()) // moe.layers
    elif architecture.dense:
        group = architecture.dense[-1]
        feed_forward = int(expert_parameters(hidden, group.width, group.matrices, group.bias))
    attention = mixer.matrix_parameters(hidden) + mixer.vector_parameters(hidden)
    norms = mixer.norm_parameters + (architecture.block_norms + 3) * hidden
    one = attention + feed_forward + norms + 2 * hidden * hidden
    return architecture.prediction_layers * one


def _moe_parts(architecture: Architecture) -> dict[str, int]:
    moe, hidden = architecture.moe, architecture.hidden_size
    if moe is None:
        return {"routed": 0, "shared": 0, "router": 0, "latent": 0}
    bias = int(moe.expert_bias)
    input_width = moe.latent_width or hidden
    shared_width = moe.shared_width or moe.expert_width
    return {
        "routed": int(
            routed_parameters(
                moe.layers, moe.experts, input_width, moe.expert_width, moe.matrices, bias
            )
        ),
        "shared": int(
            shared_parameters(
                moe.layers, moe.shared_experts, hidden, shared_width, moe.matrices, bias
            )
        ),
        "router": int(
            router_parameters(
                moe.layers, moe.experts, hidden, int(moe.router_bias), int(moe.shared_gate)
            )
        ),
        "latent": 2 * moe.layers * hidden * moe.latent_width if moe.latent_width else 0,
    }


def _dense(architecture: Architecture) -> int:
    hidden = architecture.hidden_size
    return sum(
        group.layers * int(expert_parameters(hidden, group.width, group.matrices, group.bias))
        for group in architecture.dense
    )


def _attention(architecture: Architecture) -> int:
    hidden = architecture.hidden_size
    return sum(
        group.layers * (group.matrix_parameters(hidden) + group.vector_parameters(hidden))
        for group in architecture.attention
    )


def _head(architecture: Architecture) -> int:
    table = 0 if architecture.tied_embeddings else architecture.hidden_size
    return architecture.vocab_size * (table + architecture.head_bias)


def _norms(architecture: Architecture) -> int:
    vectors = (architecture.layers * architecture.block_norms + 1) * (1 + architecture.norm_bias)
    inner = sum(group.layers * group.norm_parameters for group in architecture.attention)
    return vectors * architecture.hidden_size + inner
