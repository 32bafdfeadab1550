"""A router that is simulated: it draws the latent scores and takes the exact top-k."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codesign.model.arrays import FloatArray
from codesign.model.routing import RouterParameters

Selections = NDArray[np.bool_]


@dataclass(frozen=True)
class SimulatedRouter:
    """Exact top-k of latent scores; with groups, only of those whose two best add up to most."""

    experts: int
    top_k: int
    router: RouterParameters
    groups: int = 1
    kept_groups: int = 1

    def batches(
        self, batch_size: int, window: int, repetitions: int, seed: int
    ) -> Iterator[Selections]:
        """Yield which experts are selected, [sequence, token, expert], with new popularity each."""
        rng = np.random.default_rng(seed)
        for _ in range(repetitions):
            scores = self._scores(batch_size, window, rng)
            if self.groups > 1:
                scores = self._within_groups(scores)
            order = np.argpartition(scores, -self.top_k, axis=-1)[..., -self.top_k :]
            selected = np.zeros(scores.shape, dtype=np.bool_)
            np.put_along_axis(selected, order, True, axis=-1)
            yield selected

    def _scores(self, batch_size: int, window: int, rng: np.random.Generator) -> NDArray[Any]:
        router, shape = self.router, (batch_size, window, self.experts)
        popularity = rng.standard_normal(self.experts, dtype=np.float32)
        bent = (popularity - router.skew * (popularity**2 - 1)) / np.sqrt(1 + 2 * router.skew**2)
        context = rng.standard_normal((batch_size, 1, self.experts), dtype=np.float32)
        recency = rng.standard_normal(shape, dtype=np.float32)
        for token in range(1, window):
            recency[:, token] *= np.float32(np.sqrt(1 - router.decay**2))
            recency[:, token] += np.float32(router.decay) * recency[:, token - 1]
        parts = router.popularity, router.request, router.recency / router.decay
        weights = np.sqrt([*parts, max(1 - sum(parts), 0.0)]).astype(np.float32)
        noise = rng.standard_normal(shape, dtype=np.float32)
        shared = weights[0] * bent.astype(np.float32) + weights[1] * context
        return np.asarray(shared + weights[2] * recency + weights[3] * noise)

    def _within_groups(self, scores: NDArray[Any]) -> NDArray[Any]:
        grouped = scores.reshape(*scores.shape[:-1], self.groups, -1)
        best_two = np.sort(grouped, axis=-1)[..., -2:].sum(axis=-1)
        bar = np.sort(best_two, axis=-1)[..., -self.kept_groups, None]
        kept = np.repeat(best_two >= bar, self.experts // self.groups, axis=-1)
        return np.where(kept, scores, -np.inf)


def mean_unique(
    selections: Iterator[Selections], batch_sizes: tuple[int, ...], windows: tuple[int, ...]
) -> tuple[FloatArray, FloatArray]:
    """Mean unique experts and its standard error, [batch size, window]."""
    results = np.array(
        [
            [[_unique(selected, size, window) for window in windows] for size in batch_sizes]
            for selected in selections
        ]
    )
    return results.mean(axis=0), results.std(axis=0) / np.sqrt(len(results))


def _unique(selected: Selections, batch_size: int, window: int) -> float:
    sequences, tokens, experts = selected.shape
    shape = (sequences // batch_size, batch_size, tokens // window, window, experts)
    return float(selected.reshape(shape).any(axis=(1, 3)).sum(axis=-1).mean())


def mean_busiest(selections: Iterator[Selections], ranks: int) -> tuple[float, float]:
    """Mean over batches of unique experts and of token slots of the busiest rank."""
    loads = []
    for selected in selections:
        counts = selected.sum(axis=(0, 1)).reshape(ranks, -1)
        loads.append(((counts > 0).sum(axis=1).max(), counts.sum(axis=1).max()))
    unique, slots = np.mean(loads, axis=0)
    return float(unique), float(slots)
