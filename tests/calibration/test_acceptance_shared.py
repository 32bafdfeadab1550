"""The shared acceptance files: the numbers that a correct reader gets."""

import csv
from pathlib import Path

import pytest

from codesign.errors import CalibrationError, CodesignError
from codesign.spec.calibration import AcceptanceSection
from tests.calibration.acceptance_files import calibrated, written
from tests.shared_data import SHARED, needs_shared

SAMPLES = SHARED / "data/trace_samples"
CASES = SHARED / "cases/files/acceptance"
SURVIVAL = (0.786057, 0.573980, 0.369901)


def lengths(section: AcceptanceSection) -> dict[int | None, float]:
    return {group.draft_tokens: group.acceptance_length.value for group in section.groups}


@needs_shared
@pytest.mark.parametrize(
    "name",
    [
        "acceptance/vllm_metrics.prom",
        "acceptance/vllm_bench_serve_stdout.txt",
        "latency/vllm_bench_serve_v0.33_sd.json",
        "latency/vllm_bench_serve_append.jsonl_like",
        "latency/profile_export_aiperf.json",
    ],
)
def test_one_run_in_five_files(name: str) -> None:
    section = calibrated(SAMPLES / name)
    (group,) = section.groups
    assert (group.draft_tokens, group.drafts) == (3, 7502)
    assert group.acceptance_length.value == pytest.approx(2.729939, abs=5e-7)
    assert section.survival == pytest.approx(SURVIVAL, abs=5e-5)


@needs_shared
def test_one_run_counts_once() -> None:
    names = ("acceptance/vllm_metrics.prom", "latency/vllm_bench_serve_v0.33_sd.json",
             "latency/profile_export_aiperf.json")  # fmt: skip
    section = calibrated(*(SAMPLES / name for name in names))
    assert section.samples == 7502
    assert sum("counted once" in warning for warning in section.warnings) == 2


@needs_shared
def test_vllm_log() -> None:
    section = calibrated(SAMPLES / "acceptance/vllm_log.txt")
    three, four = section.groups
    assert (three.draft_tokens, three.drafts, four.drafts) == (3, 5333, 13429)
    assert three.acceptance_length.value == pytest.approx(2.730171, abs=5e-7)
    assert four.acceptance_length.value == pytest.approx(2.550004, abs=5e-7)
    assert section.survival == pytest.approx((0.786, 0.574, 0.370), abs=1e-9)
    assert any("4 intervals used, 1 empty" in note for note in section.notes)


@needs_shared
def test_sglang_files() -> None:
    section = calibrated(SAMPLES / "acceptance/sglang_log.txt", draft_tokens=3)
    assert lengths(section) == {3: pytest.approx(2.725)}
    for name in ("acceptance/sglang_metrics.prom", "latency/sglang_bench_serving.jsonl"):
        section = calibrated(SAMPLES / name)
        assert lengths(section) == {3: pytest.approx(2.73)}
        assert section.form == "decay"
    for name in (
        "acceptance/sglang_log.txt",
        "acceptance/sglang_bench_serving_stdout.txt",
        "latency/sglang_bench_one_batch_server.jsonl",
        "latency/sglang_server_info_step_time.json",
    ):
        with pytest.raises(CalibrationError, match="--draft-tokens"):
            calibrated(SAMPLES / name)


@needs_shared
def test_requests() -> None:
    for name in ("vllm_v0.22-0.33_chat_response.json", "sglang_generate_response.json"):
        section = calibrated(SAMPLES / "routing" / name)
        assert section.survival == pytest.approx((2 / 3, 2 / 3, 1 / 3))
        assert lengths(section) == {3: pytest.approx(8 / 3)}


@needs_shared
def test_detailed_result_and_sweep() -> None:
    section = calibrated(SAMPLES / "latency/vllm_bench_serve_v0.33_detailed.json")
    assert lengths(section) == {3: pytest.approx(1 + 323 / 187)}
    assert section.survival == pytest.approx((0.786096, 0.572193, 0.368984), abs=5e-7)
    section = calibrated(SAMPLES / "latency/vllm_sweep")
    (group,) = section.groups
    assert group.drafts == 7498 + 7502 + 15020
    accepted = 12982 + 12978 + 25940
    assert group.acceptance_length.value == pytest.approx(1 + accepted / 30020)


@needs_shared
def test_what_is_no_acceptance() -> None:
    for name, status in (
        ("latency/vllm_bench_serve_v0.33_nosd.json", 5),
        ("latency/vllm_bench_forward_v0.33.json", 4),
        ("serving/vllm_speculative_config_synthetic.json", 4),
        ("serving/sglang_adaptive_config.json", 4),
        ("profiles/run1_cuda_gpu_kern_sum.csv", 4),
        ("routing/vllm_routed_experts_request0.npy", 4),
    ):
        with pytest.raises(CodesignError) as caught:
            calibrated(SAMPLES / name)
        assert caught.value.exit_status == status, name


@needs_shared
def test_c10_and_c13() -> None:
    section = calibrated(CASES / "c10_metrics.prom")
    assert section.groups[0].drafts == 4000
    assert lengths(section) == {3: 3.1}
    assert section.survival == (0.875, 0.6875, 0.5375)
    table = calibrated(CASES / "c13_golden_al.yaml").table("series")
    assert table is not None
    residual = {(row[0], row[1]): float(row[4] or 0) for row in table.rows}
    assert abs(residual["thinking_off", 6]) >= 0.05


@needs_shared
def test_measured_lists_are_fitted_by_the_decay(tmp_path: Path) -> None:
    """The decay misfits measured curves by .3 to 2.3 % (design/model.md); here the worst counts."""
    runs: dict[tuple[str, ...], dict[int, float]] = {}
    with (SHARED / "data/sd/acceptance_by_K.csv").open() as stream:
        for row in csv.DictReader(stream):
            key = row["file"], row["model"], row["mode"]
            runs.setdefault(key, {})[int(row["K"])] = float(row["AL"])
    errors = []
    for index, measured in enumerate(runs.values()):
        if sorted(measured) != list(range(1, len(measured) + 1)) or len(measured) < 4:
            continue
        section = calibrated(written(tmp_path, f"{index}.yaml", str(measured)))
        assert section.residual is not None
        errors.append(section.residual.value)
    assert len(errors) >= 10
    assert sorted(errors)[len(errors) // 2] < 0.03
