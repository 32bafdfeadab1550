"""Every form of acceptance gives the same counts; every trap is met."""

import json
from pathlib import Path
from typing import Any

import pytest

from codesign.errors import CalibrationError, CodesignError, DataError
from tests.calibration.acceptance_files import (
    EMPTY_LINE,
    LOAD_LINE,
    calibrated,
    printed_result,
    prometheus,
    serve_result,
    sglang_line,
    v0_line,
    v1_line,
    written,
)

DRAFTS, COUNTS = 7502, (5897, 4306, 2775)
LENGTH = 1 + sum(COUNTS) / DRAFTS
SURVIVAL = [count / DRAFTS for count in COUNTS]

REQUEST = {
    "num_spec_steps": 3, "num_accepted_draft_tokens": 5, "num_draft_tokens": 9,
    "num_spec_tokens": 3, "acceptance_histogram": [1, 0, 1, 1],
}  # fmt: skip
SGLANG_REQUEST = {
    "spec_verify_ct": 3, "spec_num_correct_drafts": 5, "spec_num_proposed_drafts": 9,
    "spec_correct_drafts_histogram": [1, 0, 1, 1],
}  # fmt: skip
AIPERF = {
    "total_spec_decode_steps": {"unit": "count", "avg": 7502.0},
    "total_accepted_draft_tokens": {"unit": "tokens", "avg": 12978.0},
    "total_draft_tokens": {"unit": "tokens", "avg": 22506.0},
    "pooled_spec_decode_acceptance_histogram": {"0": 1605, "1": 1591, "2": 1531, "3": 2775},
}


@pytest.mark.parametrize(
    "content",
    [
        prometheus((DRAFTS, COUNTS)),
        serve_result(DRAFTS, COUNTS),
        AIPERF,
        json.dumps(serve_result(DRAFTS, COUNTS)) + "\n" + json.dumps(serve_result(0, ())),
    ],
)
def test_counters_in_every_form(tmp_path: Path, content: object) -> None:
    section = calibrated(written(tmp_path, "f", content))
    (group,) = section.groups
    assert (group.draft_tokens, group.drafts) == (3, DRAFTS)
    assert group.acceptance_length.value == pytest.approx(LENGTH, rel=1e-9)
    assert section.survival == pytest.approx(SURVIVAL, rel=1e-9)
    assert section.form == "positions"


def test_printed_counts_beat_rounded_shares(tmp_path: Path) -> None:
    fields = {"Drafts": 7502, "Draft tokens": 22506, "Accepted tokens": 12978,
              "Maximum request concurrency": 8, "Acceptance length": 2.7}  # fmt: skip
    section = calibrated(written(tmp_path, "f.txt", printed_result(fields, SURVIVAL)))
    assert section.groups[0].acceptance_length.value == pytest.approx(LENGTH, rel=1e-9)
    assert section.survival == pytest.approx(SURVIVAL, abs=1e-4)


# ---- Prometheus --------------------------------------------------------------------------------


def test_c10_engines_are_summed_and_created_is_no_counter(tmp_path: Path) -> None:
    engines = (1000, (800, 450, 250)), (3000, (2700, 2300, 1900))
    section = calibrated(written(tmp_path, "m.prom", prometheus(*engines)))
    assert section.groups[0].drafts == 4000
    assert section.groups[0].acceptance_length.value == 3.1
    assert section.survival == (0.875, 0.6875, 0.5375)
    assert any("since the server started" in warning for warning in section.warnings)


@pytest.mark.parametrize("swapped", [False, True])
def test_two_scrapes_give_their_difference(tmp_path: Path, swapped: bool) -> None:
    before = written(tmp_path, "a.prom", prometheus((1000, (100, 50, 10))))
    after = written(tmp_path, "b.prom", prometheus((3000, (1700, 1250, 810))))
    section = calibrated(*((after, before) if swapped else (before, after)))
    assert section.groups[0].drafts == 2000
    assert section.survival == (0.8, 0.6, 0.4)
    assert not section.warnings


def test_a_restarted_server_is_another_one(tmp_path: Path) -> None:
    first = written(tmp_path, "a.prom", prometheus((1000, (800, 600, 400))))
    second = written(tmp_path, "b.prom", prometheus((500, (400, 300, 200)), created=1.8e9))
    assert calibrated(first, second).groups[0].drafts == 1500


