"""Routers and unique experts, against publications, limits, brute force and simulation."""

import csv
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codesign.model.expert_parallel import busiest_rank
from codesign.model.latent_router import (
    overlap,
    overlap_latent,
    unique_experts,
    unique_experts_popularity_only,
)
from codesign.model.routing import (
    GENERIC_ROUTER,
    RouterParameters,
    lag_correlation,
    overlap_independent,
    overlap_uniform,
    router_from_window_correlation,
    unique_experts_independent,
    unique_experts_measured,
    unique_experts_uniform,
    window_correlation,
    with_shared_experts,
)
from tests.model.oracle_router import (
    SimulatedRouter,
    chain_unique_share,
    exact_overlap,
    mean_busiest,
    mean_unique,
)

BATCH_SIZES = np.array([1, 2, 4, 8, 16, 32, 64])
PUBLISHED = Path(__file__).parents[3] / "shared/data/routing/published_locality.csv"
SKEWED = RouterParameters(0.292, 0.245, 0.124, 0.42, skew=0.3)

routers = st.builds(
    lambda popularity, request, recency, decay, skew: RouterParameters(
        popularity, request * (1 - popularity), recency * decay * (1 - request) * (1 - popularity),
        decay, skew,
    ),
    st.floats(0, 0.6), st.floats(0, 0.9), st.floats(0, 0.9), st.floats(0.1, 0.9), st.floats(0, 0.5),
)  # fmt: skip
designs = st.integers(1, 512).flatmap(
    lambda experts: st.tuples(st.just(experts), st.integers(1, experts))
)


# ---- parameters --------------------------------------------------------------------------------


def test_generic_router_correlations() -> None:
    # docs/model.md: r(1) = .661, r_w(2) = .661, r_w(4) = .620, r_w(8) = .585.
    assert lag_correlation(GENERIC_ROUTER, 1) == pytest.approx(0.661)
    windows = window_correlation(GENERIC_ROUTER, np.array([1, 2, 4, 8]))
    assert windows == pytest.approx([0.661, 0.661, 0.620, 0.585], abs=5e-4)


@given(router=routers, window=st.integers(2, 70))
def test_window_correlation_is_the_mean_over_pairs(router: RouterParameters, window: int) -> None:
    first, second = np.triu_indices(window, 1)
    mean = lag_correlation(router, second - first).mean()
    assert window_correlation(router, window) == pytest.approx(mean, abs=1e-9)


@pytest.mark.parametrize(
    ("correlation", "popularity"),
    # Published r_w(4) of LLaMA-MoE, Qwen2-57B, the generic popularity itself, gpt-oss-20b, Qwen3.
    [(0.01, 0.0047), (0.20, 0.0942), (0.292, 0.292), (0.585, 0.292), (0.71, 0.292)],
)
def test_router_reproduces_the_published_figure(correlation: float, popularity: float) -> None:
    router = router_from_window_correlation(correlation)
    assert window_correlation(router, 4) == pytest.approx(correlation)
    assert router.popularity == pytest.approx(popularity, abs=5e-5)


def test_router_takes_draws() -> None:
    drawn = router_from_window_correlation(np.array([0.01, 0.585]))
    unique = unique_experts(64, 6, 8, 4, drawn)
    for value, correlation in zip(unique, (0.01, 0.585), strict=True):
        alone = unique_experts(64, 6, 8, 4, router_from_window_correlation(correlation))
        assert value == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ((-0.1, 0.2, 0.1, 0.4), "router needs popularity >= 0, not -0.1"),
        ((0.1, 0.2, 0.1, 1.0), "router needs 0 < decay < 1, not 1"),
        (
            (0.3, 0.4, 0.2, 0.4),
            "router needs popularity + request + recency / decay <= 1, not 1.2",
        ),
    ],
)
def test_impossible_routers_are_refused(
    parameters: tuple[float, float, float, float], message: str
) -> None:
    with pytest.raises(ValueError) as raised:
        RouterParameters(*parameters)
    assert str(raised.value) == message


def test_one_impossible_draw_is_named() -> None:
    with pytest.raises(ValueError, match=r"request >= 0, not -0\.5"):
        RouterParameters(np.array([0.1, 0.2]), np.array([0.1, -0.5]), 0.0, 0.5)


