"""What must hold for every design in every scenario, whatever the numbers are."""

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from codesign.designs import AXES, Designs
from codesign.prediction import FIGURES, predict
from codesign.scenario import Scenario
from tests.properties.any_question import Question, Sizes, examples, numbers, questions, sizes

MAY_BE_ZERO = {
    "shared_experts", "draft_tokens", "draft_time_s", "kv_capacity_sequences",
    "routed_time_fraction", "routed_load_fraction", "sd_goodput_tokens_per_s",
}  # fmt: skip
ANY_SIGN = {"loss_difference", "rounding_residual", "break_even_acceptance"}
MAY_BE_INFINITE = {"kv_capacity_sequences"}
ROUNDING = 1e-12
TABLE_ERROR = 3e-3
"""Of unique experts at the worst router and the sparsest design of the space, relative."""


def assert_never_falls(values: Any, slack: float = ROUNDING, axis: int = -1) -> None:
    """Along one axis; `slack` is relative."""
    values = np.asarray(values, dtype=np.float64)
    lower, upper = values.take(range(values.shape[axis] - 1), axis), np.delete(values, 0, axis)
    assert (upper >= lower * (1 - slack) - np.finfo(np.float64).tiny).all(), values


# ---- finite ------------------------------------------------------------------------------------


@examples(40)
@given(questions())
def test_every_figure_is_finite_and_has_its_sign(question: Question) -> None:
    found = question.ask()
    for name, values in numbers(found).items():
        assert not np.isnan(values).any(), name
        if name not in MAY_BE_INFINITE or question.scenario.context > 0:
            assert np.isfinite(values).all(), name
        if name not in ANY_SIGN:
            assert (values >= (0 if name in MAY_BE_ZERO else np.finfo(float).tiny)).all(), name
    assert set(found.regime.flat) <= {"partial load", "sweet spot", "memory bound", "compute bound"}
    for name in FIGURES:
        if name in numbers(found):
            assert not np.isnan(found.value(name)).any(), name


@examples(15)
@given(questions())
def test_shares_lie_between_zero_and_one(question: Question) -> None:
    found = question.ask()
    for name in ("overlap_lag1", "activation_ratio", "routed_time_fraction", "target_efficiency"):
        assert (getattr(found, name) <= 1 + ROUNDING).all(), name
    assert (found.routed_load_fraction <= found.routed_time_fraction * (1 + ROUNDING)).all()
    assert (found.cycle_ratio >= 1 - ROUNDING).all()
    length = found.acceptance_length
    assert ((length >= 1) & (length <= question.sizes[3] + 1 + ROUNDING)).all()
    assert (found.active_params <= found.total_params).all()
    assert (found.sd_tpot_p95_s >= found.sd_tpot_s).all()


@examples(15)
@given(questions())
def test_unique_experts_are_ordered(question: Question) -> None:
    """k <= U(B, 1) <= U(B, K+1) <= popularity alone <= uniform <= min(N, k T)."""
    found = question.ask()
    ordered = [
        found.top_k,
        found.unique_experts_decode,
        found.unique_experts_verify,
        found.unique_experts_independent * (1 + TABLE_ERROR),
        found.unique_experts_uniform * (1 + 2 * TABLE_ERROR),
    ]
    assert_never_falls([np.max(values) for values in ordered])
    most = np.minimum(found.experts, found.top_k * found.tokens)
    for values in (found.unique_experts_verify, found.unique_experts_uniform):
        assert (values <= most * (1 + ROUNDING)).all()


# ---- one and many ------------------------------------------------------------------------------


@examples(5)
@given(questions(), st.lists(sizes(), min_size=2, max_size=4, unique=True))
def test_a_design_does_not_depend_on_its_company(question: Question, chosen: list[Sizes]) -> None:
    """In a mesh, in a list, and alone, at one batch size or several: the same bits."""
    scenario = question.scenario
    if scenario.reference.moe is None:
        chosen = [(1, 1, 0, each[3], 1) for each in chosen]
    batches = (1, 33, 65_536)
    listed = numbers(predict(Designs.of(*np.array(chosen).T), scenario.at(batches)))
    grids = np.ix_(*(np.unique(column) for column in np.array(chosen, dtype=np.float64).T))
    mesh_designs = Designs.of(*grids)
    mesh = numbers(predict(mesh_designs, scenario.at(batches)))
    rows = [tuple(row[axis] for axis in AXES) for row in mesh_designs.rows()]
    for place, row in enumerate(chosen):
        for index, batch in enumerate(batches):
            alone = numbers(predict(Designs.of(*row), scenario.at((batch,))))
            for name, values in alone.items():
                assert listed[name][index, place] == values[0, 0], (name, row, batch)
                flat = mesh[name][index].reshape(-1)
                assert flat[rows.index(row)] == values[0, 0], (name, row, batch)