def test_scrapes_that_contradict_each_other(tmp_path: Path) -> None:
    first = written(tmp_path, "a.prom", prometheus((1000, (800, 600, 400))))
    second = written(tmp_path, "b.prom", prometheus((1500, (700, 650, 450))))
    with pytest.raises(DataError, match="some counters rise and some fall"):
        calibrated(first, second)
    mixed = prometheus((10, (5,))) + prometheus((10, (5,)), model="other")
    with pytest.raises(DataError, match="several models: m, other"):
        calibrated(written(tmp_path, "c.prom", mixed))


def test_sglang_gauges_include_the_bonus(tmp_path: Path) -> None:
    labels = 'engine_type="unified",tp_rank="{}"'
    text = "".join(
        f"sglang:spec_accept_length{{{labels.format(rank)}}} 2.73\n"
        f"sglang:spec_num_steps{{{labels.format(rank)}}} 3.0\n"
        for rank in range(4)
    )
    section = calibrated(written(tmp_path, "s.prom", text))
    assert section.groups[0].acceptance_length.value == pytest.approx(2.73)
    assert section.groups[0].draft_tokens == 3
    off = text.replace("2.73", "0.0")
    with pytest.raises(CalibrationError, match="speculative decoding was off"):
        calibrated(written(tmp_path, "off.prom", off))


# ---- logs --------------------------------------------------------------------------------------


def test_vllm_lines_of_all_versions(tmp_path: Path) -> None:
    counts = (786, 574, 370)
    lines = [
        v0_line(4, 53716, 32594, 34244),
        v1_line(1000, counts, bonus=False, throughput=False),  # 0.8.5: mean without the bonus
        v1_line(1000, counts, throughput=False),
        LOAD_LINE,
        v1_line(3333, (2620, 1913, 1234)),
        EMPTY_LINE,
    ]
    section = calibrated(written(tmp_path, "vllm.log", "\n".join(lines)))
    three, four = section.groups
    assert (three.draft_tokens, three.drafts) == (3, 5333)
    assert three.acceptance_length.value == pytest.approx(1 + 9227 / 5333, rel=1e-9)
    assert (four.draft_tokens, four.drafts) == (4, 13429)
    assert four.acceptance_length.value == pytest.approx(34244 / 13429, rel=1e-9)
    assert any("4 intervals used, 1 empty" in note for note in section.notes)
    assert any("without the bonus token" in warning for warning in section.warnings)


def test_c01_ten_lines_in_five_shapes(tmp_path: Path) -> None:
    """Case C01: counts chosen so that each line has its published length."""
    shapes: list[tuple[int, tuple[int, ...], dict[str, Any]]] = [
        (129, (75, 48, 27), {}),
        (496, (330, 235, 160), {"throughput": False}),
        (208, (180, 158, 136), {"prefix": "(APIServer pid=81)"}),
        (187, (158, 139, 121), {"prefix": "(APIServer pid=97)"}),
        (44, (44, 42, 40, 38, 34, 30, 28), {}),
        (7, (5, 4, 3, 1, 1), {"depth": 5}),
        (23, (15, 10, 8, 5, 3, 2, 1), {"depth": 7}),
        (55, (40, 25, 16, 10, 7, 5, 3), {"depth": 7, "throughput": False}),
    ]
    lines = [v1_line(drafts, counts, **how) for drafts, counts, how in shapes]
    text = "\n".join([*lines[:4], LOAD_LINE, *lines[4:], LOAD_LINE])
    section = calibrated(written(tmp_path, "c01.log", text))
    assert [group.draft_tokens for group in section.groups] == [3, 5, 7]
    lengths = [1 + sum(counts) / drafts for drafts, counts, _ in shapes]
    expected = [2.163, 2.462, 3.279, 3.235, 6.818, 3.0, 2.913, 2.927]
    assert lengths == pytest.approx(expected, abs=6e-3)
    assert [group.drafts for group in section.groups] == [1020, 7, 122]
    # The two API servers of one deployment, pooled by drafts.
    two = calibrated(written(tmp_path, "two.log", "\n".join(lines[2:4])))
    assert two.groups[0].acceptance_length.value == pytest.approx(3.258, abs=1e-3)
    assert any("8 intervals used, 0 empty" in note for note in section.notes)
    assert len(section.survival) == 3  # that of K = 3 alone, not one curve over mixed K
    assert section.survival == pytest.approx([743 / 1020, 580 / 1020, 444 / 1020], abs=1e-3)