def test_shared_experts_lower_every_correlation() -> None:
    lowered = with_shared_experts(GENERIC_ROUTER, np.array([0, 1, 2]))
    ratio = window_correlation(lowered, 4) / window_correlation(GENERIC_ROUTER, 4)
    assert ratio == pytest.approx([1.0, 0.955, 0.955**2])
    assert np.all(np.diff(unique_experts(128, 8, 8, 4, lowered)) > 0)


# ---- published counts --------------------------------------------------------------------------


def test_uniform_row_of_the_cohere_study() -> None:
    unique = unique_experts_uniform(128, 8, BATCH_SIZES)
    assert unique == pytest.approx([8.0, 15.5, 29.1, 51.6, 82.4, 111.8, 125.9], abs=0.051)
    assert overlap_uniform(128, 8) == 0.0625


def test_independent_with_equal_popularity_is_uniform() -> None:
    equal = np.full(128, 8 / 128)
    independent = unique_experts_independent(equal, BATCH_SIZES)
    assert independent == pytest.approx(unique_experts_uniform(128, 8, BATCH_SIZES))
    assert overlap_independent(equal) == pytest.approx(8 / 128)


def test_independent_with_k_certain_experts() -> None:
    certain = np.repeat([1.0, 0.0], [8, 120])
    assert unique_experts_independent(certain, 5) == 8
    assert overlap_independent(certain) == 1


@given(
    trace=st.lists(st.permutations(range(6)), min_size=1, max_size=12),
    window=st.integers(1, 12),
)
def test_measured_windows_are_counted_one_by_one(trace: list[list[int]], window: int) -> None:
    selections = np.array(trace)[:, :2]
    window = min(window, len(trace))
    counts = [
        np.unique(selections[start : start + window]).size
        for start in range(len(trace) - window + 1)
    ]
    assert unique_experts_measured(selections, window) == pytest.approx(np.mean(counts))


def test_measured_window_beyond_the_trace_is_refused() -> None:
    with pytest.raises(ValueError, match="window must be 1 to 3"):
        unique_experts_measured(np.zeros((3, 1), dtype=np.int64), 4)


# ---- latent router: published figures ----------------------------------------------------------


def test_overlaps_of_the_cohere_study() -> None:
    # Measured .381 .329 .301 .299 at lags 1-4; the generic router gives .381 .326 .305 .296.
    correlations = lag_correlation(GENERIC_ROUTER, np.arange(1, 5))
    fixed = overlap_latent(8 / 128, correlations)
    assert fixed == pytest.approx([0.381, 0.326, 0.305, 0.296], abs=5e-4)
    assert overlap(128, 8, correlations) == pytest.approx(fixed, rel=0.03)


def test_closed_form_counts() -> None:
    # docs/model.md, section 2, quadrature of the closed form with r_p = .292 and N=128, k=8.
    unique = unique_experts(128, 8, BATCH_SIZES[1:], 1, GENERIC_ROUTER, correct_top_k=False)
    assert unique == pytest.approx([14.72, 25.55, 40.88, 59.45, 78.53, 95.26], abs=0.006)


def test_closed_form_growth_over_four_tokens() -> None:
    # The same with one mean correlation for the window, which counts up to .4 % more.
    decode, verify = (
        unique_experts(128, 8, BATCH_SIZES, window, GENERIC_ROUTER, correct_top_k=False)
        for window in (1, 4)
    )
    growth = [2.53, 2.32, 2.05, 1.78, 1.53, 1.35, 1.21]
    assert verify / decode == pytest.approx(growth, abs=0.0101)
    assert verify[0] == pytest.approx(20.2, rel=0.01)


def test_measured_counts_of_the_cohere_study() -> None:
    # Cohere study, N=128 k=8: unique experts of B tokens, and of four consecutive tokens.
    measured = [8.0, 14.7, 25.4, 40.6, 59.3, 78.8, 96.1]
    assert unique_experts(128, 8, BATCH_SIZES, 1, GENERIC_ROUTER) == pytest.approx(
        measured, rel=0.012
    )
    assert unique_experts(128, 8, 1, 4, GENERIC_ROUTER) == pytest.approx(20.36, rel=0.005)


