"""Unique experts of the tables against quadrature, sums and simulation by the twin."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesign.model.expert_parallel import busiest_rank
from codesign.model.latent_router import overlap, unique_experts
from codesign.model.routing import (
    GENERIC_ROUTER,
    RouterParameters,
    mean_decay,
    router_from_window_correlation,
    unique_experts_uniform,
)
from codesign.uncertainty.draws import drawn_router
from tests.model.oracle_router import SimulatedRouter, mean_unique
from tests.properties.any_question import FACTOR, examples
from tests.twin import router as twin

ROUTERS = {
    "generic": GENERIC_ROUTER,
    "LLaMA-MoE": router_from_window_correlation(0.01),
    "Mixtral": router_from_window_correlation(0.20),
    "Qwen3": router_from_window_correlation(0.71),
    "drawn, alike": drawn_router(GENERIC_ROUTER, 0.30, 0.85),
    "drawn, context only": drawn_router(GENERIC_ROUTER, 0.06, 0.85),
    "popular": RouterParameters(0.6, 0.1, 0.1, 0.42),
    "skewed": RouterParameters(0.292, 0.245, 0.124, 0.42, skew=0.3),
    "slow decay": RouterParameters(0.2, 0.2, 0.3, 0.8),
    "quick decay": RouterParameters(0.2, 0.2, 0.02, 0.05),
}
PUBLISHED = ("generic", "LLaMA-MoE", "Mixtral", "Qwen3")


def worst(name: str, designs: list[tuple[int, int]], windows: list[int]) -> float:
    """Largest relative error over designs, windows and batch sizes from 1 to 65,536."""
    router, errors = ROUTERS[name], []
    for experts, top_k in designs:
        for window in windows:
            for batch in (1, 2, 33, 4096, 65_536):
                found = float(unique_experts(experts, top_k, batch, window, router))
                exact = twin.unique(experts, top_k, batch, window, twin.plain(router))
                errors.append(abs(found / exact - 1))
    return max(errors)


# ---- the twin itself ---------------------------------------------------------------------------


def test_the_twin_has_more_nodes_than_it_needs() -> None:
    for router in (GENERIC_ROUTER, ROUTERS["drawn, alike"]):
        for experts, top_k in ((2, 1), (4096, 1)):
            usual = twin.unique(experts, top_k, 65_536, 4, twin.plain(router))
            fine = twin.unique(
                experts, top_k, 65_536, 4, twin.plain(router), twin.Nodes(301, 43, 31)
            )
            assert usual == pytest.approx(fine, rel=1e-8)


@pytest.mark.parametrize(("experts", "top_k"), [(2, 1), (128, 8), (4096, 1)])
def test_the_twins_floats_are_its_thirty_digits(experts: int, top_k: int) -> None:
    router = twin.plain(GENERIC_ROUTER)
    for batch in (2, 33, 65_536):
        exact = twin.unique_exactly(experts, top_k, batch, router)
        assert twin.unique(experts, top_k, batch, 1, router) == pytest.approx(exact, rel=1e-11)


# ---- tables ------------------------------------------------------------------------------------

CORNERS = [(1, 1), (2, 1), (3, 2), (4, 1), (60, 59), (128, 8), (128, 128), (4096, 1),
           (4096, 4096)]  # fmt: skip
MORE = [(3, 1), (8, 2), (16, 15), (32, 4), (512, 1), (1024, 1023), (2048, 7), (4096, 16)]
"""Further designs where CODESIGN_EXAMPLES asks for more."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_routers(name: str) -> None:
    # docs/model.md: below 3e-4 for published routers, N up to 4096, B to 65,536, q to 65.
    assert worst(name, CORNERS, [1, 4]) < 3e-4
    assert worst(name, [(128, 8), (4096, 1)], [65]) < 3e-4
    if FACTOR > 1:
        assert worst(name, [*CORNERS, *MORE], [2, 3, 9, 17, 65]) < 3e-4


@pytest.mark.parametrize("name", sorted({*ROUTERS} - {*PUBLISHED}))
def test_routers_beyond_the_published(name: str) -> None:
    assert worst(name, [(2, 1), (128, 8), (4096, 1)], [1, 4]) < 2e-3
    if FACTOR > 1:
        assert worst(name, [*CORNERS, *MORE], [2, 3, 9, 17]) < 2e-3


@pytest.mark.parametrize(("request_alone", "error"), [(0.8, 5e-3), (0.89, 5e-2)])
def test_context_alone(request_alone: float, error: float) -> None:
    # docs/model.md: the quadrature has few nodes for what a request shares.
    ROUTERS["context alone"] = RouterParameters(0.0, request_alone, 0.0, 0.5)
    assert worst("context alone", CORNERS, [2, 4, 17]) < error
    if FACTOR > 1:
        assert worst("context alone", MORE, [2, 3, 9, 17]) < error


@pytest.mark.parametrize("experts", [5000, 20_000, 10**6, 10**8])
def test_very_sparse_designs_are_not_clipped(experts: int) -> None:
    # The table ended at k/N = 2.3e-4 and held its edge: 5 % too few at 5,000/1, 91 % at 1e6/1.
    assert worst("generic", [(experts, 1)], [1, 4]) < 3e-3


def test_two_and_three_experts_are_not_clipped() -> None:
    # The share of the threshold's variance ended at .4: N = 2 was .7 % off.
    assert worst("Qwen3", [(2, 1), (3, 1), (3, 2)], [1, 2]) < 1e-4


