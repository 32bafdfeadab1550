"""Feasible designs with the draws of their objectives: what decisions are made from."""

from dataclasses import dataclass, field

import numpy as np

from codesign.designs import Designs
from codesign.model.arrays import FloatArray

MOST_NUMBERS = 2**23
"""Draws kept in memory (64 MB); beyond it the designs with the lowest scores are let go."""


@dataclass
class Contenders:
    """Feasible designs.

    Parameters
    ----------
    designs : Designs, optional
        A list; absent while empty.
    scores : ndarray, shape (designs,)
        Merit by the first objective's statistic.
    samples : dict of str to ndarray, shape (draws, designs)
        Draws of every objective that depends on them, as its own value.
    complete : bool
        No feasible design was let go.
    """

    designs: Designs | None = None
    scores: FloatArray = field(default_factory=lambda: np.zeros(0))
    samples: dict[str, FloatArray] = field(default_factory=dict)
    complete: bool = True

    def add(self, designs: Designs, scores: FloatArray, samples: dict[str, FloatArray]) -> None:
        """Add feasible designs."""
        if len(scores) == 0:
            return
        if self.designs is None:
            self.designs, self.scores, self.samples = designs, scores, dict(samples)
        else:
            self.designs = self.designs.joined(designs)
            self.scores = np.concatenate([self.scores, scores])
            self.samples = {
                name: np.concatenate([own, samples[name]], axis=1)
                for name, own in self.samples.items()
            }
        self._let_go()

    def merge(self, other: "Contenders") -> None:
        """Add those of another part of the space."""
        if other.designs is not None:
            self.add(other.designs, other.scores, other.samples)
        self.complete = self.complete and other.complete

    def position(self, design: Designs) -> int:
        """Return where a design stands among them; it must be one of them."""
        assert self.designs is not None
        same = np.ones(len(self.scores), dtype=bool)
        for axis in ("experts", "top_k", "shared_experts", "draft_tokens", "expert_width"):
            same &= getattr(self.designs, axis) == getattr(design, axis).reshape(-1)[0]
        return int(np.flatnonzero(same)[0])

    def _let_go(self) -> None:
        draws = sum(len(each) for each in self.samples.values()) + 1
        if len(self.scores) * draws <= MOST_NUMBERS or self.designs is None:
            return
        keep = np.sort(np.argsort(-self.scores, kind="stable")[: MOST_NUMBERS // draws // 2])
        self.designs, self.scores = self.designs.take(keep), self.scores[keep]
        self.samples = {name: each[:, keep] for name, each in self.samples.items()}
        self.complete = False
