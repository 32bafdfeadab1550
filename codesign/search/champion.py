"""The best designs seen so far, ties included, gathered chunk by chunk."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from codesign.designs import Designs
from codesign.model.arrays import FloatArray
from codesign.search.problem import TIE, Problem


@dataclass
class Champion:
    """The best designs seen.

    Parameters
    ----------
    score : float
        Of the best; minus infinity while there is none.
    tied : list of Designs
        Lists of designs that were within a tie of the best when they came.
    scores : list of ndarray
        Theirs.
    """

    score: float = -np.inf
    tied: list[Designs] = field(default_factory=list)
    scores: list[FloatArray] = field(default_factory=list)

    def challenge(self, designs: Designs, scores: FloatArray, eligible: NDArray[np.bool_]) -> None:
        """Let the eligible designs compete; `scores` and `eligible` have the designs' shape."""
        top = float(np.max(scores, where=eligible, initial=-np.inf))
        if top == -np.inf or top < self._level():
            return
        index = np.flatnonzero(eligible & (scores >= top - TIE * abs(top)))
        self._keep(designs.take(index), scores.reshape(-1)[index])

    def merge(self, other: "Champion") -> None:
        """Add the champion of another part of the space."""
        for designs, scores in zip(other.tied, other.scores, strict=True):
            if float(scores.max()) >= self._level():
                self._keep(designs, scores)

    def winner(self, problem: Problem) -> Designs | None:
        """Return the best design: of equals the fewest draft tokens, then fewest parameters."""
        if not self.tied:
            return None
        designs, scores = self.tied[0], np.concatenate(self.scores)
        for more in self.tied[1:]:
            designs = designs.joined(more)
        designs = designs.take(np.flatnonzero(scores >= self._level()))
        total = problem.evaluate(designs).prediction.total_params
        order = np.lexsort((designs.top_k, designs.experts, total, designs.draft_tokens))
        return designs.take(order[:1])

    def _level(self) -> float:
        return self.score - TIE * abs(self.score) if self.tied else -np.inf

    def _keep(self, designs: Designs, scores: FloatArray) -> None:
        self.tied.append(designs)
        self.scores.append(scores)
        self.score = max(self.score, float(scores.max()))