@examples(12)
@given(
    popularity=st.floats(0, 0.6),
    request=st.floats(0, 0.6),
    recency=st.floats(0, 0.6),
    decay=st.floats(0.05, 0.95),
    experts=st.sampled_from([2, 3, 4, 8, 60, 128, 4096]),
    share=st.floats(0, 1),
    batch=st.sampled_from([1, 2, 33, 65_536]),
    window=st.sampled_from([1, 2, 9]),
)
def test_any_router(
    popularity: float, request: float, recency: float, decay: float, experts: int, share: float,
    batch: int, window: int,
) -> None:  # fmt: skip
    request *= 1 - popularity
    recency *= decay * (1 - popularity - request)
    router = RouterParameters(popularity, request, recency, decay)
    top_k = max(1, round(experts**share))
    found = float(unique_experts(experts, top_k, batch, window, router))
    exact = twin.unique(experts, top_k, batch, window, twin.plain(router))
    assert found == pytest.approx(exact, rel=2e-3)


@pytest.mark.parametrize(("experts", "top_k"), [(1, 1), (8, 2), (4096, 1), (10**8, 1), (10**8, 64)])
@pytest.mark.parametrize("tokens", [1, 2, 65_536 * 65])
def test_uniform_count_to_rounding(experts: int, top_k: int, tokens: int) -> None:
    # 1 - (1 - u)^T had lost eight digits at u = 1e-8.
    exact = float(twin.uniform(experts, top_k, tokens))
    assert unique_experts_uniform(experts, top_k, tokens) == pytest.approx(exact, rel=1e-14)


@pytest.mark.parametrize("correlation", [0.05, 0.3, 0.661, 0.9])
def test_overlap_to_rounding(correlation: float) -> None:
    for experts, top_k in ((2, 1), (8, 2), (128, 8), (4096, 1), (4096, 4095)):
        threshold, share = twin.threshold_and_share(experts, top_k)
        effective = twin.exact_correlation(twin.Exactly.mpf(correlation), threshold, share)
        selected = twin.Exactly.mpf(top_k) / experts
        exact = selected + twin.excess(threshold, effective) / selected
        found = overlap(experts, top_k, correlation)
        assert found == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize("window", [2, 3, 9, 65])
@pytest.mark.parametrize(
    "decay", [1e-9, 0.05, 0.42, 0.99, 0.9998, 1 - 1e-5, 1 - 1e-8, 1 - 1e-12, math.nextafter(1, 0)]
)
def test_mean_decay_to_rounding(decay: float, window: int) -> None:
    # The closed form lost all digits near 1: 17.8 instead of 1 at 1 - 1e-8 and a window of 2.
    for base, exact in zip((decay, decay**2), twin.pair_means(decay, window), strict=True):
        assert mean_decay(base, window) == pytest.approx(float(exact), rel=1e-11)


# ---- exact top-k, simulated ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("experts", "top_k", "batch", "window", "batches"),
    [(4096, 1, 32, 9, 12), (4096, 16, 8, 4, 12), (2, 1, 4, 9, 3000), (3, 2, 2, 4, 3000),
     (16, 15, 2, 2, 3000), (128, 8, 2, 65, 60)],
)  # fmt: skip
def test_corners_against_a_simulated_exact_top_k(
    experts: int, top_k: int, batch: int, window: int, batches: int
) -> None:
    simulated = SimulatedRouter(experts, top_k, GENERIC_ROUTER)
    mean, error = mean_unique(
        simulated.batches(batch, window, batches, seed=3), np.array([batch]), np.array([window])
    )
    found = unique_experts(experts, top_k, batch, window, GENERIC_ROUTER)
    # Of two experts the better: docs/model.md gives .97 % as the worst of the correction.
    assert found == pytest.approx(mean.item(), rel=0.01, abs=4 * error.item())


# ---- groups and ranks ----------------------------------------------------------------------------


@pytest.mark.parametrize(("experts", "top_k", "groups", "kept"), [
    (256, 8, 8, 4), (160, 6, 8, 3), (64, 8, 8, 1), (32, 1, 4, 1),
])  # fmt: skip
def test_group_limited_tables(experts: int, top_k: int, groups: int, kept: int) -> None:
    values = (0.292, 0.245, 0.124, 0.42, 0.0, (), groups, kept)
    router = RouterParameters(*values)
    for batch, window in ((1, 1), (1, 4), (33, 1), (33, 4), (65_536, 1)):
        found = unique_experts(experts, top_k, batch, window, router)
        exact = twin.unique(experts, top_k, batch, window, twin.plain(router))
        # The excluded share is of 400 draws there and of 4,000 here.
        assert found == pytest.approx(exact, rel=5e-3)


@pytest.mark.parametrize("ranks", [2, 8, 64, 1024])
@pytest.mark.parametrize(("experts", "top_k"), [(1024, 1), (1024, 8), (1024, 1024), (4096, 16)])
def test_busiest_rank_is_the_same_expansion(experts: int, top_k: int, ranks: int) -> None:
    router = GENERIC_ROUTER

    def known(n: int, k: int, batch: int, window: int, own: twin.Router) -> float:
        return float(unique_experts(n, k, batch, window, RouterParameters(*own[:5])))

    for batch, window in ((1, 1), (1, 65), (33, 4), (65_536, 1)):
        found = busiest_rank(experts, top_k, batch, window, router, ranks)
        exact = twin.busiest(experts, top_k, batch, window, twin.plain(router), ranks, known)
        assert found.unique_experts == pytest.approx(float(exact.unique), rel=1e-9)
        assert found.token_slots == pytest.approx(float(exact.slots), rel=1e-9)
