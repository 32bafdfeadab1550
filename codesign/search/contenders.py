"""Feasible designs with the draws of their objectives: what decisions are made from."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from codesign.designs import Designs
from codesign.model.arrays import FloatArray

MOST_NUMBERS = 2**23
"""Draws kept in memory (64 MB); beyond it the designs with the lowest scores are let go."""


@dataclass(frozen=True)
class _Part:
    designs: Designs
    scores: FloatArray
    samples: dict[str, FloatArray]

    def take(self, keep: NDArray[np.intp]) -> "_Part":
        samples = {name: each[:, keep] for name, each in self.samples.items()}
        return _Part(self.designs.take(keep), self.scores[keep], samples)


@dataclass
class Contenders:
    """Feasible designs, gathered part by part.

    Parameters
    ----------
    complete : bool
        No feasible design was let go.
    """

    complete: bool = True
    _parts: list[_Part] = field(default_factory=list)

    @property
    def designs(self) -> Designs | None:
        """A list; absent while empty."""
        return self._whole().designs if self._parts else None

    @property
    def scores(self) -> FloatArray:
        """Merit by the first objective's statistic, shape (designs,)."""
        return self._whole().scores if self._parts else np.zeros(0)

    @property
    def samples(self) -> dict[str, FloatArray]:
        """Draws of every objective that depends on them, as its own value, (draws, designs)."""
        return self._whole().samples if self._parts else {}

    def add(self, designs: Designs, scores: FloatArray, samples: dict[str, FloatArray]) -> None:
        """Add feasible designs."""
        if len(scores):
            self._parts.append(_Part(designs, scores, samples))
            self._let_go()

    def merge(self, other: "Contenders") -> None:
        """Add those of another part of the space."""
        if other.designs is not None:
            self.add(other.designs, other.scores, other.samples)
        self.complete = self.complete and other.complete

    def position(self, design: Designs) -> int:
        """Return where a design stands among them; it must be one of them."""
        whole = self._whole()
        same = np.ones(len(whole.scores), dtype=bool)
        for axis in ("experts", "top_k", "shared_experts", "draft_tokens", "expert_width"):
            same &= getattr(whole.designs, axis) == getattr(design, axis).reshape(-1)[0]
        return int(np.flatnonzero(same)[0])

    def _whole(self) -> _Part:
        """Put the parts together once they are asked for: each is copied few times, not often."""
        if len(self._parts) > 1:
            first, *others = (part.designs for part in self._parts)
            whole = _Part(
                first.joined(*others),
                np.concatenate([part.scores for part in self._parts]),
                {
                    name: np.concatenate([part.samples[name] for part in self._parts], axis=1)
                    for name in self._parts[0].samples
                },
            )
            self._parts = [whole]
        return self._parts[0]

    def _let_go(self) -> None:
        draws = sum(len(each) for each in self._parts[0].samples.values()) + 1
        if sum(len(part.scores) for part in self._parts) * draws <= MOST_NUMBERS:
            return
        whole = self._whole()
        keep = np.sort(np.argsort(-whole.scores, kind="stable")[: MOST_NUMBERS // draws // 2])
        self._parts, self.complete = [whole.take(keep)], False
