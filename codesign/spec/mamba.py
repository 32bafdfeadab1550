"""State-space mixers: Mamba and Mamba-2. Counts as in the published model classes."""

from typing import Literal

from codesign.spec.base import PositiveCount
from codesign.spec.recurrent import RecurrentMixer


class Mamba2(RecurrentMixer):
    """State-space duality (Mamba-2, arXiv 2405.21060), as in Nemotron-H and Granite 4.

    Parameters
    ----------
    heads, head_dim : int
        Heads and elements of a head; together the inner width.
    groups, state_dim : int
        Groups that share their input and output maps, and the state per channel.
    kernel : int
        Width of the causal convolution [token].
    convolution_bias, projection_bias : bool
        Biases.
    """

    kind: Literal["mamba2"] = "mamba2"
    heads: PositiveCount
    head_dim: PositiveCount
    groups: PositiveCount
    state_dim: PositiveCount
    kernel: PositiveCount
    convolution_bias: bool = True
    projection_bias: bool = False

    @property
    def _inner(self) -> int:
        return self.heads * self.head_dim

    @property
    def _convolved(self) -> int:
        return self._inner + 2 * self.groups * self.state_dim

    @property
    def _projected(self) -> int:
        return self._inner + self._convolved + self.heads

    def matrix_parameters(self, hidden_size: int) -> int:
        """Input projection (gate, convolved channels, time steps) and output [element]."""
        return hidden_size * (self._projected + self._inner)

    def vector_parameters(self, hidden_size: int) -> int:
        """Convolution, time-step bias, decay and skip per head, norm, biases [element]."""
        convolution = self._convolved * (self.kernel + self.convolution_bias)
        biases = self.projection_bias * (self._projected + hidden_size)
        return convolution + 3 * self.heads + self._inner + biases

    @property
    def state_elements_per_sequence(self) -> int:
        """State per channel, and the last tokens of the convolution [element]."""
        return self._inner * self.state_dim + self._convolved * (self.kernel - 1)


class Mamba1(RecurrentMixer):
    """Selective state space (Mamba, arXiv 2312.00752), with Jamba's inner norms.

    Parameters
    ----------
    inner_width, state_dim, step_rank : int
        Channels, state per channel, rank of the time-step projection.
    kernel : int
        Width of the causal convolution [token].
    convolution_bias, projection_bias : bool
        Biases.
    """

    kind: Literal["mamba1"] = "mamba1"
    inner_width: PositiveCount
    state_dim: PositiveCount
    step_rank: PositiveCount
    kernel: PositiveCount
    convolution_bias: bool = True
    projection_bias: bool = False

    def matrix_parameters(self, hidden_size: int) -> int:
        """Input and gate, input-dependent maps, time steps, output [element]."""
        maps = self.step_rank + 2 * self.state_dim
        return self.inner_width * (3 * hidden_size + maps + self.step_rank)

    def vector_parameters(self, hidden_size: int) -> int:
        """Convolution, decay, skip, time-step bias, inner norms, biases [element]."""
        channel = self.kernel + self.convolution_bias + self.state_dim + 2
        norms = self.step_rank + 2 * self.state_dim
        biases = self.projection_bias * (2 * self.inner_width + hidden_size)
        return self.inner_width * channel + norms + biases

    @property
    def projections(self) -> int:
        """Input, maps, time steps, output."""
        return 4

    @property
    def state_elements_per_sequence(self) -> int:
        """State per channel, and the last tokens of the convolution [element]."""
        return self.inner_width * (self.state_dim + self.kernel - 1)
