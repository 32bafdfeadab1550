"""Reports of people who do this job (../shared/cases), on files in their engine's form."""

from pathlib import Path
from typing import Any

import pytest

from codesign.calibration.latency import calibrate_latency
from codesign.calibration.latency_readers.sglang_log import sglang_steps
from codesign.calibration.options import CalibrationOptions
from codesign.spec.measured_times import LatencySection
from codesign.spec.section import Table
from tests.calibration.latency_files import settled, sglang_line, vllm_serve, written


def section(path: Path, **options: Any) -> LatencySection:
    return calibrate_latency([path], CalibrationOptions(**options))


def column(table: Table | None, name: str) -> list[Any]:
    assert table is not None
    index = table.columns.index(name)
    return [row[index] for row in table.rows]


def csv_of(folder: Path, header: str, *rows: tuple[object, ...]) -> Path:
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
    return written(folder, "table.csv", "\n".join([header, *lines]) + "\n")


# ---- A03: K = 1 at 86 % acceptance still loses -------------------------------------------


def test_a03_two_widths_beyond_weight_traffic(tmp_path: Path) -> None:
    path = csv_of(tmp_path, "width,ms", (1, 51), (2, 112))
    found = section(path, experts=256, top_k=8)
    curves = found.table("width_curves")
    assert column(curves, "T(2)/T(1)") == [pytest.approx(2.196, abs=1e-3)]
    assert column(curves, "bound") == [pytest.approx(1.969, abs=1e-3)]  # U(2)/k, independent
    assert column(curves, "verdict") == ["outside overlap"]
    assert any("outside expert overlap" in warning for warning in found.warnings)
    assert column(section(path).table("width_curves"), "bound") == [2.0]


def test_a03_depth_beyond_three_adds_nothing(tmp_path: Path) -> None:
    path = csv_of(
        tmp_path, "depth,tok/s,acceptance_length", (0, 19.7, None), (3, 23.1, 2.18), (5, 19.3, 2.19)
    )
    assert column(section(path).table("best_draft_tokens"), "K") == [3]


# ---- A04, A05: a separate decode kernel is a residual, not smeared over the rest ----------


def test_a04_line_of_wider_passes_and_residual_at_one(tmp_path: Path) -> None:
    path = csv_of(tmp_path, "width,ms", (1, 8.47), (2, 13.49), (3, 15.64), (5, 20.67), (8, 28.13))
    for options in ({}, {"experts": 128, "top_k": 6}):
        found = section(path, **options)
        curves = found.table("width_curves")
        assert column(curves, "line at 0 [ms]") == [pytest.approx(8.61, abs=0.15)]
        assert column(curves, "slope [ms/token]") == [pytest.approx(2.44, abs=0.02)]
        assert column(curves, "T(1) off curve [ms]") == [pytest.approx(-2.6, abs=0.2)]
        assert column(curves, "verdict") == ["own decode kernel"]
        passes = found.table("passes")
        by_width = dict(zip(column(passes, "width"), column(passes, "curve [ms]"), strict=True))
        assert by_width[4] == pytest.approx(18.2, rel=0.05)
        wide = column(passes, "residual [%]")[1:]
        assert max(abs(error) for error in wide if error is not None) < 1.5


def test_a05_throughput_per_ubatch_is_a_step_time(tmp_path: Path) -> None:
    rates = {1: 169.98, 2: 111.52, 3: 145.78, 4: 174.78, 6: 221.85, 8: 266.06}
    path = csv_of(tmp_path, "n_ubatch,tok/s", *rates.items())
    found = section(path, experts=128, top_k=8)
    times = [5.88, 17.93, 20.58, 22.89, 27.05, 30.07]
    assert column(found.table("points"), "time [ms]") == pytest.approx(times, abs=0.01)
    curves = found.table("width_curves")
    assert column(curves, "T(2)/T(1)") == [pytest.approx(3.05, abs=0.01)]
    assert column(curves, "verdict") == ["outside overlap, own decode kernel"]
    gain = found.table("verification")
    assert column(gain, "best K")[0] == 0  # nothing pays from one token


# ---- A06, A07: throughput by draft length -----------------------------------------------


def test_a06_ratios_and_best_k(tmp_path: Path) -> None:
    rows = [(0, 22.92, None), (1, 27.58, 0.8835), (2, 29.39, 0.815), (3, 27.78, 0.7127),
            (4, 26.09, 0.6421)]  # fmt: skip
    found = section(csv_of(tmp_path, "K,tok/s,acceptance", *rows))
    table = found.table("draft_lengths")
    assert column(table, "AL") == pytest.approx([1, 1.883, 2.63, 3.138, 3.568], abs=1e-3)
    assert column(table, "cycle_ratio") == pytest.approx([1, 1.565, 2.051, 2.589, 3.135], abs=1e-3)
    assert column(found.table("best_draft_tokens"), "K") == [2]
    assert column(found.table("best_draft_tokens"), "b") == [pytest.approx(0.53, abs=0.01)]


