"""Quantities of shipped cases: unique experts, overlaps and the Amdahl view."""

from dataclasses import replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from codesign.model.acceptance import acceptance_length, decay_survival
from codesign.model.amdahl import amdahl_ratio
from codesign.model.latent_router import overlap, overlap_latent, unique_experts
from codesign.model.routing import (
    GENERIC_ROUTER,
    RouterParameters,
    lag_correlation,
    unique_experts_uniform,
)

__all__ = [
    "affine_ratio",
    "decay_acceptance_length",
    "expert_overlap",
    "fewer_than_independent",
    "fewer_than_uniform",
    "most_popular_expert",
    "popularity_for_overlap",
    "popularity_for_unique",
    "popularity_overlap",
    "share_of_uniform",
    "speedup_by_amdahl",
    "squared_popularity",
    "uniform_overlap",
    "unique_correlated",
    "unique_independent",
    "unique_over_top_k",
    "unique_uniform",
    "verify_ratio_by_amdahl",
]


def unique_uniform(experts: int, top_k: int, tokens: int) -> float:
    """Unique experts if every token chose uniformly [-]."""
    return float(unique_experts_uniform(experts, top_k, tokens))


def unique_correlated(experts: int, top_k: int, batch_size: int = 1, window: int = 1) -> float:
    """Unique experts of the generic router [-]."""
    return float(unique_experts(experts, top_k, batch_size, window, GENERIC_ROUTER))


def unique_independent(
    experts: int, top_k: int, batch_size: int = 1, window: int = 1, popularity: float | None = None
) -> float:
    """Unique experts of tokens that share popularity only, r_p the generic one or as given [-]."""
    router = GENERIC_ROUTER.popularity_only()
    if popularity is not None:
        router = replace(router, popularity=popularity)
    return float(unique_experts(experts, top_k, batch_size, window, router))


def unique_over_top_k(experts: int, top_k: int, window: int, kind: str) -> float:
    """Unique experts of consecutive tokens in units of k; `kind` as the functions above [-]."""
    counted = {
        "correlated": unique_correlated(experts, top_k, 1, window),
        "independent": unique_independent(experts, top_k, 1, window),
        "uniform": unique_uniform(experts, top_k, window),
    }
    return counted[kind] / top_k


def share_of_uniform(experts: int, top_k: int, batch_size: int = 1, window: int = 1) -> float:
    """Unique experts of the generic router over those of uniform choice [-]."""
    tokens = batch_size * window
    ours = unique_correlated(experts, top_k, batch_size, window)
    return ours / unique_uniform(experts, top_k, tokens)


def fewer_than_uniform(experts: int, top_k: int, window: int) -> float:
    """Share of experts that consecutive tokens spare against uniform choice [-]."""
    return 1.0 - share_of_uniform(experts, top_k, 1, window)


def fewer_than_independent(experts: int, top_k: int, window: int, popularity: float) -> float:
    """Share of experts that consecutive tokens spare against independent ones [-]."""
    independent = unique_independent(experts, top_k, 1, window, popularity)
    return 1.0 - unique_correlated(experts, top_k, 1, window) / independent


def expert_overlap(experts: int, top_k: int, lag: int) -> float:
    """Share of a token's experts that the token `lag` later selects too [-]."""
    return float(overlap(experts, top_k, lag_correlation(GENERIC_ROUTER, lag)))


def popularity_overlap(experts: int, top_k: int, popularity: float) -> float:
    """The same for unrelated tokens, at one r_p [-]."""
    return float(overlap_latent(top_k / experts, popularity))


def uniform_overlap(experts: int, top_k: int) -> float:
    """The same for uniform choice, k/N [-]."""
    return top_k / experts


def squared_popularity(top_k: int, unique_of_two: float) -> float:
    """Σp²/k that the unique experts of two tokens imply [-]."""
    return 2.0 - unique_of_two / top_k


def popularity_for_overlap(experts: int, top_k: int, reported: float) -> float:
    """r_p at which unrelated tokens overlap as reported [-]."""
    return float(brentq(lambda r: popularity_overlap(experts, top_k, r) - reported, 1e-6, 0.9))


def popularity_for_unique(experts: int, top_k: int, tokens: int, reported: float) -> float:
    """r_p at which unrelated tokens load as many experts as reported, in closed form [-]."""

    def missing(popularity: float) -> float:
        router = RouterParameters(popularity, 0.0, 0.0, 0.42)
        closed = unique_experts(experts, top_k, tokens, 1, router, correct_top_k=False)
        return float(closed) - reported

    return float(brentq(missing, 1e-6, 0.9))


def most_popular_expert(experts: int, top_k: int) -> float:
    """Use of the most popular expert over uniform use, at its median popularity [-]."""
    largest = float(ndtri(0.5 ** (1.0 / experts)))
    ratio, popularity = top_k / experts, float(GENERIC_ROUTER.popularity)
    score = (np.sqrt(popularity) * largest + ndtri(ratio)) / np.sqrt(1.0 - popularity)
    return float(ndtr(score) / ratio)


def verify_ratio_by_amdahl(fraction: float, unique_ratio: float) -> float:
    """Verify over decode time if only the loaded experts grew [-]."""
    return float(amdahl_ratio(fraction, unique_ratio))


def speedup_by_amdahl(fraction: float, unique_ratio: float, acceptance: float) -> float:
    """Speedup that ratio implies at an acceptance length [-]."""
    return acceptance / verify_ratio_by_amdahl(fraction, unique_ratio)


def affine_ratio(experts: int, top_k: int, window: int, pinned: float, batch_size: int) -> float:
    """Verify over decode time of F + s U, F/s pinned so that a single sequence has `pinned` [-]."""
    alone = unique_correlated(experts, top_k, 1, window)
    floor = (alone - pinned * top_k) / (pinned - 1.0)
    verify = unique_correlated(experts, top_k, batch_size, window)
    decode = unique_correlated(experts, top_k, batch_size, 1)
    return (floor + verify) / (floor + decode)


def decay_acceptance_length(first: float, ratio: float, draft_tokens: int) -> float:
    """AL(K) of the decay form [token]."""
    curve = decay_survival(first, ratio, max(draft_tokens, 1))
    return float(acceptance_length(curve, draft_tokens))
