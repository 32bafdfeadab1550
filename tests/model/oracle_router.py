"""Routers computed the slow way: simulated with an exact top-k, or by brute-force quadrature."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from scipy.stats import multinomial, multivariate_normal

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
        parts = np.array([router.popularity, router.request, router.recency / router.decay])
        weights = np.sqrt([*parts, max(1 - parts.sum(), 0.0)]).astype(np.float32)
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
    selections: Iterator[Selections], batch_sizes: NDArray[Any], windows: NDArray[Any]
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


def exact_overlap(experts: int, top_k: int, correlation: float) -> float:
    """Overlap of two tokens' exact top-k: multinomial of the other experts, by quadrature."""
    points = np.linspace(-7.0, 7.0, 85)
    factor = np.linspace(-7.5, 7.5, 151)
    weight = np.exp(-(factor**2) / 2)
    weight = weight / weight.sum()
    above = ndtr((np.sqrt(correlation) * factor[:, None] - points) / np.sqrt(1 - correlation))
    both = (weight[:, None] * above).T @ above
    first = (weight[:, None] * above).T @ (1 - above)
    neither = (weight[:, None] * (1 - above)).T @ (1 - above)
    fewer = sum(
        multinomial.pmf(
            [j, a, b, experts - 1 - j - a - b],
            experts - 1,
            np.stack([both, first, first.T, neither], axis=-1),
        )
        for j in range(top_k)
        for a in range(top_k - j)
        for b in range(top_k - j)
        if j + a + b < experts
    )
    pair = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]])
    density = pair.pdf(np.stack(np.meshgrid(points, points, indexing="ij"), axis=-1))
    return float(experts / top_k * (density * fewer).sum() * (points[1] - points[0]) ** 2)


def chain_unique_share(
    ratio: float, router: RouterParameters, batch_size: int, window: int
) -> float:
    """U/N with a fixed threshold and recency as the autoregressive chain it is."""
    normal = np.linspace(-6.5, 6.5, 79)
    weight = np.exp(-(normal**2) / 2)
    weight = weight / weight.sum()
    step = np.exp(
        -((normal - router.decay * normal[:, None]) ** 2) / 2 / (1 - np.square(router.decay))
    )
    step = step / step.sum(axis=1, keepdims=True)
    recency = router.recency / router.decay
    noise = np.sqrt(1 - router.popularity - router.request - recency)
    shared = np.sqrt(router.popularity) * normal[:, None] + np.sqrt(router.request) * normal
    spared = ndtr((-ndtri(ratio) - shared[..., None] - np.sqrt(recency) * normal) / noise)
    chain = spared
    for _ in range(window - 1):
        chain = spared * (chain @ step.T)
    return float(1 - weight @ ((chain @ weight) @ weight) ** batch_size)