def test_a06_experts_on_disk_lose_monotonically(tmp_path: Path) -> None:
    rows = [(0, 7.41), (1, 7.07), (3, 6.19), (5, 5.97), (7, 5.16)]
    found = section(csv_of(tmp_path, "K,tok/s", *rows))
    assert column(found.table("best_draft_tokens"), "K") == [0]
    speedups = column(found.table("draft_lengths"), "speedup")
    assert speedups == sorted(speedups, reverse=True)


def test_a07_cycles_without_a_plain_run(tmp_path: Path) -> None:
    rows = [(1, 4, 55.6, 3.099), (1, 2, 54.9, 2.311), (8, 4, 210.0, 3.099), (8, 2, 303.6, 2.311)]
    found = section(csv_of(tmp_path, "batch_size,K,tok/s,acceptance_length", *rows))
    table = found.table("draft_lengths")
    cycles = dict(zip(zip(column(table, "B"), column(table, "K"), strict=True),
                      column(table, "cycle [ms]"), strict=True))  # fmt: skip
    assert cycles == {
        (1, 4): pytest.approx(55.7, abs=0.1), (1, 2): pytest.approx(42.1, abs=0.1),
        (8, 4): pytest.approx(118.1, abs=0.1), (8, 2): pytest.approx(60.9, abs=0.1),
    }  # fmt: skip
    best = found.table("best_draft_tokens")
    by_batch = dict(zip(column(best, "B"), column(best, "K"), strict=True))
    assert by_batch[1] in {2, 3, 4}
    assert by_batch[8] <= 2


# ---- A18, A20: kernels and passes over tokens --------------------------------------------

QWEN_30B = {1: 44.54, 2: 59.94, 4: 90.46, 8: 129.77, 16: 185.40, 24: 215.99, 32: 238.37,
            48: 257.83, 64: 262.73, 96: 270.98, 128: 273.72}  # fmt: skip
QWEN_30B_LARGE = {256: 355.5, 512: 391.9, 1024: 536.3}
QWEN_235B = {1: 31.70, 2: 36.56, 4: 49.67, 8: 66.87, 16: 92.36, 24: 117.38, 32: 124.99}


@pytest.mark.parametrize(
    ("times", "floor", "per_expert"),
    [
        (QWEN_30B, 32.3, 1.854),
        (QWEN_30B | QWEN_30B_LARGE, 32.3, 1.854),
        (QWEN_235B, 22.6, 0.906),
    ],
)
def test_a18_affine_in_unique_experts(
    tmp_path: Path, times: dict[int, float], floor: float, per_expert: float
) -> None:
    path = csv_of(tmp_path, "tokens,us", *times.items())
    found = section(path, experts=128, top_k=8)
    assert found.parameters["kernel.floor"].value == pytest.approx(floor, rel=0.10)
    assert found.parameters["kernel.per_expert"].value == pytest.approx(per_expert, rel=0.10)
    table = found.table("kernel")
    ours = max(abs(error) for error in column(table, "residual [%]"))
    every_pair = max(abs(error) for error in column(table, "residual with min(N, m k) experts [%]"))
    assert ours < 9
    assert every_pair > 1.2 * ours  # a balanced benchmark's experts fit visibly worse


def test_a18_compute_takes_over_by_1024_tokens(tmp_path: Path) -> None:
    path = csv_of(tmp_path, "tokens,us", *(QWEN_30B | QWEN_30B_LARGE).items())
    found = section(path, architecture="qwen3-30b-a3b", dtype="fp8")
    assert 256 < found.parameters["kernel.compute_crossing"].value <= 1024
    # 4.72 MB per expert at 1.85 us: a plausible share of a datacentre GPU's bandwidth.
    assert found.parameters["kernel.weight_bandwidth"].value == pytest.approx(2.55, rel=0.10)


def test_a20_compute_crossing_and_no_gain_at_thirty_two(tmp_path: Path) -> None:
    rates = {1: 23.28, 2: 33.03, 4: 57.07, 8: 99.42, 16: 148.96, 32: 203.37, 64: 222.38,
             128: 280.49}  # fmt: skip
    path = csv_of(tmp_path, "ubatch,tok/s", *rates.items())
    found = section(path, architecture="gpt-oss-20b")
    assert 16 <= found.parameters["compute_crossing"].value <= 64
    gain = found.table("verification")
    best = dict(zip(column(gain, "tokens"), column(gain, "best K"), strict=True))
    assert best[32] == 0


# ---- C03 - C06: what engines print -------------------------------------------------------