@pytest.mark.shared
@pytest.mark.skipif(not PUBLISHED.exists(), reason="needs ../shared")
def test_published_windows_follow_from_published_overlaps() -> None:
    # gpt-oss-20b, N=32 k=4: windows of 2-16 tokens predicted from the overlaps of other requests,
    # .1921, and at lags 1, .442, and 4, .3681, with the generic decay.
    with PUBLISHED.open() as file:
        rows = [row for row in csv.DictReader(file) if row["model"] == "gpt-oss-20b"]
    unique = {
        int(row["lag_or_window"]): float(row["value"])
        for row in rows
        if row["metric"] == "unique_window"
    }
    router = RouterParameters(popularity=0.185, request=0.353, recency=0.111, decay=0.42)
    overlaps = overlap(32, 4, np.array([0.185, lag_correlation(router, 1), 0.185 + 0.353]))
    assert overlaps == pytest.approx([0.1921, 0.442, 0.3681], abs=5e-4)
    predicted = unique_experts(32, 4, 1, np.array(list(unique)), router)
    assert predicted == pytest.approx(list(unique.values()), rel=0.015)


# ---- latent router: limits ---------------------------------------------------------------------


@pytest.mark.parametrize("router", [GENERIC_ROUTER, SKEWED])
@pytest.mark.parametrize(("experts", "top_k"), [(1, 1), (2, 1), (8, 2), (128, 8), (4096, 8)])
def test_one_token_selects_k(experts: int, top_k: int, router: RouterParameters) -> None:
    assert unique_experts(experts, top_k, 1, 1, router) == pytest.approx(top_k, rel=1e-14)


@given(experts=st.integers(1, 4096), batch_size=st.integers(1, 65536), window=st.integers(1, 65))
@settings(max_examples=25, deadline=None)
def test_a_dense_model_loads_everything(experts: int, batch_size: int, window: int) -> None:
    assert unique_experts(experts, experts, batch_size, window, GENERIC_ROUTER) == experts
    assert overlap(experts, experts, 0.3) == 1


def test_without_correlation_selection_is_uniform() -> None:
    unrelated = RouterParameters(0.0, 0.0, 0.0, 0.5)
    experts, top_k = np.array([8, 60, 128, 256]), np.array([2, 4, 8, 8])
    unique = unique_experts(experts, top_k, 16, 4, unrelated)
    assert unique == pytest.approx(unique_experts_uniform(experts, top_k, 64), rel=1e-9)
    assert overlap(experts, top_k, 0.0) == pytest.approx(top_k / experts, rel=1e-12)


def test_identical_scores_select_identical_experts() -> None:
    assert overlap(np.array([2, 8, 128]), np.array([1, 2, 8]), 1.0) == pytest.approx(1.0)


def test_of_two_experts_the_better_is_an_arcsine_law() -> None:
    # The difference of two scores is itself normal with correlation r (Sheppard 1899).
    correlation = np.array([0.0, 0.3, 0.6, 0.9])
    exact = 0.5 + np.arcsin(correlation) / np.pi
    assert overlap(2, 1, correlation) == pytest.approx(exact, rel=0.012)


