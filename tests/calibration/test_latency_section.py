"""From files to a section and back into predictions."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codesign.calibration.calibrated_replica import apply_latency
from codesign.calibration.file import load_calibration, save_section
from codesign.calibration.latency import calibrate_latency
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.step_coordinates import predicted_points
from codesign.designs import Designs
from codesign.hardware import load_hardware
from codesign.prediction import predict
from codesign.replica import Replica, resolve_replica
from codesign.report.calibration_plots import plot_section
from codesign.report.calibration_tables import render_section
from codesign.resolve import build_scenario
from codesign.spec.hardware import Deployment, KernelKind
from codesign.spec.measured_times import LatencySection
from codesign.spec.precision import Dtype
from codesign.spec.section import Parameter
from codesign.spec.study import Study
from codesign.spec.workload import Workload
from codesign.uncertainty.inputs import uncertain_inputs
from tests.calibration.latency_files import vllm_forward_case, vllm_serve, written
from tests.calibration.latency_settings import loads, setting

BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64)
MODEL = "qwen3-30b-a3b"


def slower() -> Replica:
    """A replica whose routed experts reach less of the bandwidth than the profile says."""
    replica = setting().replica
    key: tuple[KernelKind, Dtype] = ("routed_experts", "bf16")
    kernel = replica.kernels[key]
    changed = replace(kernel, kernel=replace(kernel.kernel, bandwidth=2.4e12, floor=35e-6))
    return replace(replica, kernels={**replica.kernels, key: changed})


def forward_file(folder: Path) -> Path:
    """What bench forward would write on the slower replica."""
    points = predicted_points(
        setting(), loads(BATCH_SIZES, (0, 3), (1024,), "target pass"), slower()
    )
    cases = [
        vllm_forward_case(
            p.source, int(p.batch_size or 0), int(p.draft_tokens or 0) + 1, p.seconds * 1e6
        )
        for p in points
    ]
    return written(folder, "forward.json", cases)


def fitted(folder: Path, **options: Any) -> LatencySection:
    given = {"architecture": MODEL, "hardware": "h100"} | options
    return calibrate_latency([forward_file(folder)], CalibrationOptions(**given))


def test_a_slower_kernel_is_found_and_applied(tmp_path: Path) -> None:
    section = fitted(tmp_path)
    bandwidth = section.parameters["routed_experts.bf16.bandwidth"]
    assert bandwidth.value == pytest.approx(2.4, rel=1e-3)
    assert bandwidth.unit == "TB/s"
    assert section.parameters["routed_experts.bf16.floor"].value == pytest.approx(35, rel=1e-2)
    assert section.residual is not None
    assert section.residual.value < 1e-3
    assert (section.hardware, section.backend, section.architecture) == (
        "h100-sxm",
        "vllm",
        "Qwen3-30B-A3B",
    )
    save_section(tmp_path / "c.yaml", "latency", section)
    read = load_calibration(tmp_path / "c.yaml").latency
    assert read is not None
    calibrated = apply_latency(read, setting().replica, "Qwen3-30B-A3B")
    (ours,) = predicted_points(setting(), loads((16,), (5,), (1024,), "step"), calibrated)
    (theirs,) = predicted_points(setting(), loads((16,), (5,), (1024,), "step"), slower())
    assert ours.seconds == pytest.approx(theirs.seconds, rel=1e-3)
    assert "routed_experts.bf16.bandwidth 2.4 TB/s" in calibrated.assumptions[-1]


def test_another_device_or_model_is_said(tmp_path: Path) -> None:
    section = fitted(tmp_path)
    model = setting().model
    other = resolve_replica(load_hardware("h200"), Deployment(), model, 1)
    unchanged = apply_latency(section, other, model.name)
    assert unchanged.kernels == other.kernels
    assert "h100-sxm, not h200-sxm: not used" in unchanged.assumptions[-1]
    applied = apply_latency(section, setting().replica, "Mixtral-8x7B")
    assert "fitted on Qwen3-30B-A3B" in applied.assumptions[-1]


def test_every_constant_is_either_fitted_or_named(tmp_path: Path) -> None:
    section = fitted(tmp_path)
    told = set(section.parameters) | set(section.defaults)
    assert {"gemm.bf16.floor", "attention.bf16.compute", "host_time", "sd_overhead"} <= told
    assert not set(section.parameters) & set(section.defaults)
    assert "costs no time" in section.defaults["sd_overhead"]
    pairs = {(pair.first, pair.second) for pair in section.correlations}
    assert ("routed_experts.bf16.floor", "routed_experts.bf16.bandwidth") in pairs


def test_the_same_run_in_two_files_counts_once(tmp_path: Path) -> None:
    record = vllm_serve(tpot_ms=8.4, itl_ms=22.9, counters=(7502, 22506, 12978))
    paths = [written(tmp_path, name, record) for name in ("a.json", "b.json")]
    section = calibrate_latency(paths, CalibrationOptions())
    points = section.table("points")
    assert points is not None
    assert len(points.rows) == 1
    assert any("counted once" in warning for warning in section.warnings)


def test_ratio_and_speedup_of_a_pair_of_runs(tmp_path: Path) -> None:
    drafts = vllm_serve(tpot_ms=8.4, itl_ms=22.9, counters=(7502, 22506, 12978))
    paths = [written(tmp_path, "sd.json", drafts),
             written(tmp_path, "plain.json", vllm_serve(tpot_ms=17.9, itl_ms=17.8))]  # fmt: skip
    ratios = calibrate_latency(paths, CalibrationOptions()).table("ratios")
    assert ratios is not None
    row = dict(zip(ratios.columns, ratios.rows[0], strict=True))
    assert row["ratio"] == pytest.approx(2.729939 * 8.4 / 17.9, rel=1e-5)
    assert row["speedup"] == pytest.approx(17.9 / 8.4, rel=1e-5)  # 2.131, the TPOT ratio


def test_without_a_device_points_and_no_constants(tmp_path: Path) -> None:
    section = fitted(tmp_path, hardware=None, architecture=None)
    assert section.hardware is None
    assert not [name for name in section.parameters if "." in name]
    assert any("no --hw" in warning for warning in section.warnings)


def test_a_bundled_model_is_recognised_and_a_contradiction_is_said(tmp_path: Path) -> None:
    named = vllm_serve(model_id="Qwen/Qwen3-30B-A3B")
    path = written(tmp_path, "s.json", named)
    section = calibrate_latency([path], CalibrationOptions(hardware="h100"))
    assert section.architecture == "Qwen3-30B-A3B"
    assert not any("--arch" in warning for warning in section.warnings)
    other = CalibrationOptions(hardware="h100", architecture="mixtral-8x7b", gpus=2)
    warned = calibrate_latency([path], other)
    assert any("--arch says Mixtral-8x7B" in warning for warning in warned.warnings)


def test_points_without_a_load_are_listed_and_asked_for(tmp_path: Path) -> None:
    state = {"step_time_dict": {"1": [0.0066], "8": [0.0111]}}
    path = written(tmp_path, "i.json", {"internal_states": [state]})
    section = calibrate_latency([path], CalibrationOptions(hardware="h100", architecture=MODEL))
    assert all("give --context" in why for why in section.defaults.values())
    given = CalibrationOptions(hardware="h100", architecture=MODEL, context=1024)
    assert not any("--context" in why for why in calibrate_latency([path], given).defaults.values())


def test_a_separate_decode_kernel_is_left_out_of_the_constants(tmp_path: Path) -> None:
    points = predicted_points(
        setting(), loads((1,), tuple(range(8)), (1024,), "step"), setting().replica
    )
    rows = [(int(p.draft_tokens or 0) + 1, p.seconds * 1e3) for p in points]
    rows[0] = (1, 0.5 * rows[0][1])
    text = "width,context,ms\n" + "".join(f"{width},1024,{time}\n" for width, time in rows)
    path = written(tmp_path, "w.csv", text)
    section = calibrate_latency([path], CalibrationOptions(hardware="h100", architecture=MODEL))
    assert any("kernel of their own" in warning for warning in section.warnings)
    fit = section.table("residuals")
    assert fit is not None
    assert len(fit.rows) == 7
    assert section.residual is not None
    assert section.residual.value < 0.01


def test_comparison_with_moesd(tmp_path: Path) -> None:
    table = fitted(tmp_path).table("comparison")
    assert table is not None
    assert [row[0] for row in table.rows] == ["component sum", "MoESD (arXiv 2505.19645)"]
    ours, theirs = (row[table.columns.index("residual rms [%]")] for row in table.rows)
    assert isinstance(ours, float)
    assert isinstance(theirs, float)
    assert ours < theirs


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_pictures(tmp_path: Path, suffix: str) -> None:
    section = fitted(tmp_path)
    plot_section("latency", section, tmp_path / f"fit{suffix}")
    assert (tmp_path / f"fit{suffix}").stat().st_size > 1000
    for name, text in (
        ("widths", "width,ms\n1,8.47\n2,13.49\n3,15.64\n5,20.67\n8,28.13\n"),
        ("kernel", "tokens,us\n1,40\n2,50\n4,70\n8,100\n16,130\n"),
        ("drafts", "K,tok/s\n0,20\n1,25\n2,27\n"),
    ):
        path = written(tmp_path, f"{name}.csv", text)
        other = calibrate_latency([path], CalibrationOptions(experts=128, top_k=8))
        plot_section("latency", other, tmp_path / f"{name}{suffix}")
        assert (tmp_path / f"{name}{suffix}").stat().st_size > 1000


def test_units_in_brackets_survive_the_table(tmp_path: Path) -> None:
    assert "[ms]" in render_section("latency", fitted(tmp_path), "table")


def study(calibration: Path | None, **deployment: str) -> Study:
    load = Workload.from_data({"target_batch_size": 8, "context": 1024})
    path = None if calibration is None else str(calibration)
    data = {"gpus": 1} | deployment
    return Study(
        hardware="h100", workload=load, deployment=Deployment.from_data(data), calibration=path
    )


def test_a_study_predicts_with_the_calibrated_constants(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    save_section(path, "latency", fitted(tmp_path))
    plain, calibrated = (build_scenario(study(p)) for p in (None, path))
    kernel = calibrated.replica.kernel("routed_experts", "bf16")
    assert float(np.asarray(kernel.bandwidth)) == pytest.approx(2.4e12, rel=1e-3)
    designs = Designs.of_architecture(plain.reference, 3)
    slower_step = predict(designs, calibrated).step_time_verify_s
    assert slower_step > predict(designs, plain).step_time_verify_s
    assert any("latency calibration of" in line for line in calibrated.assumptions)


def test_draws_take_the_calibration_s_errors(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    section = fitted(tmp_path)
    noisy = section.parameters["routed_experts.bf16.bandwidth"].revised(standard_error=0.12)
    overhead = Parameter(value=0.8, standard_error=0.1, unit="ms")
    changed = section.revised(
        parameters={
            "routed_experts.bf16.bandwidth": noisy.to_data(),
            "sd_overhead": overhead.to_data(),
        }
    )
    save_section(path, "latency", changed)
    asked = study(path)
    inputs = {each.name: each for each in uncertain_inputs(asked, build_scenario(asked))}
    assert "standard error of the calibration" in inputs["routed_experts_bandwidth"].origin
    half = np.array([0.5, 0.841])
    drawn = inputs["routed_experts_bandwidth"].sample(half)
    assert drawn[1] / drawn[0] == pytest.approx(1 + 0.12 / 2.4, abs=0.003)
    assert inputs["sd_overhead"].sample(half) == pytest.approx([0.8e-3, 0.9e-3], abs=1e-6)
    assert "standard error" not in inputs["routed_experts_floor"].origin


def test_overheads_that_a_study_gives_stand(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    overhead = Parameter(value=0.8, standard_error=0.1, unit="ms").to_data()
    save_section(path, "latency", fitted(tmp_path).revised(parameters={"sd_overhead": overhead}))
    assert build_scenario(study(path)).replica.sd_overhead == pytest.approx(0.8e-3)
    given = build_scenario(study(path, sd_overhead="1.2 ms"))
    assert given.replica.sd_overhead == pytest.approx(1.2e-3)
