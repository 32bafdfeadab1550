"""What the twin reads of an architecture, counted anew from its plain facts, number by number.

Only fields of the specs are read, never their methods, except for recurrent mixers: their counts
are checked against published checkpoints elsewhere and are facts here.
"""

from dataclasses import dataclass
from typing import Any

from codesign.spec.architecture import Architecture
from codesign.spec.attention import Attention, GroupedQueryAttention, LatentAttention
from codesign.spec.indexer import Indexer
from codesign.spec.precision import Precision

BITS_PER_ELEMENT = {
    "fp32": 32.0,
    "bf16": 16.0,
    "fp16": 16.0,
    "fp8": 8.0,
    "fp8_block": 8.0 + 32 / (128 * 128),
    "mxfp8": 8.0 + 8 / 32,
    "int8": 8.0,
    "mxfp4": 4.0 + 8 / 32,
    "nvfp4": 4.0 + 8 / 16,
    "int4": 4.0 + 16 / 128,
    "int4_g32": 4.0 + 16 / 32,
}
"""With their scales: docs/model.md, section "Bytes"."""


def size(dtype: str) -> float:
    """Bytes of one element."""
    return BITS_PER_ELEMENT[dtype] / 8


def dtype_of(precision: Precision, component: str) -> str:
    """Format of one component's weights."""
    return str(getattr(precision, component) or precision.weights)


@dataclass(frozen=True)
class Mixer:
    """One kind of token mixer; counts are of one layer, before any sharding."""

    layers: int
    kernel: str
    matrices: int
    vectors: int
    norms: int
    products: int
    window: int | None
    selected: int | None
    cached: int
    index_cached: int
    flop: int
    index_flop: int
    state: int
    shards: int


def mixers(model: Architecture) -> list[Mixer]:
    """The token mixers of a model."""
    return [_mixer(group, model.hidden_size) for group in model.attention]


def _mixer(group: Attention, hidden: int) -> Mixer:
    if isinstance(group, GroupedQueryAttention):
        return _grouped(group, hidden)
    if isinstance(group, LatentAttention):
        return _latent(group, hidden)
    return Mixer(
        group.layers, "attention", group.matrix_parameters(hidden), group.vector_parameters(hidden),
        0, group.projections, None, None, 0, 0, 0, 0, group.state_elements_per_sequence, 1,
    )  # fmt: skip


def _index(index: Indexer | None, hidden: int, query_inputs: int) -> tuple[int, int, int, int]:
    """Matrices, vectors, cached elements and FLOP per cached token of an index of its own."""
    if index is None or index.shared:
        return 0, 0, 0, 0
    width = index.heads * index.head_dim
    weighing = index.heads if index.head_weights else 0
    matrices = query_inputs * width + hidden * (index.head_dim + weighing)
    return matrices, 2 * index.head_dim, index.head_dim, 2 * width


def _grouped(group: GroupedQueryAttention, hidden: int) -> Mixer:
    value = group.value_dim if group.value_dim is not None else group.head_dim
    queries, keys = group.heads * group.head_dim, group.kv_heads * group.head_dim
    values, outputs = group.kv_heads * value, group.heads * value
    projected = queries + keys + (0 if group.shared_key_value else values)
    gates = (outputs if group.output_gate else 0) + (group.heads if group.head_gate else 0)
    index = _index(group.indexer, hidden, hidden)
    normed = group.heads + group.kv_heads if group.qk_norm_span == "all_heads" else 2
    vectors = projected if group.qkv_bias else 0
    vectors += hidden if group.output_bias else 0
    vectors += normed * group.head_dim if group.qk_norm else 0
    vectors += group.heads if group.sinks else 0
    return Mixer(
        layers=group.layers, kernel="attention",
        matrices=hidden * (projected + outputs + gates) + index[0],
        vectors=vectors + index[1], norms=0, products=2, window=group.window,
        selected=group.indexer.selected_tokens if group.indexer else None,
        cached=keys + values, index_cached=index[2],
        flop=2 * group.heads * (group.head_dim + value), index_flop=index[3],
        state=0, shards=group.kv_heads,
    )  # fmt: skip


def _latent(group: LatentAttention, hidden: int) -> Mixer:
    nope, rope, value = group.qk_nope_head_dim, group.qk_rope_head_dim, group.v_head_dim
    rank, queries = group.q_lora_rank, group.heads * (nope + rope)
    query = hidden * queries if rank is None else rank * (hidden + queries)
    latent, outputs = group.kv_lora_rank + rope, group.heads * value
    expand = group.kv_lora_rank * group.heads * (nope + value)
    gates = (outputs if group.output_gate else 0) + (group.heads if group.head_gate else 0)
    index = _index(group.indexer, hidden, rank or hidden)
    biases = (rank or 0) + latent + hidden if group.projection_bias else 0
    return Mixer(
        layers=group.layers, kernel="latent_attention",
        matrices=query + hidden * latent + expand + hidden * (outputs + gates) + index[0],
        vectors=biases + index[1], norms=(rank or 0) + group.kv_lora_rank, products=5,
        window=None, selected=group.indexer.selected_tokens if group.indexer else None,
        cached=latent, index_cached=index[2],
        flop=2 * group.heads * (latent + group.kv_lora_rank), index_flop=index[3],
        state=0, shards=1,
    )  # fmt: skip


@dataclass(frozen=True)
class Counts:
    """Parameters of a design, by what they are kept in."""

    routed: float
    shared: float
    router: float
    latent: float
    attention: float
    dense: float
    embedding: float
    lm_head: float
    norm: float
    other: float

    @property
    def total(self) -> float:
        return float(sum(vars(self).values()))


def shared_ratio(model: Architecture) -> float:
    """Width of a shared expert over that of a routed one."""
    moe = model.moe
    return 1.0 if moe is None or moe.shared_width is None else moe.shared_width / moe.expert_width


def feed_forward(inputs: int, width: Any, matrices: int, bias: bool = False) -> Any:
    """Parameters of one expert or dense layer."""
    return matrices * inputs * width + (((matrices - 1) * width + inputs) if bias else 0)


def counts(model: Architecture, experts: float, shared: float, width: float) -> Counts:
    """Parameters of a model with so many experts of a width."""
    hidden, moe = model.hidden_size, model.moe
    routed = shared_all = router = latent = 0.0
    if moe is not None:
        inputs = moe.latent_width or hidden
        one = feed_forward(inputs, width, moe.matrices, moe.expert_bias)
        always = feed_forward(hidden, width * shared_ratio(model), moe.matrices, moe.expert_bias)
        gate = hidden if moe.shared_gate else 0
        routed, shared_all = moe.layers * experts * one, moe.layers * shared * always
        router = moe.layers * (experts * (hidden + (1 if moe.router_bias else 0)) + gate)
        latent = moe.layers * 2 * hidden * (moe.latent_width or 0)
    found = mixers(model)
    vectors = model.layers * model.block_norms + 1
    return Counts(
        routed=routed, shared=shared_all, router=router, latent=latent,
        attention=sum(each.layers * (each.matrices + each.vectors) for each in found),
        dense=sum(
            group.layers * feed_forward(hidden, group.width, group.matrices, group.bias)
            for group in model.dense
        ),
        embedding=model.vocab_size * hidden,
        lm_head=model.vocab_size
        * ((0 if model.tied_embeddings else hidden) + (1 if model.head_bias else 0)),
        norm=vectors * hidden * (2 if model.norm_bias else 1)
        + sum(each.layers * each.norms for each in found),
        other=model.other_parameters,
    )  # fmt: skip
