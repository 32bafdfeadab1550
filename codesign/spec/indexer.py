"""Sparse attention: a small index chooses the cached tokens that the large attention reads."""

from codesign.spec.base import PositiveCount, Spec
from codesign.spec.token_mixer import TokenMixer


class Indexer(Spec):
    """A small attention that chooses the tokens the large one reads (DeepSeek-V3.2).

    Parameters
    ----------
    heads, head_dim : int
        Query heads, and elements of a query head and of the one key.
    selected_tokens : int
        Tokens chosen per query [token].
    head_weights : bool
        The heads are weighed by a projection of the input.
    shared : bool
        The layer uses the choice of an earlier layer and has no index of its own (GLM-5.3).
    """

    heads: PositiveCount
    head_dim: PositiveCount
    selected_tokens: PositiveCount
    head_weights: bool = True
    shared: bool = False

    def matrix_parameters(self, hidden_size: int, query_width: int) -> int:
        """Queries (from `query_width` inputs), the key, and head weights [element]."""
        if self.shared:
            return 0
        queries = query_width * self.heads * self.head_dim
        return queries + hidden_size * (self.head_dim + self.head_weights * self.heads)

    @property
    def vector_parameters(self) -> int:
        """Norms, or one norm with bias [element]."""
        return 0 if self.shared else 2 * self.head_dim

    @property
    def cache_elements_per_token(self) -> int:
        """One key [element]."""
        return 0 if self.shared else self.head_dim

    @property
    def flop_per_cached_token(self) -> int:
        """FLOP per query token and cached token: scores of all heads."""
        return 0 if self.shared else 2 * self.heads * self.head_dim


class IndexedMixer(TokenMixer):
    """What attention with an optional index answers."""

    indexer: Indexer | None = None

    @property
    def selected_tokens(self) -> int | None:
        """Cached tokens one query reads after an index has chosen them [token]; None: all."""
        return self.indexer.selected_tokens if self.indexer else None

    @property
    def index_elements_per_token(self) -> int:
        """Of the cached elements per token, those that the index reads for all [element]."""
        return self.indexer.cache_elements_per_token if self.indexer else 0

    @property
    def index_flop_per_cached_token(self) -> int:
        """FLOP of the index of one layer per query token and cached token."""
        return self.indexer.flop_per_cached_token if self.indexer else 0

    def index_matrices(self, hidden_size: int, query_width: int) -> int:
        """Weights of the index of one layer [element]."""
        return self.indexer.matrix_parameters(hidden_size, query_width) if self.indexer else 0

    @property
    def index_vectors(self) -> int:
        """Norms of the index of one layer [element]."""
        return self.indexer.vector_parameters if self.indexer else 0