def test_correction_vanishes_with_many_experts() -> None:
    drop = [1 - overlap(n, n // 16, 0.6) / overlap_latent(1 / 16, 0.6) for n in (64, 512, 4096)]
    assert drop[0] > 7 * drop[1] > 49 * drop[2] > 0
    assert drop[2] < 1e-3


def test_more_selected_than_there_are_is_no_design() -> None:
    unique = unique_experts(np.array([4, 8, 16]), np.array([5, 8, 0]), 2, 2, GENERIC_ROUTER)
    assert np.isnan(unique).tolist() == [True, False, True]


@pytest.mark.parametrize(("batch_size", "window"), [(0, 1), (1, 0)])
def test_no_tokens_are_refused(batch_size: int, window: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        unique_experts(8, 2, batch_size, window, GENERIC_ROUTER)


def test_extreme_corners_stay_within_physical_bounds() -> None:
    experts = np.array([1, 2, 3, 64, 4096])[:, None, None]
    batch_sizes, windows = np.array([1, 4096, 65536])[:, None], np.array([1, 17, 65])
    extreme = RouterParameters(0.9, 0.1, 0.0, 0.5, skew=1.0)
    for router in (GENERIC_ROUTER, extreme, RouterParameters(0.0, 1.0, 0.0, 0.5)):
        unique = unique_experts(experts, 1, batch_sizes, windows, router)
        most = np.minimum(experts, batch_sizes * windows)
        assert np.all((unique >= 1 - 1e-12) & (unique <= most * (1 + 1e-12)))


# ---- latent router: properties -----------------------------------------------------------------


@given(design=designs, batch_size=st.integers(1, 4096), window=st.integers(1, 65), router=routers)
@settings(max_examples=60, deadline=None)
def test_correlated_below_independent_below_uniform(
    design: tuple[int, int], batch_size: int, window: int, router: RouterParameters
) -> None:
    tokens = batch_size * window
    unique = unique_experts(*design, batch_size, window, router)
    independent = unique_experts_popularity_only(*design, tokens, router)
    uniform = unique_experts_uniform(*design, tokens)
    # Slack for the error of the tables.
    assert design[1] * (1 - 1e-12) <= unique <= independent * (1 + 2e-3)
    assert independent <= uniform * (1 + 1e-12)
    assert uniform <= min(design[0], design[1] * tokens) * (1 + 1e-12)


@given(design=designs, router=routers)
@settings(max_examples=25, deadline=None)
def test_more_sequences_and_longer_windows_load_more(
    design: tuple[int, int], router: RouterParameters
) -> None:
    batch_sizes = np.array([1, 2, 3, 8, 9, 64, 65, 1024, 1025, 65535, 65536])
    windows = np.array([1, 2, 3, 4, 5, 8, 9, 17, 64, 65])
    unique = unique_experts(*design, batch_sizes[:, None], windows, router)
    assert np.diff(unique, axis=0).min() >= -1e-9 * design[0]
    assert np.diff(unique, axis=1).min() >= -1e-9 * design[0]


@given(correlation=st.floats(0, 0.72), batch_size=st.integers(1, 65_536), window=st.integers(1, 17))
@settings(max_examples=4, deadline=None)
def test_unique_experts_grow_with_both_sizes_and_fall_with_correlation(
    correlation: float, batch_size: int, window: int
) -> None:
    router = router_from_window_correlation(correlation)
    experts = np.unique(np.rint(2 ** np.arange(4, 14, 0.25)))  # beyond both tables' ends
    sizes = np.array([1, 2, 8, 15, 16])
    unique = unique_experts(experts[:, None], sizes, batch_size, window, router)
    slack = 1e-6 * unique.max()
    assert np.diff(unique, axis=0).min() >= -slack
    assert np.diff(unique, axis=1).min() >= -slack
    less = unique_experts(experts[:, None], sizes, batch_size, window, router.scaled(0.7))
    assert (less - unique).min() >= -slack


@given(experts=st.integers(2, 512), low=st.floats(0, 1), high=st.floats(0, 1))
def test_overlap_grows_with_correlation(experts: int, low: float, high: float) -> None:
    top_k = np.arange(1, experts + 1)
    below, above = (overlap(experts, top_k, r) for r in sorted((low, high)))
    assert np.all(below <= above + 1e-9)
    assert np.all((below >= overlap_uniform(experts, top_k) - 1e-12) & (above <= 1 + 1e-9))


def test_a_design_does_not_depend_on_its_company() -> None:
    experts, top_k = np.arange(8, 72).reshape(-1, 1, 1, 1), np.arange(1, 9).reshape(1, -1, 1, 1)
    window = np.arange(1, 6).reshape(1, 1, 1, -1)
    mesh = unique_experts(experts, top_k, 8, window, SKEWED)
    assert mesh.shape == (64, 8, 1, 5)
    alone = unique_experts(experts[40, 0, 0, 0], 3, 8, 4, SKEWED)
    assert alone == pytest.approx(mesh[40, 2, 0, 3], rel=1e-12)
    rows = unique_experts(np.array([48, 9]), np.array([3, 1]), 8, np.array([4, 2]), SKEWED)
    assert rows == pytest.approx([mesh[40, 2, 0, 3], mesh[1, 0, 0, 1]], rel=1e-12)


# ---- latent router: oracles --------------------------------------------------------------------


@pytest.mark.parametrize(("experts", "top_k"), [(3, 1), (8, 1), (8, 2), (16, 4), (60, 4), (512, 1)])
@pytest.mark.parametrize("correlation", [0.05, 0.3, 0.6, 0.8])
def test_effective_correlation_gives_the_exact_overlap(
    experts: int, top_k: int, correlation: float
) -> None:
    exact = 2 - exact_overlap(experts, top_k, correlation)
    assert 2 - overlap(experts, top_k, correlation) == pytest.approx(exact, rel=4e-3)


@pytest.mark.parametrize(
    ("window_correlation_4", "error"), [(0.20, 3e-4), (0.62, 1.5e-3), (0.71, 4e-3)]
)
@pytest.mark.parametrize(
    ("batch_size", "window"), [(2, 1), (4096, 1), (1, 2), (1, 4), (1, 17), (8, 8)]
)
def test_blocks_stand_for_the_autoregressive_chain(
    window_correlation_4: float, error: float, batch_size: int, window: int
) -> None:
    router = router_from_window_correlation(window_correlation_4)
    ratios = np.array([1 / 128, 1 / 16, 1 / 4, 1 / 2])
    exact = [chain_unique_share(ratio, router, batch_size, window) for ratio in ratios]
    unique = unique_experts(128, 128 * ratios, batch_size, window, router, correct_top_k=False)
    assert unique / 128 == pytest.approx(exact, rel=error)


EXACT_TOP_K = [
    # experts, top_k, batches to simulate for a standard error of .3 %
    (8, 1, 2600),
    (8, 2, 1400),
    (8, 6, 150),
    (16, 1, 2800),
    (16, 2, 1600),
    (32, 1, 2600),
    (32, 4, 900),
    (60, 4, 900),
    (64, 6, 550),
    (64, 8, 450),
    (64, 48, 50),
    (128, 1, 1800),
    (128, 4, 600),
    (128, 8, 400),
]


def assert_simulation_agrees(
    experts: int, top_k: int, router: RouterParameters, batches: int, largest_batch: int = 32
) -> None:
    batch_sizes, windows = np.array([1, 2, 4, 8, largest_batch]), np.array([1, 2, 4, 8])
    simulation = SimulatedRouter(experts, top_k, router).batches(largest_batch, 8, batches, seed=1)
    mean, error = mean_unique(simulation, batch_sizes, windows)
    assert (error / mean).max() < 0.003
    unique = unique_experts(experts, top_k, batch_sizes[:, None], windows, router)
    tolerance = 0.01 if top_k >= 8 and experts >= 64 else 0.02
    assert unique == pytest.approx(mean, rel=tolerance)


@pytest.mark.parametrize(("experts", "top_k", "batches"), EXACT_TOP_K)
def test_exact_top_k(experts: int, top_k: int, batches: int) -> None:
    assert_simulation_agrees(experts, top_k, GENERIC_ROUTER, batches)


@pytest.mark.parametrize(("experts", "top_k", "batches"), [(8, 2, 1400), (128, 8, 400)])
@pytest.mark.parametrize(
    "router",
    [*(router_from_window_correlation(r) for r in (0.01, 0.20, 0.71)), SKEWED],
    ids=["LLaMA-MoE", "Mixtral", "Qwen3", "skewed"],
)
def test_exact_top_k_of_other_routers(
    experts: int, top_k: int, batches: int, router: RouterParameters
) -> None:
    assert_simulation_agrees(experts, top_k, router, batches)


def test_exact_top_k_of_a_large_batch() -> None:
    assert_simulation_agrees(128, 8, GENERIC_ROUTER, 280, largest_batch=128)


def test_group_limited_routing_is_close_to_free_routing() -> None:
    # DeepSeek-V3: 8 of 256 experts from 4 of 8 groups. With experts alike in all groups the limit
    # makes selection a little more random, so U rises by 1-2 %; it is not modelled.
    grouped = SimulatedRouter(256, 8, GENERIC_ROUTER, groups=8, kept_groups=4)
    mean, _ = mean_unique(
        grouped.batches(32, 4, 60, seed=1), np.array([1, 8, 32]), np.array([1, 4])
    )
    free = unique_experts(256, 8, np.array([1, 8, 32])[:, None], np.array([1, 4]), GENERIC_ROUTER)
    assert free == pytest.approx(mean, rel=0.03)
    assert np.all(free[1:] < mean[1:])


# ---- expert parallelism ------------------------------------------------------------------------


def test_one_rank_has_everything() -> None:
    load = busiest_rank(128, 8, 32, 4, GENERIC_ROUTER, 1)
    assert load.unique_experts == unique_experts(128, 8, 32, 4, GENERIC_ROUTER)
    assert load.token_slots == 32 * 4 * 8
    together = busiest_rank(128, 8, 32, 4, GENERIC_ROUTER, np.array([1, 2]))
    assert together.unique_experts[0] == pytest.approx(load.unique_experts, rel=1e-12)
    assert together.token_slots[0] == pytest.approx(load.token_slots, rel=1e-12)


def test_no_rank_holds_a_part_of_an_expert() -> None:
    # 8 experts over 64 ranks: eight of them hold one; it was an eighth each.
    few = busiest_rank(8, 2, 32, 4, GENERIC_ROUTER, 64)
    even = busiest_rank(8, 2, 32, 4, GENERIC_ROUTER, 8)
    assert (few.unique_experts, few.token_slots) == (even.unique_experts, even.token_slots)
    uneven = busiest_rank(100, 8, 4096, 4, GENERIC_ROUTER, 8)
    assert uneven.unique_experts == pytest.approx(13, rel=0.01)
    assert uneven.token_slots >= 13 / 100 * 4096 * 4 * 8


def test_a_dense_model_is_spread_evenly() -> None:
    load = busiest_rank(64, 64, 16, 4, GENERIC_ROUTER, 8)
    assert load.unique_experts == pytest.approx(8)
    assert load.token_slots == pytest.approx(16 * 4 * 64 / 8)


@pytest.mark.parametrize(
    ("experts", "top_k", "ranks", "tolerance"),
    [(128, 8, 2, 0.03), (128, 8, 8, 0.03), (256, 8, 32, 0.05), (64, 6, 4, 0.03), (8, 2, 4, 0.04)],
)
@pytest.mark.parametrize("router", [GENERIC_ROUTER, SKEWED], ids=["generic", "skewed"])
@pytest.mark.parametrize(("batch_size", "window"), [(8, 1), (16, 4)])
def test_busiest_rank(
    experts: int,
    top_k: int,
    ranks: int,
    tolerance: float,
    router: RouterParameters,
    batch_size: int,
    window: int,
) -> None:
    batches = SimulatedRouter(experts, top_k, router).batches(batch_size, window, 1200, seed=1)
    unique, slots = mean_busiest(batches, ranks)
    load = busiest_rank(experts, top_k, batch_size, window, router, ranks)
    assert load.unique_experts == pytest.approx(unique, rel=tolerance)
    assert load.token_slots == pytest.approx(slots, rel=tolerance)


@pytest.mark.parametrize(("experts", "ranks"), [(8, 8), (64, 8), (128, 64), (256, 2)])
def test_more_loaded_experts_never_lower_the_busiest_rank(experts: int, ranks: int) -> None:
    # Where nearly all are loaded the expansion fell again, by up to .2 experts of a rank.
    batch_sizes = np.unique(np.rint(2 ** np.arange(0, 14, 0.25)))
    load = busiest_rank(experts, 2, batch_sizes, 1, GENERIC_ROUTER, ranks)
    assert (np.diff(load.unique_experts) >= 0).all()
    assert load.unique_experts.max() <= experts / ranks
    assert (np.diff(load.token_slots) > 0).all()


@given(
    held=st.integers(1, 64), ranks=st.integers(1, 64), share=st.floats(0.01, 1),
    batch_size=st.integers(1, 512), window=st.integers(1, 9),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_busiest_rank_between_the_mean_and_everything(
    held: int, ranks: int, share: float, batch_size: int, window: int
) -> None:
    experts = held * ranks
    top_k = max(1, round(share * experts))
    load = busiest_rank(experts, top_k, batch_size, window, GENERIC_ROUTER, ranks)
    unique = unique_experts(experts, top_k, batch_size, window, GENERIC_ROUTER)
    assert unique / ranks <= load.unique_experts <= np.minimum(held, unique)
    tokens = batch_size * window
    assert tokens * top_k / ranks <= load.token_slots <= tokens * min(held, top_k)
