"""What every token mixer answers about one of its layers."""

from codesign.spec.base import PositiveCount, Spec


class TokenMixer(Spec):
    """The part of a layer that looks at other tokens: attention or a recurrence.

    Parameters
    ----------
    layers : int
        How many layers have it [layer].
    """

    layers: PositiveCount

    def matrix_parameters(self, hidden_size: int) -> int:
        """Weights of the projections of one layer [element]."""
        raise NotImplementedError

    def vector_parameters(self, hidden_size: int) -> int:
        """Biases, inner norms, convolutions and other small weights of one layer [element]."""
        return 0

    @property
    def projections(self) -> int:
        """Matrix products of one layer."""
        return 2

    @property
    def norm_parameters(self) -> int:
        """Norms of one layer that model classes count beside the block norms [element]."""
        return 0

    @property
    def cache_elements_per_token(self) -> int:
        """Elements one layer keeps per cached token, all heads together [element]."""
        return 0

    @property
    def cache_shards(self) -> int:
        """Into how many equal parts tensor parallelism can split the cache; then it replicates."""
        return 1

    @property
    def flop_per_cached_token(self) -> int:
        """FLOP of one layer per query token and cached token: scores and weighted sum."""
        return 0

    @property
    def state_elements_per_sequence(self) -> int:
        """Elements one layer keeps per sequence whatever its length [element]."""
        return 0

    @property
    def selected_tokens(self) -> int | None:
        """Cached tokens one query reads after an index has chosen them [token]; None: all."""
        return None

    @property
    def index_elements_per_token(self) -> int:
        """Of the cached elements per token, those that the index reads for all [element]."""
        return 0

    @property
    def index_flop_per_cached_token(self) -> int:
        """FLOP of the index of one layer per query token and cached token."""
        return 0
