"""Every figure of designs: limits, identities, published tables, extremes."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from codesign.architectures import list_architectures, load_architecture
from codesign.architectures.counting import count_parameters
from codesign.designs import AXES, Designs
from codesign.errors import UsageError
from codesign.figure import figures_of, find_figure
from codesign.model.arrays import FloatArray
from codesign.model.routing import GENERIC_ROUTER
from codesign.parameter_counts import DesignParameters
from codesign.prediction import FIGURES, Prediction, predict
from codesign.scenario import Scenario
from codesign.spec.architecture import Architecture
from tests.questions import make_scenario, scenario_of

POWERS = (1, 2, 4, 8, 16, 32, 64)
QWEN = scenario_of("qwen3-30b-a3b")


def own(scenario: Scenario, draft_tokens: Any, *sizes: int) -> Prediction:
    """The reference itself at some draft lengths and batch sizes."""
    lengths = np.asarray(draft_tokens, dtype=np.float64)
    designs = Designs.of_architecture(scenario.reference, lengths)
    return predict(designs, scenario.at(sizes or (32,)))


def at(scenario: Scenario, designs: Designs, *sizes: int) -> Prediction:
    return predict(designs, scenario.at(sizes or (32,)))


def with_router(scenario: Scenario, **changes: Any) -> Scenario:
    return replace(scenario, router=replace(scenario.router, **changes))


# ---- published tables --------------------------------------------------------------------------


def test_uniform_unique_experts_of_the_cohere_study() -> None:
    # model.md, section 6: N = 128, k = 8, B = 1, 2, 4, ..., 64, one token each.
    found = own(QWEN, 0, *POWERS).unique_experts_uniform.reshape(-1)
    np.testing.assert_allclose(found, [8.0, 15.5, 29.1, 51.6, 82.4, 111.8, 125.9], atol=0.05)


def test_unique_experts_of_the_generic_router() -> None:
    # Issue 2: the closed form gives these for B = 2...64; the top-k correction adds up to 1 %.
    generic = replace(QWEN, router=GENERIC_ROUTER)
    found = own(generic, 0, *POWERS[1:]).unique_experts_decode.reshape(-1)
    closed = np.array([14.72, 25.55, 40.88, 59.45, 78.53, 95.26])
    assert (found >= closed * 0.999).all()
    assert (found <= closed * 1.01).all()


def test_unique_experts_of_four_consecutive_tokens() -> None:
    # Issue 2: 20.2 +-1 % unique over four consecutive tokens; U(B,4)/U(B,1) for B = 1...64.
    generic = replace(QWEN, router=GENERIC_ROUTER)
    found = own(generic, 3, *POWERS)
    assert found.unique_experts_verify[0].item() == pytest.approx(20.2, rel=0.011)
    ratios = (found.unique_experts_verify / found.unique_experts_decode).reshape(-1)
    published = np.array([2.53, 2.32, 2.05, 1.78, 1.53, 1.35, 1.21])
    np.testing.assert_allclose(ratios, published, rtol=0.015)


def test_overlap_of_neighbouring_tokens() -> None:
    # Cohere study: .381 at lag 1 against .0625 of a uniform router. An exact top-k of these
    # correlations overlaps by 2 % less than the closed form that was fitted to it.
    generic = replace(QWEN, router=GENERIC_ROUTER)
    assert own(generic, 3).overlap_lag1.item() == pytest.approx(0.381, rel=0.025)
    uniform = with_router(QWEN, popularity=0.0, request=0.0, recency=0.0)
    assert own(uniform, 3).overlap_lag1.item() == pytest.approx(8 / 128, rel=1e-6)


def test_effective_experts_of_mixtral_at_batch_size_three() -> None:
    # Case E06 (inference-sim#789): 8 (1 - (3/4)^3) = 4.625 without correlation, fewer with it.
    mixtral = scenario_of("mixtral-8x7b")
    plain = with_router(mixtral, popularity=0.0, request=0.0, recency=0.0)
    assert own(plain, 0, 3).unique_experts_uniform.item() == pytest.approx(4.625)
    assert own(plain, 0, 3).unique_experts_decode.item() == pytest.approx(4.625, rel=0.01)
    assert 3 <= own(mixtral, 0, 3).unique_experts_decode.item() < 4.6


def test_kimi_k2_against_deepseek_v3() -> None:
    # Case E04: U(32) uniform is 188 of 384 against 163 of 256; fewer active parameters.
    kimi, deepseek = (own(scenario_of(n, gpus=16), 0, 32) for n in ("kimi-k2", "deepseek-v3"))
    assert kimi.unique_experts_uniform.item() == pytest.approx(384 * (1 - (1 - 8 / 384) ** 32))
    assert deepseek.unique_experts_uniform.item() == pytest.approx(163, abs=0.5)
    assert kimi.active_params.item() == 32_861_477_888  # param_counts.csv
    assert deepseek.active_params.item() == 37_552_282_624


def test_deepseek_r1_over_eight_gpus_alone() -> None:
    # Case A08 (sglang#10281): TP8, concurrency 1, chain of 3: R = 1.468 measured; 1.2-1.9 is right,
    # and 8 verified tokens cost at least 1.15 x of 4. Its GPUs are not stated.
    scenario = scenario_of("deepseek-r1", gpus=8, context=2048, longest=7)
    found = own(scenario, [3, 7], 1)
    assert 1.2 <= found.cycle_ratio[0, 0] <= 1.9
    assert found.step_time_verify_s[0, 1] >= 1.15 * found.step_time_verify_s[0, 0]


@pytest.mark.parametrize("arch", list_architectures())
@pytest.mark.parametrize("shared", [0, 1, 3])
def test_designs_have_the_parameters_of_a_model_of_their_own(arch: str, shared: int) -> None:
    # Shared experts of designs lacked the biases that gpt-oss's experts have.
    reference = load_architecture(arch)
    if reference.moe is None:
        return
    changed = replace_moe(reference, shared_experts=shared)
    designs = Designs.of_architecture(changed, 0)
    found = DesignParameters(reference, designs)
    counts = count_parameters(changed)
    assert (found.total.item(), found.active.item()) == (counts.total, counts.active)


def replace_moe(model: Architecture, **changes: int) -> Architecture:
    assert model.moe is not None
    return model.model_copy(update={"moe": model.moe.model_copy(update=changes)})


# ---- limits ------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ["qwen3-30b-a3b", "mixtral-8x7b", "llama-3.1-8b", "deepseek-v3"])
def test_without_drafts_everything_is_as_without_sd(arch: str) -> None:
    scenario = scenario_of(arch, gpus=16 if arch == "deepseek-v3" else 1)
    found = own(scenario, 0, 1, 32, 1000)
    for name in ("sd_speedup", "cycle_ratio", "target_efficiency", "acceptance_length"):
        np.testing.assert_array_equal(getattr(found, name), 1.0)
    np.testing.assert_array_equal(found.sd_tpot_s, found.tpot_s)
    np.testing.assert_array_equal(found.sd_tokens_per_s, found.tokens_per_s)
    np.testing.assert_array_equal(found.draft_time_s, 0.0)


@pytest.mark.parametrize("experts", [1, 2, 8, 64])
def test_all_experts_active_is_a_dense_model(experts: int) -> None:
    found = at(QWEN, Designs.of(experts, experts, 0, np.array([0, 3, 8]), 768), 1, 7, 512)
    np.testing.assert_array_equal(found.unique_experts_decode, experts)
    np.testing.assert_array_equal(found.unique_experts_verify, experts)
    np.testing.assert_array_equal(found.amdahl_ratio, 1.0)
    np.testing.assert_array_equal(found.activation_ratio, 1.0)
    assert not {"sweet spot", "partial load"} & set(found.regime.flat)


def test_one_expert_of_all_width_costs_what_many_active_ones_do() -> None:
    # Without floors, 8 of 8 experts of 768 are one of 6,144: the same bytes, FLOP and parameters.
    many, one = Designs.of(8, 8, 0, 3, 768), Designs.of(1, 1, 0, 3, 6144)
    found, other = (at(QWEN, designs, 16) for designs in (many, one))
    difference = found.total_params - other.total_params
    assert difference.item() == 48 * 2048 * 7  # only the router differs
    routed, single = (p.verify_costs["routed_experts"] for p in (found, other))
    np.testing.assert_allclose(routed.compute, single.compute, rtol=1e-12)
    np.testing.assert_allclose(routed.memory, single.memory, rtol=0.03)  # narrow ones read slower


def test_accepting_nothing_only_costs() -> None:
    scenario = make_scenario(acceptance="constant:0")
    speedup = own(scenario, np.arange(9)).sd_speedup[0]
    assert speedup[0] == 1.0
    assert (np.diff(speedup) < 0).all()


def test_accepting_everything_for_free_multiplies_by_k_plus_one() -> None:
    # B = 1 of a dense model without draft cost or overhead, context 0: verification costs little
    # more than decoding while weights dominate, so the speedup comes near K + 1 from below.
    scenario = make_scenario(
        reference="llama-3.1-8b",
        acceptance="constant:1",
        draft="fraction:0",
        deployment={"sd_overhead": "0 s"},
        workload={"target_batch_size": 1, "context": 0},
    )
    speedup = own(scenario, 3, 1).sd_speedup.item()
    assert 0.97 * 4 < speedup < 4


def test_overhead_only_lengthens_the_cycle() -> None:
    slow = make_scenario(deployment={"sd_overhead": "1.5 ms"})
    fast = make_scenario(deployment={"sd_overhead": "0.5 ms"})
    late, soon = (own(scenario, 3) for scenario in (slow, fast))
    np.testing.assert_array_equal(late.tpot_s, soon.tpot_s)
    cycle = late.step_time_decode_s * late.cycle_ratio - soon.step_time_decode_s * soon.cycle_ratio
    assert cycle.item() == pytest.approx(1e-3)


# ---- identities --------------------------------------------------------------------------------


def test_definitions() -> None:
    """Every derived figure from the ones it is defined by (model.md, sections 4 and 5)."""
    scenario = scenario_of("deepseek-v3", gpus=8, expert_parallel=8, hardware="h200")
    found = own(scenario, [1, 3, 5], 1, 16, 128)
    overhead, price = scenario.replica.sd_overhead, scenario.price_per_gpu_hour
    assert price is not None
    batch, drafted = np.array([1, 16, 128])[:, None], np.array([1, 3, 5])
    decode, verify = found.step_time_decode_s, found.step_time_verify_s
    cycle = (found.draft_time_s + verify + overhead) / decode
    speedup = found.acceptance_length / cycle
    unique = found.unique_experts_verify / found.unique_experts_decode
    share = found.routed_load_fraction
    expected = {
        "tokens": batch * (drafted + 1),
        "cycle_ratio": cycle,
        "sd_speedup": speedup,
        "target_efficiency": decode / verify,
        "break_even_acceptance_length": cycle,
        "break_even_acceptance": (cycle - 1) / drafted,
        "amdahl_ratio": share * unique + 1 - share,
        "tpot_s": decode + 0 * drafted,
        "sd_tpot_s": decode / speedup,
        "tokens_per_s": batch / decode + 0 * drafted,
        "sd_tokens_per_s": batch * speedup / decode,
        "sd_tokens_per_s_per_gpu": batch * speedup / decode / 8,
        "cost_per_million_tokens": price * 8 / 3600 / (batch * speedup / decode) * 1e6,
    }
    for name, values in expected.items():
        found_values = np.broadcast_to(getattr(found, name), values.shape)
        np.testing.assert_allclose(found_values, values, rtol=1e-12, err_msg=name)


def test_component_times_add_up_to_the_steps() -> None:
    found = own(QWEN, [0, 3], 8, 64)
    for costs, step in (
        (found.decode_costs, found.step_time_decode_s),
        (found.verify_costs, found.step_time_verify_s),
    ):
        parts = sum((cost.seconds for cost in costs.values()), np.zeros(()))
        np.testing.assert_allclose(parts, step, rtol=1e-12)


def test_the_load_fraction_is_the_time_fraction_without_floor_and_flop() -> None:
    found = own(QWEN, 3, 1, 64)
    routed = found.decode_costs["routed_experts"]
    missing = (routed.floor + routed.compute) / found.step_time_decode_s
    difference = found.routed_time_fraction - found.routed_load_fraction
    np.testing.assert_allclose(difference, missing, rtol=1e-9)
    assert (found.routed_load_fraction < found.routed_time_fraction).all()


def test_unique_experts_are_ordered() -> None:
    # Correlated <= popularity only <= uniform, and a wider pass loads no fewer.
    designs = Designs.of(np.array([64, 128, 512]), 8, 0, 3, 768)
    found = at(QWEN, designs, *POWERS)
    ordered = [
        found.unique_experts_decode,
        found.unique_experts_verify,
        found.unique_experts_independent,
        found.unique_experts_uniform,
    ]
    for fewer, more in pairwise(ordered):
        assert (fewer <= more * 1.002).all()
    assert (found.unique_experts_verify <= np.minimum([64, 128, 512], found.tokens * 8)).all()


# ---- the mix -----------------------------------------------------------------------------------


def test_a_mix_adds_up_machine_time() -> None:
    """model.md, section 5: shares weigh tokens; speedup = time without SD / with SD."""
    scenario = make_scenario(workload={"target_batch_size": "8:0.3,32:0.7"})
    designs = Designs.of_architecture(scenario.reference, np.array([0.0, 3.0]))
    mix = predict(designs, scenario)
    alone = [at(scenario, designs, size) for size in (8, 32)]
    for place, drafted in enumerate((0, 3)):
        plain, fast = (
            [float(np.broadcast_to(getattr(p, name), (1, 2))[0, place]) for p in alone]
            for name in ("tokens_per_s", "sd_tokens_per_s")
        )
        # A million tokens take so long on the replica:
        without = 1e6 * (0.3 / plain[0] + 0.7 / plain[1])
        with_sd = 1e6 * (0.3 / fast[0] + 0.7 / fast[1])
        assert mix.value("sd_speedup")[place] == pytest.approx(without / with_sd, rel=1e-12)
        tokens_per_s = np.broadcast_to(mix.value("sd_tokens_per_s"), (2,))[place]
        assert tokens_per_s == pytest.approx(1e6 / with_sd, rel=1e-12)
        cost = np.broadcast_to(mix.value("cost_per_million_tokens"), (2,))[place]
        assert cost == pytest.approx(with_sd * 3.495 / 3600, rel=1e-9)  # 1.99-5 USD/h, H100
        assert (drafted > 0) == (mix.value("sd_speedup")[place] != 1.0)


def test_a_mix_of_one_is_that_one() -> None:
    single = predict(Designs.of_architecture(QWEN.reference, 3), QWEN.at((32,)))
    for name in FIGURES:
        if name in ("sd_goodput_tokens_per_s",):
            continue
        values = getattr(single, name)
        np.testing.assert_allclose(
            single.value(name), values.reshape(single.value(name).shape), rtol=1e-12, err_msg=name
        )


def test_memory_of_a_mix_is_that_of_its_largest_batch() -> None:
    scenario = make_scenario(workload={"target_batch_size": "1:0.9,64:0.1"})
    designs = Designs.of_architecture(scenario.reference, 3)
    assert predict(designs, scenario).value("memory_bytes_per_gpu").item() == pytest.approx(
        at(scenario, designs, 64).memory_bytes_per_gpu.item()
    )


# ---- shape and scale ---------------------------------------------------------------------------


def test_a_mesh_gives_what_single_designs_give() -> None:
    axes = ([16, 128, 500], [2, 8], [0, 1, 4], [0, 1, 8], [128, 768])
    grids = np.ix_(*(np.array(axis, dtype=np.float64) for axis in axes))
    scenario = QWEN.at((1, 32))
    mesh = predict(Designs.of(*grids), scenario)
    rows = mesh.designs.rows()
    shape = (2, *mesh.designs.shape)
    whole = {
        name: np.broadcast_to(getattr(mesh, name), shape).reshape(2, -1)
        for name in FIGURES
        if name != "sd_goodput_tokens_per_s"
    }
    for place in range(0, len(rows), 7):
        single = predict(Designs.of(*(rows[place][axis] for axis in AXES)), scenario)
        for name, values in whole.items():
            alone = np.broadcast_to(getattr(single, name), (2, 1))[:, 0]
            np.testing.assert_allclose(values[:, place], alone, rtol=1e-12, atol=0, err_msg=name)


def numbers(found: Prediction) -> dict[str, FloatArray]:
    """Every figure that the scenario can tell."""
    return {
        name: getattr(found, name) for name in FIGURES if name not in ("sd_goodput_tokens_per_s",)
    }


MAY_BE_ZERO = {
    "shared_experts", "draft_tokens", "draft_time_s", "break_even_acceptance",
    "kv_capacity_sequences", "routed_time_fraction", "routed_load_fraction",
}  # fmt: skip
ANY_SIGN = {"loss_difference", "rounding_residual", "break_even_acceptance"}


@settings(max_examples=60)
@example(128, 32, 0, 0, 1, 65_536, 1, "deepseek-v3", (8, 8), "eagle")  # all experts loaded
@example(1, 1, 0, 63, 1, 65_536, 10_000_000, "deepseek-v3", (8, 8), "mtp")
@example(4096, 1, 64, 63, 65_536, 65_536, 10_000_000, "gpt-oss-20b", (8, 1), "eagle,parallel")
@given(
    experts=st.sampled_from([1, 2, 3, 8, 128, 4096]),
    top_k=st.sampled_from([1, 2, 8, 32, 4096]),
    shared=st.sampled_from([0, 1, 64]),
    drafted=st.sampled_from([0, 1, 8, 63]),
    width=st.sampled_from([1, 64, 768, 65_536]),
    sequences=st.sampled_from([1, 2, 33, 4096, 65_536]),
    context=st.sampled_from([1, 512, 131_072, 10_000_000]),
    arch=st.sampled_from(["qwen3-30b-a3b", "deepseek-v3", "gpt-oss-20b", "mixtral-8x7b"]),
    cut=st.sampled_from([(1, 1), (8, 1), (8, 8)]),
    draft=st.sampled_from(["eagle", "mtp", "fraction:0.05", "eagle,parallel"]),
)
def test_every_figure_is_finite_and_positive_at_the_corners(
    experts: int,
    top_k: int,
    shared: int,
    drafted: int,
    width: int,
    sequences: int,
    context: int,
    arch: str,
    cut: tuple[int, int],
    draft: str,
) -> None:
    gpus, ranks = cut
    scenario = scenario_of(
        arch, gpus=gpus, expert_parallel=ranks, context=context, draft=draft, longest=63
    )
    chosen = min(top_k, experts)
    found = at(scenario, Designs.of(experts, chosen, shared, drafted, width), sequences)
    for name, values in numbers(found).items():
        assert np.isfinite(values).all(), name
        if name not in ANY_SIGN:
            least = 0 if name in MAY_BE_ZERO else np.finfo(float).tiny
            assert (values >= least).all(), name
    unique = found.unique_experts_verify.item()
    assert chosen * (1 - 1e-9) <= unique <= min(experts, chosen * found.tokens.item()) * (1 + 1e-9)
    assert found.target_efficiency.item() <= 1 + 1e-12


def test_an_empty_context_is_a_context() -> None:
    found = own(scenario_of("qwen3-30b-a3b", context=0), [0, 3], 1, 512)
    for name, values in numbers(found).items():
        if name != "kv_capacity_sequences":  # without caches there is no end to them
            assert np.isfinite(values).all(), name
    core = found.verify_costs["attention_core"]
    assert float(np.max(core.memory)) == float(np.max(core.compute)) == 0.0
    assert np.isinf(found.kv_capacity_sequences).all()


def test_what_does_not_fit_has_room_for_no_sequence() -> None:
    # With an empty context it was 0/0, not a number.
    for context in (0, 4096):
        found = own(scenario_of("deepseek-v3", gpus=1, context=context), [0, 3], 1)
        np.testing.assert_array_equal(found.kv_capacity_sequences, 0.0)


@pytest.mark.parametrize("arch", ["qwen3-30b-a3b", "deepseek-v3", "mixtral-8x7b"])
def test_times_are_continuous_in_batch_size_and_draft_length(arch: str) -> None:
    """One more sequence never adds more than its share, and nothing jumps down."""
    scenario = scenario_of(arch, gpus=16, context=512, longest=40)
    sizes = np.arange(1, 200)
    steps = own(scenario, 3, *(int(size) for size in sizes)).step_time_verify_s.reshape(-1)
    growth = steps[1:] / steps[:-1]
    assert (growth >= 1.0).all()
    assert (growth <= sizes[1:] / sizes[:-1] + 1e-9).all()
    lengths = own(scenario, np.arange(41), 32).step_time_verify_s[0]
    assert (np.diff(lengths) > 0).all()
    assert (lengths[1:] / lengths[:-1] <= 1.3).all()


def test_figures_are_continuous_in_experts_and_width() -> None:
    experts = np.arange(16.0, 513.0)
    found = at(QWEN, Designs.of(experts, 8, 0, 3, 768), 32)
    for name in ("unique_experts_verify", "step_time_verify_s", "sd_speedup", "loss_difference"):
        values = np.broadcast_to(getattr(found, name), (1, experts.size))[-1]
        span = np.ptp(values)
        assert (np.abs(np.diff(values)) < 0.1 * span).all(), name
    widths = np.arange(64.0, 2049.0, 16.0)
    times = at(QWEN, Designs.of(128, 8, 0, 3, widths), 32).step_time_verify_s[0]
    assert (np.diff(times) > 0).all()


# ---- asking ------------------------------------------------------------------------------------


def test_a_price_that_is_missing_is_asked_for() -> None:
    tpu = scenario_of("qwen3-30b-a3b", hardware="tpu-v6e", gpus=1)
    with pytest.raises(UsageError) as caught:
        _ = own(tpu, 3).cost_per_million_tokens
    assert str(caught.value) == (
        "tpu-v6e has no price; give one with --price, such as --price '2.5 USD/h', or add it to "
        "the profile"
    )
    priced = make_scenario(hardware="tpu-v6e", deployment={"price": "2 USD/h", "gpus": 4})
    assert own(priced, 3).cost_per_million_tokens.item() > 0


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("sd_tpot", "sd_tpot_s"),
        ("cost", "cost_per_million_tokens"),
        ("memory", "memory_bytes_per_gpu"),
        ("N", "experts"),
        ("total_params", "total_params"),
    ],
)
def test_figures_by_name_and_alias(asked: str, found: str) -> None:
    assert find_figure(Prediction, asked).name == found


def test_an_unknown_figure_gets_the_nearest_name() -> None:
    with pytest.raises(UsageError) as caught:
        find_figure(Prediction, "sd_speed")
    assert str(caught.value) == (
        "unknown figure 'sd_speed'; did you mean 'sd_speedup'?; see 'codesign list figures'"
    )


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_says_what_it_is(name: str) -> None:
    figure = figures_of(Prediction)[name]
    assert figure.name == name
    assert figure.unit
    assert figure.meaning.endswith(".")
    assert figure.better in (None, "maximize", "minimize")


def test_a_figure_is_computed_once() -> None:
    found = own(QWEN, 3)
    assert found.sd_speedup is found.sd_speedup


def test_aliases_are_unambiguous() -> None:
    names = [*FIGURES, *(figure.alias for figure in FIGURES.values() if figure.alias)]
    assert len(names) == len(set(names))