# ---- monotone ----------------------------------------------------------------------------------

BATCHES = (1, 2, 3, 7, 8, 9, 33, 64, 65, 1023, 1024, 1025, 4097, 65_536)


@examples(12)
@given(questions())
def test_more_sequences_take_longer_and_fill_more(question: Question) -> None:
    found = question.ask(batch=BATCHES)
    slack = TABLE_ERROR if question.scenario.router.groups > 1 else ROUNDING
    for name in ("unique_experts_decode", "unique_experts_verify", "unique_experts_uniform"):
        assert_never_falls(getattr(found, name), slack, axis=0)
    for name in ("step_time_decode_s", "step_time_verify_s", "draft_time_s",
                 "memory_bytes_per_gpu"):  # fmt: skip
        assert_never_falls(getattr(found, name), slack, axis=0)


@examples(6)
@given(questions())
def test_longer_drafts_take_longer_and_yield_more(question: Question) -> None:
    found = question.ask(draft_tokens=np.array([0, 1, 2, 3, 4, 7, 8, 9, 16, 63, 64]))
    slack = TABLE_ERROR if question.scenario.router.groups > 1 else ROUNDING
    assert_never_falls(found.acceptance_length)
    for name in ("unique_experts_verify", "step_time_verify_s", "draft_time_s",
                 "memory_bytes_per_gpu"):  # fmt: skip
        assert_never_falls(getattr(found, name), slack)


@examples(8)
@given(questions())
def test_longer_contexts_take_longer_and_fill_more(question: Question) -> None:
    contexts = [0, 1, 127, 128, 129, 4096, 131_072, 10_000_000]
    found = [question.ask(replace(question.scenario, context=context)) for context in contexts]
    for name in ("step_time_decode_s", "step_time_verify_s", "draft_time_s",
                 "memory_bytes_per_gpu"):  # fmt: skip
        assert_never_falls([getattr(each, name).item() for each in found])
    assert_never_falls([each.kv_capacity_sequences.item() for each in reversed(found)])


@examples(12)
@given(questions(), st.sampled_from(["experts", "shared_experts", "expert_width"]))
def test_larger_designs_fill_more(question: Question, axis: str) -> None:
    if question.scenario.reference.moe is None:
        return
    own = question.sizes[AXES.index(axis)]
    changed: dict[str, Any] = {axis: np.array([own, own + 1, 2 * own + 2, 7 * own + 9])}
    found = question.ask(**changed)
    for name in ("memory_bytes_per_gpu", "total_params", "active_params"):
        assert_never_falls(np.broadcast_to(getattr(found, name), (1, 4)))
    replica = question.scenario.replica
    kernel = replica.kernel("routed_experts", replica.precision.of("routed_experts"))
    falls = axis == "expert_width" and own / replica.expert_tensor_parallel < 0.63 * (
        kernel.narrow_width
    )
    if axis != "experts" and not falls:  # among more experts fewer are shared
        assert_never_falls(np.broadcast_to(found.step_time_decode_s, (1, 4)))
        assert_never_falls(np.broadcast_to(found.training_flop, (4,)))


@examples(5)
@given(questions(), st.floats(1, 100))
def test_faster_kernels_never_take_longer(question: Question, factor: float) -> None:
    replica, slow = question.scenario.replica, question.ask()
    for part, change in (("bandwidth", factor), ("compute", factor), ("floor", 1 / factor)):
        for key, resolved in replica.kernels.items():
            kernel = replace(resolved.kernel, **{part: getattr(resolved.kernel, part) * change})
            kernels = {**replica.kernels, key: replace(resolved, kernel=kernel)}
            scenario = replace(question.scenario, replica=replace(replica, kernels=kernels))
            fast = question.ask(scenario)
            for name in ("step_time_decode_s", "step_time_verify_s", "draft_time_s"):
                assert_never_falls([getattr(each, name).item() for each in (fast, slow)])


@examples(15)
@given(questions(), st.floats(0, 1))
def test_more_acceptance_is_never_slower(question: Question, lost: float) -> None:
    scenario = question.scenario
    worse = question.ask(replace(scenario, survival=scenario.survival * (1 - lost)))
    better = question.ask()
    for name in ("acceptance_length", "sd_speedup", "sd_tokens_per_s", "relative_throughput"):
        assert_never_falls([getattr(each, name).item() for each in (worse, better)])
    for name in ("sd_tpot_s", "cost_per_million_tokens"):
        assert_never_falls([getattr(each, name).item() for each in (better, worse)])