def test_c02_llama_cpp_draft_length_varies(tmp_path: Path) -> None:
    line = (
        "0.06.896.009 I slot print_timing: id  1 | task 0 | draft acceptance = 0.64479 (  167 "
        "accepted /   259 generated), mean acceptance length =  2.92, acceptance rate per position "
        "= (0.805, 0.632, 0.483)"
    )
    section = calibrated(written(tmp_path, "llama.log", line))
    assert section.groups[0].drafts == 87
    assert section.groups[0].draft_tokens == 3
    assert section.groups[0].acceptance_length.value == pytest.approx(1 + 167 / 87)
    assert any("259 tokens in 87 drafts" in warning for warning in section.warnings)


def test_sglang_lines_of_all_versions(tmp_path: Path) -> None:
    lines = [
        sglang_line(8, 2.73, form="Decode batch."),
        sglang_line(8, 2.70, rate=0.68),
        sglang_line(16, 2.73, rate=0.58),
        sglang_line(8, None),
    ]
    path = written(tmp_path, "sglang.log", "\n".join(lines))
    with pytest.raises(CalibrationError, match=r"acceptance length 2\.7225, .* --draft-tokens"):
        calibrated(path)
    section = calibrated(path, draft_tokens=3)
    assert section.groups[0].acceptance_length.value == pytest.approx(2.7225)
    assert section.form == "decay"
    assert set(section.defaults) == {"ratio"}


def test_cut_off_lines(tmp_path: Path) -> None:
    line = v1_line(1000, (786, 574, 370))
    with pytest.raises(DataError, match=r"line 1: .*cut off"):
        calibrated(written(tmp_path, "v.log", line[:150]))
    with pytest.raises(DataError, match="Speculative metrics: without"):
        calibrated(written(tmp_path, "w.log", v0_line(4, 4, 2, 3)[:120]))


# ---- benchmarks and responses ------------------------------------------------------------------


def test_sweep_rows_of_one_draft_length_merge(tmp_path: Path) -> None:
    runs = [serve_result(100, (80, 60)), serve_result(0, ()), serve_result(300, (210, 120))]
    names = list(dict.fromkeys(name for run in runs for name in run))
    rows = [",".join(names)]
    for run in runs:
        cells = [str(run.get(name, "")) for name in names]
        rows.append(",".join(f'"{cell}"' if "," in cell else cell for cell in cells))
    folder = tmp_path / "sweep"
    folder.mkdir()
    written(folder, "summary.csv", "\n".join(rows))
    for path in (folder, folder / "summary.csv"):
        section = calibrated(path)
        assert section.groups[0].drafts == 400
        assert section.survival == pytest.approx([290 / 400, 180 / 400])


def test_random_prompts_are_no_service(tmp_path: Path) -> None:
    """Case A17: 11.96 % accepted at K = 4 on random tokens, AL = 1 + 4 x rate."""
    run = serve_result(10000, (3000, 1200, 450, 134), dataset_name="random")
    section = calibrated(written(tmp_path, "r.json", run))
    assert section.groups[0].acceptance_length.value == pytest.approx(1.478, abs=1e-3)
    assert any("dataset is random" in warning for warning in section.warnings)


def test_speculation_off_is_said(tmp_path: Path) -> None:
    with pytest.raises(CalibrationError, match="no spec_decode counters"):
        calibrated(written(tmp_path, "n.json", serve_result(0, ())))


def test_sglang_benchmarks_state_a_length(tmp_path: Path) -> None:
    run = {
        "accept_length": 4.84, "request_rate": float("inf"), "completed": 80,
        "server_info": {"speculative_num_steps": 7, "speculative_eagle_topk": 4},
    }  # fmt: skip
    section = calibrated(written(tmp_path, "b.jsonl", json.dumps(run) + "\n" + json.dumps(run)))
    assert section.groups[0].draft_tokens == 7
    assert section.groups[0].acceptance_length.value == pytest.approx(4.84)
    assert any("tree" in warning for warning in section.warnings)
    info = {"internal_states": [{"avg_spec_accept_length": 2.73}]}
    section = calibrated(written(tmp_path, "i.json", info), draft_tokens=3)
    assert section.groups[0].acceptance_length.value == pytest.approx(2.73)


def test_trtllm_states_length_and_share(tmp_path: Path) -> None:
    stats = {
        "acceptance_length_percentiles": {"average": 2.5},
        "draft_acceptance_rate_percentiles": {"average": 0.5},
    }
    section = calibrated(written(tmp_path, "t.json", {"decoding_stats": stats}))
    assert section.groups[0].draft_tokens == 3


