"""Token mixers: what their weights, caches and scores are. One class per kind.

Every kind answers the same questions for one layer (`TokenMixer`), so that parameters, memory
and step time are computed without asking which kind it is. To add a kind: write a class here,
in `recurrent` or in `mamba`, and add it to `Attention`.
"""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from codesign.spec.base import PositiveCount
from codesign.spec.indexer import IndexedMixer
from codesign.spec.mamba import Mamba1, Mamba2
from codesign.spec.recurrent import (
    GatedDeltaNet,
    KimiDeltaAttention,
    LightningAttention,
    ShortConvolution,
)


class GroupedQueryAttention(IndexedMixer):
    """Multi-head, grouped-query or multi-query softmax attention (Ainslie et al. 2023).

    Parameters
    ----------
    heads, kv_heads, head_dim : int
        Query heads, key-value heads, elements of a query or key head.
    value_dim : int, optional
        Elements of a value head; `head_dim` where absent.
    window : int, optional
        Sliding window, or chunk [token]; absent: the whole context.
    qkv_bias, output_bias, sinks : bool
        Biases; one learned sink logit per head.
    qk_norm : bool
        Norms of queries and keys, per head or over all heads as `qk_norm_span` says.
    output_gate, head_gate : bool
        A gate of the output projected from the input: per element (Qwen3-Next), per head.
    shared_key_value : bool
        Values are the keys before their norm and rotation (Gemma 4).
    indexer : Indexer, optional
        What chooses the tokens read; absent: all are.
    """

    kind: Literal["gqa"] = "gqa"
    heads: PositiveCount
    kv_heads: PositiveCount
    head_dim: PositiveCount
    value_dim: PositiveCount | None = None
    window: PositiveCount | None = None
    qkv_bias: bool = False
    output_bias: bool = False
    qk_norm: bool = False
    qk_norm_span: Literal["head", "all_heads"] = "head"
    sinks: bool = False
    output_gate: bool = False
    head_gate: bool = False
    shared_key_value: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.heads % self.kv_heads:
            raise ValueError(f"kv_heads must divide heads: {self.heads} % {self.kv_heads} != 0")
        return self

    @property
    def _value_dim(self) -> int:
        return self.value_dim or self.head_dim

    @property
    def _projected_width(self) -> int:
        """Outputs of the key and value projections [element]."""
        values = 0 if self.shared_key_value else self._value_dim
        return self.kv_heads * (self.head_dim + values)

    def matrix_parameters(self, hidden_size: int) -> int:
        """Weights of the projections of one layer [element]."""
        outputs = self.heads * self._value_dim
        gates = self.output_gate * outputs + self.head_gate * self.heads
        queries = self.heads * self.head_dim
        attention = hidden_size * (queries + self._projected_width + outputs + gates)
        return attention + self.index_matrices(hidden_size, hidden_size)

    def vector_parameters(self, hidden_size: int) -> int:
        """Biases, query-key norms and sinks of one layer [element]."""
        normed = self.heads + self.kv_heads if self.qk_norm_span == "all_heads" else 2
        return (
            self.qkv_bias * (self.heads * self.head_dim + self._projected_width)
            + self.output_bias * hidden_size
            + self.qk_norm * normed * self.head_dim
            + self.sinks * self.heads
            + self.index_vectors
        )

    @property
    def cache_elements_per_token(self) -> int:
        """Keys and values of all heads, and the key of an index [element]."""
        return self.kv_heads * (self.head_dim + self._value_dim) + self.index_elements_per_token

    @property
    def cache_shards(self) -> int:
        """Into how many equal parts tensor parallelism can split the cache; then it replicates."""
        return self.kv_heads

    @property
    def flop_per_cached_token(self) -> int:
        """FLOP of one layer per query token and cached token: scores and weighted sum."""
        return 2 * self.heads * (self.head_dim + self._value_dim)


class LatentAttention(IndexedMixer):
    """Multi-head latent attention (MLA; DeepSeek-V2, arXiv 2405.04434), absorbed in decode.

    Parameters
    ----------
    heads : int
        Query heads.
    q_lora_rank : int, optional
        Rank of the query projection; absent: a full-rank one.
    kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim : int
        As in Hugging Face configs.
    projection_bias : bool
        Biases of the compressing projections and of the output.
    output_gate, head_gate : bool
        A gate of the output projected from the input: per element (Kimi-K3), per head (Ling 2.5).
    indexer : Indexer, optional
        What chooses the tokens read; absent: all are.
    """

    kind: Literal["mla"] = "mla"
    heads: PositiveCount
    q_lora_rank: PositiveCount | None = None
    kv_lora_rank: PositiveCount
    qk_nope_head_dim: PositiveCount
    qk_rope_head_dim: int = Field(ge=0)
    v_head_dim: PositiveCount
    projection_bias: bool = False
    output_gate: bool = False
    head_gate: bool = False

    def matrix_parameters(self, hidden_size: int) -> int:
        """Weights of the projections of one layer [element]."""
        queries = self.heads * (self.qk_nope_head_dim + self.qk_rope_head_dim)
        query = hidden_size * queries
        if self.q_lora_rank is not None:
            query = self.q_lora_rank * (hidden_size + queries)
        compress = hidden_size * (self.kv_lora_rank + self.qk_rope_head_dim)
        expand = self.kv_lora_rank * self.heads * (self.qk_nope_head_dim + self.v_head_dim)
        outputs = self.heads * self.v_head_dim
        gates = self.output_gate * outputs + self.head_gate * self.heads
        index = self.index_matrices(hidden_size, self.q_lora_rank or hidden_size)
        return query + compress + expand + hidden_size * (outputs + gates) + index

    def vector_parameters(self, hidden_size: int) -> int:
        """Biases and the norm of an index of one layer [element]."""
        compressed = (self.q_lora_rank or 0) + self.kv_lora_rank + self.qk_rope_head_dim
        return self.projection_bias * (compressed + hidden_size) + self.index_vectors

    @property
    def norm_parameters(self) -> int:
        """Norms of the compressed queries and keys-values of one layer [element]."""
        return (self.q_lora_rank or 0) + self.kv_lora_rank

    @property
    def _latent(self) -> int:
        return self.kv_lora_rank + self.qk_rope_head_dim

    @property
    def cache_elements_per_token(self) -> int:
        """The latent, the shared rotary key, and the key of an index [element]."""
        return self._latent + self.index_elements_per_token

    @property
    def flop_per_cached_token(self) -> int:
        """FLOP of one layer per query token and cached token, in latent space."""
        return 2 * self.heads * (self._latent + self.kv_lora_rank)

    @property
    def window(self) -> None:
        """The whole context."""
        return None

    @property
    def projections(self) -> int:
        """Matrix products of one layer: compress, expand queries, absorb keys, values, output."""
        return 5


Attention = Annotated[
    GroupedQueryAttention
    | LatentAttention
    | GatedDeltaNet
    | KimiDeltaAttention
    | Mamba1
    | Mamba2
    | LightningAttention
    | ShortConvolution,
    Field(discriminator="kind"),
]