# ---- units -------------------------------------------------------------------------------------


@examples(12)
@given(questions(), st.floats(1e-3, 1e3))
def test_a_slower_clock_lengthens_all_times_alike(question: Question, factor: float) -> None:
    """Seconds times c: every figure follows by the power of seconds in its unit."""
    own, scaled = numbers(question.ask()), numbers(question.ask(slower(question.scenario, factor)))
    powers = {"s": 1, "token/s": -1, "USD": 1, "J": 1}
    for name, values in own.items():
        if name == "sd_goodput_tokens_per_s":  # its limit is the workload's, not the device's
            continue
        power = powers.get(FIGURES[name].unit, 0)
        np.testing.assert_allclose(scaled[name], values * factor**power, 1e-9, 1e-12, err_msg=name)


def slower(scenario: Scenario, factor: float) -> Scenario:
    """The same scenario with every second lasting `factor` seconds."""
    replica = scenario.replica
    kernels = {
        key: replace(
            resolved,
            kernel=replace(
                resolved.kernel,
                floor=resolved.kernel.floor * factor,
                bandwidth=resolved.kernel.bandwidth / factor,
                compute=resolved.kernel.compute / factor,
            ),
        )
        for key, resolved in replica.kernels.items()
    }
    link = replica.interconnect
    if link is not None:
        link = replace(
            link,
            all_reduce_floors=tuple(floor * factor for floor in link.all_reduce_floors),
            all_reduce_bandwidth=link.all_reduce_bandwidth / factor,
            dispatch_floor=link.dispatch_floor * factor,
            combine_floor=link.combine_floor * factor,
            all_to_all_bandwidth=link.all_to_all_bandwidth / factor,
        )
    replica = replace(
        replica,
        kernels=kernels,
        interconnect=link,
        host_time=replica.host_time * factor,
        sd_overhead=replica.sd_overhead * factor,
    )
    return replace(scenario, replica=replica)


@examples(10)
@given(questions())
def test_bytes_and_flop_are_what_the_times_come_from(question: Question) -> None:
    """Twice the bandwidths halve byte times, twice the FLOP rates FLOP times; floors stay."""
    replica = question.scenario.replica
    kernels = {
        key: replace(
            each, kernel=replace(each.kernel, bandwidth=each.kernel.bandwidth * 2.0,
                                 compute=each.kernel.compute * 2.0),
        )
        for key, each in replica.kernels.items()
    }  # fmt: skip
    link = replica.interconnect
    if link is not None:
        link = replace(
            link, all_reduce_bandwidth=link.all_reduce_bandwidth * 2.0,
            all_to_all_bandwidth=link.all_to_all_bandwidth * 2.0,
        )  # fmt: skip
    fast = replace(question.scenario, replica=replace(replica, kernels=kernels, interconnect=link))
    own, faster = question.ask().verify_costs, question.ask(fast).verify_costs
    for name, cost in own.items():
        np.testing.assert_array_equal(faster[name].floor, cost.floor)
        np.testing.assert_array_equal(faster[name].memory, cost.memory / 2)
        np.testing.assert_array_equal(faster[name].compute, cost.compute / 2)


# ---- the mix -----------------------------------------------------------------------------------


@examples(12)
@given(questions(), st.lists(st.floats(0.01, 1), min_size=2, max_size=4))
def test_a_mix_lies_between_its_parts(question: Question, weights: list[float]) -> None:
    batches, shares = (1, 33, 256, 65_536)[: len(weights)], np.array(weights) / sum(weights)
    found = question.ask(batch=batches)
    mixed = predict(found.designs, replace(found.scenario, shares=tuple(shares.tolist())))
    for name, values in numbers(mixed).items():
        if name == "sd_goodput_tokens_per_s":
            continue
        value, low, high = mixed.value(name).max(), values.min(), values.max()
        if np.isfinite(low):
            assert low - 1e-9 * abs(low) <= value <= high + 1e-9 * abs(high), name


@examples(10)
@given(questions(), st.floats(0.05, 0.95))
def test_a_batch_size_split_in_two_is_the_same_mix(question: Question, share: float) -> None:
    twice = replace(question.scenario.at((question.batch,) * 2), shares=(share, 1 - share))
    once = question.ask()
    split = predict(once.designs, twice)
    for name in numbers(once):
        np.testing.assert_allclose(split.value(name), once.value(name), 1e-12, err_msg=name)
