"""The best design seen so far, and what may still turn out to be its equal, chunk by chunk."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from codesign.designs import Designs
from codesign.model.arrays import ArrayLike, FloatArray
from codesign.search.problem import TIE


@dataclass
class Champion:
    """The best design seen.

    Of designs within a tie of the best, the one with the fewest draft tokens wins, then the one
    with the fewest parameters, experts, experts per token. Which those are is only known at the
    end, so what could win yet is kept: with each step down that order a higher score.

    Parameters
    ----------
    score : float
        Of the best; minus infinity while there is none.
    tied : Designs, optional
        What could win, in the order of preference; absent while there is none.
    scores, parameters : ndarray, shape (tied,)
        Their merit, and their total parameters.
    """

    score: float = -np.inf
    tied: Designs | None = None
    scores: FloatArray = field(default_factory=lambda: np.zeros(0))
    parameters: FloatArray = field(default_factory=lambda: np.zeros(0))

    def challenge(
        self,
        designs: Designs,
        scores: FloatArray,
        eligible: NDArray[np.bool_],
        parameters: ArrayLike,
    ) -> None:
        """Let the eligible designs compete.

        Parameters
        ----------
        designs : Designs
        scores, eligible : ndarray
            Of the designs' shape.
        parameters : array_like
            Total parameters; broadcasts to the designs' shape.
        """
        top = float(np.max(scores, where=eligible, initial=-np.inf))
        if top == -np.inf or top < self._level():
            return
        index = np.flatnonzero(eligible & (scores >= top - TIE * abs(top)))
        total = np.broadcast_to(parameters, designs.shape).reshape(-1)[index]
        self._keep(designs.take(index), scores.reshape(-1)[index], np.asarray(total))

    def merge(self, other: "Champion") -> None:
        """Add the champion of another part of the space."""
        if other.tied is not None and other.score >= self._level():
            self._keep(other.tied, other.scores, other.parameters)

    def winner(self) -> Designs | None:
        """Return the best design."""
        return None if self.tied is None else self.tied.take(0)

    def _level(self) -> float:
        return self.score - TIE * abs(self.score) if self.tied is not None else -np.inf

    def _keep(self, designs: Designs, scores: FloatArray, parameters: FloatArray) -> None:
        if self.tied is not None:
            designs = self.tied.joined(designs)
            scores = np.concatenate([self.scores, scores])
            parameters = np.concatenate([self.parameters, parameters])
        self.score = float(scores.max())
        order = np.lexsort((designs.top_k, designs.experts, parameters, designs.draft_tokens))
        order = order[scores[order] >= self.score - TIE * abs(self.score)]
        before = np.maximum.accumulate(np.concatenate([[-np.inf], scores[order][:-1]]))
        order = order[scores[order] > before]
        self.tied, self.scores = designs.take(order), scores[order]
        self.parameters = parameters[order]
