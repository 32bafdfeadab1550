"""Group-limited routing against a simulated router with the limit, and its limiting cases."""

from dataclasses import replace

import numpy as np
import pytest

from codesign.model.group_routing import correlation_share, excluded_share
from codesign.model.latent_router import unique_experts
from codesign.model.routing import GENERIC_ROUTER
from tests.model.oracle_router import SimulatedRouter, mean_unique

# Experts, k, groups, groups kept: DeepSeek-V3, DeepSeek-V2, and a fourth of the groups.
LIMITS = [(256, 8, 8, 4, 0.015), (160, 6, 8, 3, 0.015), (256, 8, 8, 2, 0.035)]


@pytest.mark.parametrize(("experts", "top_k", "groups", "kept", "tolerance"), LIMITS)
def test_unique_experts_match_a_simulated_group_limited_router(
    experts: int, top_k: int, groups: int, kept: int, tolerance: float
) -> None:
    router = replace(GENERIC_ROUTER, groups=groups, groups_per_token=kept)
    simulated = SimulatedRouter(experts, top_k, GENERIC_ROUTER, groups, kept)
    sizes, windows = np.array([1, 4, 16]), np.array([1, 4, 8])
    mean, error = mean_unique(simulated.batches(16, 8, 60, seed=2), sizes, windows)
    ours = unique_experts(experts, top_k, sizes[:, None], windows, router)
    assert (np.abs(ours / mean - 1) <= tolerance + 3 * error / mean).all()


def test_all_groups_kept_is_no_limit() -> None:
    router = replace(GENERIC_ROUTER, groups=8, groups_per_token=8)
    free = unique_experts(256, 8, 16, 4, GENERIC_ROUTER)
    assert unique_experts(256, 8, 16, 4, router) == free
    assert excluded_share(256, 8, 8, 8) == pytest.approx(0.0)
    assert correlation_share(256, 8, 8, 8) == pytest.approx(1.0)


def test_one_token_still_loads_k_experts() -> None:
    router = replace(GENERIC_ROUTER, groups=8, groups_per_token=4)
    assert unique_experts(256, 8, 1, 1, router) == pytest.approx(8.0)


def test_a_tighter_limit_makes_tokens_less_alike() -> None:
    shares = [float(correlation_share(256, 8, 8, kept)) for kept in (8, 6, 4, 2)]
    assert shares == sorted(shares, reverse=True)
    assert 0.5 < shares[-1] < shares[0] == pytest.approx(1.0)


def test_designs_broadcast() -> None:
    experts, top_k = np.array([[64], [256]]), np.array([4, 8, 16])
    table = excluded_share(experts, top_k, 8, 4)
    assert table.shape == (2, 3)
    assert table[1, 1] == excluded_share(256, 8, 8, 4)
