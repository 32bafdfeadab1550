"""Profiles: what is summed, what is counted once, which step it was, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from codesign.calibration.options import CalibrationOptions
from codesign.calibration.profile import calibrate_profile
from codesign.calibration.timeline import union_length
from codesign.errors import CalibrationError, DataError
from codesign.hardware import load_hardware, resolve_kernel
from tests.calibration.profile_files import (
    ATTENTION,
    DENSE,
    LAYER,
    REDUCE,
    ROUTED,
    event,
    profiled,
    step,
    trace,
    written_sqlite,
    written_trace,
)
from tests.shared_data import SHARED, needs_shared

STEPS = [*step(0.0, 8, 4, 3), *step(5000.0, 8, 4, 3), *step(10000.0, 8, 4, 3)]
OF_A_LAYER = sum(duration for _, duration in LAYER) * 1e-6


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_trace_is_split_by_component_and_step(tmp_path: Path, name: str) -> None:
    info = {"distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2}}
    profile = profiled(written_trace(tmp_path, name, trace(STEPS, **info)))
    (load,) = profile.loads
    assert (load.batch_size, load.width, load.steps) == (8, 4, 3)
    assert load.kernel_time == pytest.approx(3 * OF_A_LAYER)
    assert load.routed == pytest.approx(3 * 150e-6)
    assert load.summed["routed_overhead"] == pytest.approx(3 * 3e-6)
    assert load.summed["attention"] == pytest.approx(3 * 15e-6)
    assert load.summed["communication"] == pytest.approx(3 * 9e-6)
    assert load.copies == pytest.approx(1.2e-6)
    assert load.period == pytest.approx(5e-3)
    assert load.kernels == 3 * len(LAYER)
    assert any("rank 0 of 2" in note for note in profile.notes)


def test_a_bare_list_of_events_is_a_trace_too(tmp_path: Path) -> None:
    assert profiled(written_trace(tmp_path, "t.json", STEPS)).loads[0].steps == 3


def test_entries_after_the_events_are_read(tmp_path: Path) -> None:
    content = {"traceEvents": STEPS, "distributedInfo": {"rank": 1, "world_size": 4}}
    profile = profiled(written_trace(tmp_path, "t.json", content))
    assert any("rank 1 of 4" in note for note in profile.notes)


def test_overlapping_kernels_count_once_in_the_union(tmp_path: Path) -> None:
    events = [event(ROUTED, 0.0, 100.0), event(ROUTED, 50.0, 100.0), event(DENSE, 120.0, 60.0)]
    (load,) = profiled(written_trace(tmp_path, "t.json", trace(events))).loads
    assert load.kernel_time == pytest.approx(260e-6)
    assert load.union is not None
    assert load.union["routed_experts"] == pytest.approx(150e-6)
    assert load.busy == pytest.approx(180e-6)
    assert load.span == pytest.approx(180e-6)
    assert load.batch_size is None


def test_union_against_a_fine_grid() -> None:
    generator = np.random.default_rng(0)
    start = np.sort(generator.integers(0, 1000, 200)).astype(float)
    end = start + generator.integers(0, 30, 200).astype(float)
    covered = np.zeros(1100, dtype=bool)
    for a, b in zip(start.astype(int), end.astype(int), strict=True):
        covered[a:b] = True
    assert union_length(start, end) == covered.sum()


def test_steps_of_several_loads_and_prefills_are_told_apart(tmp_path: Path) -> None:
    mixed = step(15000.0, 8, 4, 3)
    for marker in mixed[:2]:
        marker["name"] = "execute_context_1(512)_generation_7(28)"
    events = [*STEPS, *mixed, *step(20000.0, 32, 1, 3, scale=0.5)]
    profile = profiled(written_trace(tmp_path, "t.json", trace(events)))
    assert [(load.batch_size, load.width, load.steps) for load in profile.loads] == [
        (8, 4, 3),
        (32, 1, 1),
    ]
    assert any("1 steps with a prefill" in note for note in profile.notes)


def test_load_fraction_is_what_grows_with_unique_experts(tmp_path: Path) -> None:
    """Routed time of 40 us + 2 us per expert at two loads gives back the 2 us."""
    from codesign.architectures import load_architecture
    from codesign.calibration.latency_setting import router_of_model
    from codesign.model.latent_router import unique_experts

    model = load_architecture("qwen3-30b-a3b")
    paths, total = [], {}
    for batch in (1, 16):
        unique = float(unique_experts(128, 8, batch, 1, router_of_model(model)))
        routed = 40.0 + 2.0 * unique
        events = [event(f"execute_context_0(0)_generation_{batch}({batch})", 0.0, 9e5,
                        "gpu_user_annotation")]  # fmt: skip
        events += [event(DENSE, 10.0 * i, 5.0) for i in range(100)]
        events += [event(ROUTED, 2000.0, routed)]
        total[batch] = (500 + routed) * 1e-6
        paths.append(written_trace(tmp_path, f"{batch}.json", trace(events)))
    found = calibrate_profile(paths, CalibrationOptions(architecture="qwen3-30b-a3b"))
    assert (found.batch_size, found.draft_tokens) in {(1, 0), (16, 0)}
    unique = float(unique_experts(128, 8, found.batch_size or 1, 1, router_of_model(model)))
    whole = total[found.batch_size or 1]
    growing, routed_share = 2.0 * unique * 1e-6 / whole, (40 + 2.0 * unique) * 1e-6 / whole
    assert found.parameters["routed_load_fraction"].value == pytest.approx(growing, rel=1e-3)
    assert found.parameters["routed_time_fraction"].value == pytest.approx(routed_share, rel=1e-6)


def test_a_verification_step_is_labelled_as_one(tmp_path: Path) -> None:
    path = written_trace(tmp_path, "t.json", trace(STEPS))
    found = calibrate_profile([path], CalibrationOptions(hardware="h100", layers=3))
    assert "routed_time_fraction_verify" in found.parameters
    assert any("q = 4" in warning for warning in found.warnings)
    assert found.draft_tokens == 3


def test_kernel_sum_csv_after_chatter_with_its_unit(tmp_path: Path) -> None:
    path = tmp_path / "k.csv"
    path.write_text(
        "Generating SQLite file\nProcessing ...\n\n"
        '"Time (%)","Total Time (us)","Instances","Avg (us)","Name"\n'
        f'60.0,6000,96,1,"{ROUTED}"\n30.0,3000,96,1,"{ATTENTION}"\n'
    )
    profile = profiled(path)
    (load,) = profile.loads
    assert load.routed == pytest.approx(6e-3)
    assert load.unlisted == pytest.approx(1e-3)
    assert load.denominators()["all kernels"] == pytest.approx(10e-3)
    assert any("10 % of the kernel time is not listed" in note for note in profile.notes)


def test_kernel_summary_is_per_replay_and_named_by_example(tmp_path: Path) -> None:
    kernels = [
        {"name": ROUTED, "us": 4800.0, "calls": 96, "example": ROUTED},
        {"name": "cutlass::device_kernel<flash::enable_sm90_or_later>", "us": 1200.0, "calls": 48,
         "example": ATTENTION},
    ]  # fmt: skip
    summary = {"replays": 3, "span_us": 9120.0, "busy_us": 9000.0, "kernels": kernels}
    profile = profiled(written_trace(tmp_path, "v.kernels.json", summary))
    (load,) = profile.loads
    assert load.routed == pytest.approx(4800e-6)  # not a third of it
    assert load.summed["attention"] == pytest.approx(1200e-6)
    assert load.routed / load.denominators()["busy time"] == pytest.approx(4800 / 9000)
    assert any("the list is cut: 3000.0 us" in note for note in profile.notes)


def test_sqlite_uses_full_names_and_is_not_written(tmp_path: Path) -> None:
    path = written_sqlite(tmp_path, [(ROUTED, 0, 60937), (ATTENTION, 100000, 130208)])
    before = path.read_bytes()
    (load,) = profiled(path).loads
    assert load.summed["attention"] == pytest.approx(30208e-9)
    assert load.span == pytest.approx(130208e-9)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["run.sqlite"]


# ---- C08 and other profiles that cannot be split ------------------------------------------


def test_c08_bursts_of_graph_launches_are_refused(tmp_path: Path) -> None:
    events = []
    for index, kernels in enumerate([0, 110, 17, 17, 17, 17, 17, 17, 17, 17, 2873]):
        start = 30000.0 * index
        events.append(event("step[DECODE bs=31 toks=31]", start, 29000.0, "user_annotation"))
        events += [event("ck_moe_gemm", start + 10 + 9 * i, 4.0) for i in range(kernels)]
    with pytest.raises(DataError, match=r"0, 110, 17.*3119 in all.*--cuda-graph-trace=node"):
        profiled(written_trace(tmp_path, "hip.json", trace(events)))


def test_c08_graph_mode_summary_has_no_matrix_product(tmp_path: Path) -> None:
    path = tmp_path / "k.csv"
    path.write_text(
        "Time (%),Total Time (ns),Instances,Name\n"
        '48.0,1440000,128,"void sample_argmax_kernel(const float *)"\n'
        '52.0,930000,551,"void copy_tokens_kernel(int *)"\n'
    )
    with pytest.raises(DataError, match=r"single launches.*--cuda-graph-trace=node"):
        profiled(path)


def test_c08_fewer_kernels_than_layers_launch(tmp_path: Path) -> None:
    path = written_trace(tmp_path, "t.json", trace(STEPS))
    with pytest.raises(DataError, match="model with 64 layers"):
        profiled(path, layers=64)
    assert profiled(path, layers=3).loads


@needs_shared
@pytest.mark.parametrize("name", ["c08_hip_burst.json", "c08_nsys_graph_mode.csv"])
def test_c08_shared_files(name: str) -> None:
    with pytest.raises(DataError, match="--cuda-graph-trace=node"):
        profiled(SHARED / "cases" / "files" / "traces" / name)


def test_graphs_recorded_as_launches_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="7 graphs recorded as single launches"):
        profiled(written_sqlite(tmp_path, [(ROUTED, 0, 1)], graphs=7))


def test_two_gpus_in_one_profile_are_refused(tmp_path: Path) -> None:
    kernels = [(ROUTED, 0, 1), (DENSE, 2, 3)]
    with pytest.raises(DataError, match="2 GPUs"):
        profiled(written_sqlite(tmp_path, kernels, devices=2))
    other = event(DENSE, 0.0, 1.0)
    other["args"]["device"] = 1
    with pytest.raises(DataError, match="2 GPUs"):
        profiled(written_trace(tmp_path, "t.json", trace([event(ROUTED, 0.0, 1.0), other])))


def test_a_dense_model_has_no_routed_share(tmp_path: Path) -> None:
    events = [event(DENSE, 10.0 * i, 5.0) for i in range(30)]
    path = written_trace(tmp_path, "t.json", trace(events))
    with pytest.raises(CalibrationError, match="no routed expert product"):
        calibrate_profile([path], CalibrationOptions())


# ---- the samples -------------------------------------------------------------------------


@needs_shared
@pytest.mark.parametrize(
    "name",
    [
        "vllm_trace_uncompressed.json",
        "dp0_pp0_tp0_dcp0_ep0_rank0.1790000000000000000.pt.trace.json.gz",
    ],
)
def test_shared_traces(name: str) -> None:
    profile = profiled(SHARED / "data" / "trace_samples" / "profiles" / name)
    (load,) = profile.loads
    assert (load.batch_size, load.width, load.steps) == (8, 4, 2)
    times = {part: seconds * 1e6 for part, seconds in load.summed.items()}
    assert times == pytest.approx(
        {"communication": 9, "routed_experts": 150, "routed_overhead": 10, "attention": 15,
         "linear_attention": 0, "norm_activation": 8, "dense_gemm": 20, "copies": 1.2, "other": 0}
    )  # fmt: skip
    shares = {of: load.routed / seconds for of, seconds in load.denominators().items()}
    assert shares["kernels listed"] == pytest.approx(0.707547, abs=1e-6)
    assert shares["kernels and copies listed"] == pytest.approx(0.703565, abs=1e-6)
    assert shares["GPU span"] == pytest.approx(0.672043, abs=1e-6)
    assert shares["step period"] == pytest.approx(0.287356, abs=1e-6)


@needs_shared
def test_shared_nsight_files() -> None:
    folder = SHARED / "data" / "trace_samples" / "profiles"
    (table,) = profiled(folder / "run1_cuda_gpu_kern_sum.csv").loads
    assert table.kernel_time == pytest.approx(9.3e-3)
    assert table.routed / table.kernel_time == pytest.approx(0.629032, abs=1e-6)
    assert table.routed / table.denominators()["all kernels"] == pytest.approx(0.585, abs=1e-9)
    assert table.summed["attention"] == pytest.approx(1.45e-3)
    assert table.summed["dense_gemm"] == pytest.approx(1.7e-3)
    (export,) = profiled(folder / "run1.sqlite").loads
    assert export.kernel_time == pytest.approx(152145e-9)
    assert export.routed == pytest.approx(121937e-9)
    assert export.span == pytest.approx(261000e-9)
    assert export.routed / export.kernel_time == pytest.approx(0.801453, abs=1e-6)


@needs_shared
def test_shared_kernel_summary() -> None:
    profile = profiled(
        SHARED / "data" / "trace_samples" / "latency" / "verify_bs8.rank0.kernels.json"
    )
    (load,) = profile.loads
    assert load.kernel_time == pytest.approx(7783.5e-6)
    assert load.copies == pytest.approx(20e-6)
    assert load.unlisted == pytest.approx(1247.0e-6)
    assert load.summed["routed_overhead"] == pytest.approx(370.2e-6)
    assert load.routed / load.denominators()["busy time"] == pytest.approx(0.530490, abs=1e-6)
    assert load.routed / load.denominators()["GPU span"] == pytest.approx(0.526447, abs=1e-6)


def test_section_of_a_profile_names_its_denominators(tmp_path: Path) -> None:
    path = written_trace(tmp_path, "t.json", trace([*step(0.0, 1, 1, 3), *step(9e3, 1, 1, 3)]))
    found = calibrate_profile([path], CalibrationOptions(hardware="h100", layers=3))
    fractions = found.table("fractions")
    assert fractions is not None
    named = {row[3] for row in fractions.rows}
    assert {"kernels listed", "busy time", "GPU span", "step period"} <= named
    assert found.parameters["routed_time_fraction"].value == pytest.approx(
        150 / sum(duration for _, duration in LAYER)
    )
    json.dumps(found.to_data(), allow_nan=False)


def test_kernels_of_unknown_kind_are_named(tmp_path: Path) -> None:
    events = [event(ROUTED, 0.0, 50.0), event(REDUCE, 60.0, 1.0), event("mystery_op", 70.0, 50.0)]
    path = written_trace(tmp_path, "t.json", trace(events))
    found = calibrate_profile([path], CalibrationOptions())
    assert any("mystery_op" in warning for warning in found.warnings)


def test_load_fraction_from_the_profile_s_floor(tmp_path: Path) -> None:
    """One load tells no slope: the device's floor per layer is taken off instead."""
    model, events = "qwen3-30b-a3b", [*step(0.0, 1, 1, 48), *step(5e4, 1, 1, 48)]
    path = written_trace(tmp_path, "t.json", trace(events))
    alone = calibrate_profile([path], CalibrationOptions(architecture=model))
    assert "two batch sizes or widths" in alone.defaults["routed_load_fraction"]
    found = calibrate_profile([path], CalibrationOptions(architecture=model, hardware="h100"))
    kernel = resolve_kernel(load_hardware("h100"), "routed_experts", "vllm", "bf16").kernel
    growing = 150e-6 - float(np.asarray(kernel.floor))
    expected = growing / (sum(duration for _, duration in LAYER) * 1e-6)
    assert found.parameters["routed_load_fraction"].value == pytest.approx(expected, rel=1e-6)