@pytest.mark.parametrize(
    "request_json",
    [{"metrics": {"speculative_decoding": REQUEST}}, {"meta_info": SGLANG_REQUEST}],
)
def test_histogram_of_a_request_is_no_survival(tmp_path: Path, request_json: object) -> None:
    section = calibrated(written(tmp_path, "r.json", request_json))
    assert section.survival == pytest.approx([2 / 3, 2 / 3, 1 / 3])
    assert section.groups[0].acceptance_length.value == pytest.approx(8 / 3)
    assert any("errors are large" in warning for warning in section.warnings)
    many = "\n".join([json.dumps(request_json)] * 5)
    assert calibrated(written(tmp_path, "r.jsonl", many)).groups[0].drafts == 15


def test_c05_three_runs_in_one_paste(tmp_path: Path) -> None:
    """Case C05: K = 8 follows from rate and length; the run without SD has neither."""
    runs: list[dict[str, float]] = [
        {"Mean TPOT (ms)": 4.0, "Acceptance rate (%)": 31.16, "Acceptance length": 3.49},
        {"Mean TPOT (ms)": 6.0, "Acceptance rate (%)": 53.5, "Acceptance length": 2.07},
        {"Mean TPOT (ms)": 9.0, "Peak output token throughput (tok/s)": 122.0},
    ]
    tables = [printed_result(run) for run in runs]
    section = calibrated(written(tmp_path, "c05.txt", "\n".join(tables)))
    found = {group.draft_tokens: group.acceptance_length.value for group in section.groups}
    assert found == {2: pytest.approx(2.07), 8: pytest.approx(3.49)}


def test_c06_counters_beat_medians(tmp_path: Path) -> None:
    """Case C06: MTP 1 and 8, whose medians would give 0.60 and 5.81."""
    paths = []
    for name, drafts, drafted, accepted in (
        ("one", 246348, 246348, 205916),
        ("eight", 104880, 839040, 356839),
    ):
        counts = {"num_drafts": drafts, "draft_tokens": drafted, "accepted_tokens": accepted}
        run = serve_result(0, ()) | {f"spec_decode_{key}": value for key, value in counts.items()}
        medians = {"median_itl_ms": 22.4, "median_tpot_ms": 37.2}
        paths.append(written(tmp_path, f"{name}.json", run | medians))
    lengths = [g.acceptance_length.value for g in calibrated(*paths).groups]
    assert lengths == pytest.approx([1.836, 4.402], abs=5e-4)


# ---- misplaced and broken ----------------------------------------------------------------------


def test_the_same_run_in_two_files_counts_once(tmp_path: Path) -> None:
    paths = [
        written(tmp_path, "m.prom", prometheus((DRAFTS, COUNTS))),
        written(tmp_path, "b.json", serve_result(DRAFTS, COUNTS)),
        written(tmp_path, "a.json", AIPERF),
    ]
    section = calibrated(*paths)
    assert section.samples == DRAFTS
    assert sum("the same run, counted once" in warning for warning in section.warnings) == 2


def test_forced_acceptance_is_no_measurement(tmp_path: Path) -> None:
    config = {"method": "mtp", "num_speculative_tokens": 3}
    with pytest.raises(DataError, match="says what to run"):
        calibrated(written(tmp_path, "c.json", config))
    config |= {"synthetic_acceptance_rates": [0.786, 0.574, 0.37]}
    with pytest.raises(DataError, match="synthetic"):
        calibrated(written(tmp_path, "s.json", config))


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (serve_result(10, (9, 8)) | {"spec_decode_accepted_tokens": 50}, 4),
        (serve_result(10, (9, 8)) | {"spec_decode_num_drafts": "many"}, 4),
        (serve_result(10, (9, 8)) | {"spec_decode_num_drafts": float("nan")}, 4),
        (serve_result(10, (9, 8)) | {"spec_decode_per_position_acceptance_rates": [1.4]}, 4),
        ("", 4),
        ("nothing that is known\n", 4),
        (EMPTY_LINE, 5),
        ("K,AL\n2,4.5\n", 4),
        ("K,AL,model\n2,2.5,a\n2,2.6,b\n", 4),
        ("{2: [0.8, 0.6, 0.4]}\n", 4),
    ],
)
def test_one_message_and_a_status(tmp_path: Path, content: object, status: int) -> None:
    with pytest.raises(CodesignError) as caught:
        calibrated(written(tmp_path, "f", content))
    assert caught.value.exit_status == status