def test_c03_ranks_warm_up_and_plain_line() -> None:
    rate = 8 * 2.17 / 0.13566
    ranks = [
        sglang_line(8, rate, 2.17, rank=f"DP{i} TP{i}", rate="accept rate: 0.54, ")
        for i in range(5)
    ]
    steps = list(sglang_steps(ranks))
    assert [step.batch_size for step in steps] == [8] * 5  # not one batch of forty
    assert [step.cycle * 1e3 for step in steps] == pytest.approx([135.66] * 5, rel=1e-3)
    lines = ["[x] Prefill batch. #new-seq: 1", sglang_line(1, 0.39), sglang_line(1, 84.4)]
    (step,) = sglang_steps(lines)
    assert step.cycle * 1e3 == pytest.approx(11.85, abs=0.01)
    assert step.draft_tokens == 0


def test_c03_slow_first_line_is_dropped_without_a_prefill_line(tmp_path: Path) -> None:
    lines = [sglang_line(1, rate, 1.9) for rate in (0.39, 174.3, 174.6, 175.0, 174.8)]
    (point,), notes = settled(written(tmp_path, "s.log", "\n".join(lines)))
    assert point.samples == 4
    assert point.seconds * 1e3 == pytest.approx(10.88, abs=0.02)
    assert any("1 warm-up lines" in note for note in notes)


def test_c04_old_itl_is_per_chunk_and_throughput_tells(tmp_path: Path) -> None:
    old = {"backend": "sglang", "request_rate": float("inf"), "max_concurrency": 1,
           "completed": 16, "total_output_tokens": 16384, "total_output_tokens_retokenized": 16000,
           "output_throughput": 292.29, "mean_itl_ms": 8.72, "concurrency": 1.0}  # fmt: skip
    (point,), notes = settled(written(tmp_path, "o.jsonl", old))
    assert point.token_seconds == pytest.approx(3.42e-3, rel=2e-3)
    assert point.acceptance_length == pytest.approx(2.55, abs=0.01)
    assert point.seconds == pytest.approx(8.72e-3)
    assert any("per chunk" in note for note in notes)
    new = old | {"mean_itl_ms": 3.20}  # per token: not divided again
    (point,), _ = settled(written(tmp_path, "n.jsonl", new))
    assert point.acceptance_length is None
    assert point.token_seconds == pytest.approx(3.42e-3, rel=2e-3)


C05 = """
============ Serving Benchmark Result ============
Successful requests:                     80
Output token throughput (tok/s):         371.88
Peak output token throughput (tok/s):    122.00
Mean TPOT (ms):                          10.00
Median TPOT (ms):                        9.50
Mean ITL (ms):                           34.60
Median ITL (ms):                         35.82
Acceptance rate (%):                     31.16
============ Serving Benchmark Result ============
Successful requests:                     80
Mean TPOT (ms):                          10.00
Mean ITL (ms):                           20.70
============ Serving Benchmark Result ============
Successful requests:                     80
Mean TPOT (ms):                          10.00
Mean ITL (ms):                           9.88
"""


def test_c05_three_runs_in_one_paste(tmp_path: Path) -> None:
    points, notes = settled(written(tmp_path, "paste.txt", C05))
    lengths = [point.acceptance_length for point in points]
    assert lengths == [
        pytest.approx(3.49, abs=0.005),
        pytest.approx(2.07),
        pytest.approx(1, abs=0.02),
    ]
    assert [point.draft_tokens for point in points] == [8, None, 0]
    assert any("K = 8 derived" in note and "7.9" in note for note in notes)
    known, _ = settled(written(tmp_path, "p.txt", C05), CalibrationOptions(draft_tokens=8))
    assert known[0].acceptance_length == pytest.approx(1 + 8 * 0.3116)


@pytest.mark.parametrize(
    ("tpot", "itl", "counters", "length", "cycle"),
    [
        (37.18, 22.40, (246348, 246348, 205916), 1.836, 68.3),
        (27.48, 159.60, (104880, 8 * 104880, 356839), 4.402, 121.0),
    ],
)
def test_c06_medians_give_nonsense(
    tmp_path: Path, tpot: float, itl: float, counters: tuple[int, int, int], length: float,
    cycle: float,
) -> None:  # fmt: skip
    record = vllm_serve(batch_size=64, counters=counters, mean_tpot_ms=None, mean_itl_ms=None,
                        median_tpot_ms=tpot, median_itl_ms=itl)  # fmt: skip
    (point,), notes = settled(written(tmp_path, "c06.json", record))
    assert point.acceptance_length == pytest.approx(length, abs=1e-3)
    assert point.seconds * 1e3 == pytest.approx(cycle, abs=0.1)
    assert any("disagree" in note for note in notes)
