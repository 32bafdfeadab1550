"""Token mixers with a state of fixed size per sequence instead of a growing cache.

Equations as in the papers named; counts as in the published model classes.
"""

from typing import Literal

from codesign.spec.base import PositiveCount
from codesign.spec.token_mixer import TokenMixer


class RecurrentMixer(TokenMixer):
    """A mixer without a cache that grows with the context."""

    @property
    def window(self) -> None:
        """No token is cached, so no window applies."""
        return None


class GatedDeltaNet(RecurrentMixer):
    """Gated delta rule (Yang et al. 2024, arXiv 2412.06464), as in Qwen3-Next.

    Parameters
    ----------
    key_heads, value_heads : int
        Heads of queries and keys; of values, gates and states.
    key_dim, value_dim : int
        Elements of a key head and of a value head.
    kernel : int
        Width of the causal convolution over queries, keys and values [token].
    """

    kind: Literal["gated_delta"] = "gated_delta"
    key_heads: PositiveCount
    value_heads: PositiveCount
    key_dim: PositiveCount
    value_dim: PositiveCount
    kernel: PositiveCount

    @property
    def _convolved(self) -> int:
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim

    def matrix_parameters(self, hidden_size: int) -> int:
        """Queries, keys, values, output gate, two gates per head, output [element]."""
        values = self.value_heads * self.value_dim
        return hidden_size * (self._convolved + 2 * values + 2 * self.value_heads)

    def vector_parameters(self, hidden_size: int) -> int:
        """Convolution, decay and time step per head, norm of a head [element]."""
        return self._convolved * self.kernel + 2 * self.value_heads + self.value_dim

    @property
    def projections(self) -> int:
        """Queries to gate, the two gates, output."""
        return 3

    @property
    def state_elements_per_sequence(self) -> int:
        """A key x value matrix per head, and the last tokens of the convolution [element]."""
        state = self.value_heads * self.key_dim * self.value_dim
        return state + self._convolved * (self.kernel - 1)


class KimiDeltaAttention(RecurrentMixer):
    """Kimi delta attention (Kimi Linear, arXiv 2510.26692): a decay per channel.

    Parameters
    ----------
    heads, head_dim : int
        Heads, and elements of every query, key and value head.
    kernel : int
        Width of the causal convolution [token].
    decay_rank, gate_rank : int, optional
        Rank of the projections of the decay and of the output gate; absent: full rank.
    """

    kind: Literal["kimi_delta"] = "kimi_delta"
    heads: PositiveCount
    head_dim: PositiveCount
    kernel: PositiveCount
    decay_rank: PositiveCount | None = None
    gate_rank: PositiveCount | None = None

    @property
    def _width(self) -> int:
        return self.heads * self.head_dim

    def matrix_parameters(self, hidden_size: int) -> int:
        """Queries, keys, values, output, decay, output gate, one step size per head [element]."""
        gates = sum(
            hidden_size * self._width if rank is None else rank * (hidden_size + self._width)
            for rank in (self.decay_rank, self.gate_rank)
        )
        return hidden_size * (4 * self._width + self.heads) + gates

    def vector_parameters(self, hidden_size: int) -> int:
        """Convolutions, decay scale per head, decay bias per channel, norm [element]."""
        return 3 * self._width * self.kernel + self.heads + self._width + self.head_dim

    @property
    def projections(self) -> int:
        """Queries to values, decay and gate in two steps each where low-rank, step, output."""
        return 5 + (self.decay_rank is not None) + (self.gate_rank is not None)

    @property
    def state_elements_per_sequence(self) -> int:
        """A square matrix per head, and the last tokens of the convolutions [element]."""
        return self._width * self.head_dim + 3 * self._width * (self.kernel - 1)


class LightningAttention(RecurrentMixer):
    """Linear attention with a fixed decay (MiniMax-01, arXiv 2501.08313; Ring-linear).

    Parameters
    ----------
    heads, head_dim : int
        Heads, and elements of every query, key and value head.
    qk_norm : bool
        A norm per query and per key head.
    """

    kind: Literal["lightning"] = "lightning"
    heads: PositiveCount
    head_dim: PositiveCount
    qk_norm: bool = False

    def matrix_parameters(self, hidden_size: int) -> int:
        """Queries, keys, values, output gate, output [element]."""
        return 5 * hidden_size * self.heads * self.head_dim

    def vector_parameters(self, hidden_size: int) -> int:
        """Output norm over all heads, query and key norms [element]."""
        return self.heads * self.head_dim + self.qk_norm * 2 * self.head_dim

    @property
    def projections(self) -> int:
        """Queries to values, output gate, output."""
        return 3

    @property
    def state_elements_per_sequence(self) -> int:
        """A square matrix per head [element]."""
        return self.heads * self.head_dim**2


class ShortConvolution(RecurrentMixer):
    """A gated causal convolution (LFM2, arXiv 2511.23404).

    Parameters
    ----------
    kernel : int
        Its width [token].
    channels : int
        Its channels: the hidden size.
    bias : bool
        Biases of the convolution and both projections.
    """

    kind: Literal["short_convolution"] = "short_convolution"
    kernel: PositiveCount
    channels: PositiveCount
    bias: bool = False

    def matrix_parameters(self, hidden_size: int) -> int:
        """Two gates and an input, and the output [element]."""
        return 4 * hidden_size * self.channels

    def vector_parameters(self, hidden_size: int) -> int:
        """The convolution, and biases [element]."""
        return self.channels * self.kernel + self.bias * (4 * self.channels + hidden_size)

    @property
    def state_elements_per_sequence(self) -> int:
        """The last tokens of the convolution [element]."""
        return self.channels * (self.kernel - 1)
