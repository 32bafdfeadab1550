"""Token mixers: what their weights, caches and scores are. One class per kind.

Every kind answers the same questions for one layer, so that parameters, memory and step time
are computed without asking which kind it is. To add a kind: write a class here, add it to
`Attention`.
"""

from typing import Annotated, Literal

from pydantic import Field

from codesign.spec.base import PositiveCount, Spec


class GroupedQueryAttention(Spec):
    """Multi-head, grouped-query or multi-query softmax attention (Ainslie et al. 2023).

    Parameters
    ----------
    layers : int
        How many layers use it [layer].
    heads, kv_heads, head_dim : int
        Query heads, key-value heads, elements of a query or key head.
    value_dim : int, optional
        Elements of a value head; `head_dim` where absent.
    window : int, optional
        Sliding window [token]; absent: the whole context.
    qkv_bias, output_bias, qk_norm, sinks : bool
        Biases, per-head norms of queries and keys, one learned sink logit per head.
    output_gate : bool
        A gate projected from the input beside the queries (Qwen3-Next).
    """

    kind: Literal["gqa"] = "gqa"
    layers: PositiveCount
    heads: PositiveCount
    kv_heads: PositiveCount
    head_dim: PositiveCount
    value_dim: PositiveCount | None = None
    window: PositiveCount | None = None
    qkv_bias: bool = False
    output_bias: bool = False
    qk_norm: bool = False
    sinks: bool = False
    output_gate: bool = False

    @property
    def _value_dim(self) -> int:
        return self.value_dim or self.head_dim

    def matrix_parameters(self, hidden_size: int) -> int:
        """Weights of the projections of one layer [element]."""
        queries = self.heads * self.head_dim * (2 if self.output_gate else 1)
        keys_values = self.kv_heads * (self.head_dim + self._value_dim)
        return hidden_size * (queries + keys_values + self.heads * self._value_dim)

    def vector_parameters(self, hidden_size: int) -> int:
        """Biases, query-key norms and sinks of one layer [element]."""
        keys_values = self.kv_heads * (self.head_dim + self._value_dim)
        return (
            self.qkv_bias * (self.heads * self.head_dim + keys_values)
            + self.output_bias * hidden_size
            + self.qk_norm * 2 * self.head_dim
            + self.sinks * self.heads
        )

    @property
    def norm_parameters(self) -> int:
        """Norms of one layer that model classes count beside the block norms [element]."""
        return 0

    @property
    def cache_elements_per_token(self) -> int:
        """Elements one layer keeps per cached token, all heads together [element]."""
        return self.kv_heads * (self.head_dim + self._value_dim)

    @property
    def cache_shards(self) -> int:
        """Into how many equal parts tensor parallelism can split the cache; then it replicates."""
        return self.kv_heads

    @property
    def state_elements_per_sequence(self) -> int:
        """Elements one layer keeps per sequence whatever its length [element]."""
        return 0

    @property
    def flop_per_cached_token(self) -> int:
        """FLOP of one layer per query token and cached token: scores and weighted sum."""
        return 2 * self.heads * (self.head_dim + self._value_dim)

    @property
    def projections(self) -> int:
        """Matrix products of one layer: fused query-key-value, and output."""
        return 2


class LatentAttention(Spec):
    """Multi-head latent attention (MLA; DeepSeek-V2, arXiv 2405.04434), absorbed in decode.

    Parameters
    ----------
    q_lora_rank : int, optional
        Rank of the query projection; absent: a full-rank one.
    kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim : int
        As in Hugging Face configs.
    projection_bias : bool
        Biases of the compressing projections and of the output.
    """

    kind: Literal["mla"] = "mla"
    layers: PositiveCount
    heads: PositiveCount
    q_lora_rank: PositiveCount | None = None
    kv_lora_rank: PositiveCount
    qk_nope_head_dim: PositiveCount
    qk_rope_head_dim: PositiveCount
    v_head_dim: PositiveCount
    projection_bias: bool = False

    def matrix_parameters(self, hidden_size: int) -> int:
        """Weights of the projections of one layer [element]."""
        queries = self.heads * (self.qk_nope_head_dim + self.qk_rope_head_dim)
        query = hidden_size * queries
        if self.q_lora_rank is not None:
            query = self.q_lora_rank * (hidden_size + queries)
        compress = hidden_size * (self.kv_lora_rank + self.qk_rope_head_dim)
        expand = self.kv_lora_rank * self.heads * (self.qk_nope_head_dim + self.v_head_dim)
        return query + compress + expand + self.heads * self.v_head_dim * hidden_size

    def vector_parameters(self, hidden_size: int) -> int:
        """Biases of one layer [element]."""
        compressed = (self.q_lora_rank or 0) + self.kv_lora_rank + self.qk_rope_head_dim
        return self.projection_bias * (compressed + hidden_size)

    @property
    def norm_parameters(self) -> int:
        """Norms of the compressed queries and keys-values of one layer [element]."""
        return (self.q_lora_rank or 0) + self.kv_lora_rank

    @property
    def cache_elements_per_token(self) -> int:
        """The latent and the shared rotary key [element]."""
        return self.kv_lora_rank + self.qk_rope_head_dim

    @property
    def cache_shards(self) -> int:
        """Every tensor-parallel rank holds the whole latent."""
        return 1

    @property
    def state_elements_per_sequence(self) -> int:
        """Elements one layer keeps per sequence whatever its length: none."""
        return 0

    @property
    def flop_per_cached_token(self) -> int:
        """FLOP of one layer per query token and cached token, in latent space."""
        return 2 * self.heads * (self.cache_elements_per_token + self.kv_lora_rank)

    @property
    def window(self) -> None:
        """The whole context."""
        return None

    @property
    def projections(self) -> int:
        """Matrix products of one layer: compress, expand queries, absorb keys, values, output."""
        return 5


Attention = Annotated[GroupedQueryAttention | LatentAttention, Field(discriminator="kind")]
