"""What the fuzzer found, each as the smallest input that showed it."""

import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codesign.calibration.acceptance import calibrate_acceptance
from codesign.calibration.file import save_section
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.profile import calibrate_profile
from codesign.calibration.quality import read_ablations
from codesign.calibration.routing import calibrate_routing
from codesign.errors import CalibrationError, CodesignError, DataError, UsageError
from codesign.model.routing import GENERIC_ROUTER
from codesign.report.history import read_history
from codesign.resolve import build_scenario
from codesign.spec.calibration import Calibration
from codesign.spec.study import Study
from tests.calibration.latency_files import vllm_serve
from tests.calibration.profile_files import event, trace
from tests.calibration.routing_files import ids, npy_bytes
from tests.calibration.test_quality_fit import synthetic
from tests.cli.command_line import run
from tests.hostile.samples import calibrations, results, trials

HUGE = 10**400
"""A whole number that no float holds; JSON and YAML have no limit."""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refused(fit: object, content: object, kind: type[CodesignError] = DataError) -> str:
    """What a calibration says of a file."""
    text = content if isinstance(content, str) else json.dumps(content)
    Path("file").write_text(text)
    with pytest.raises(kind) as caught:
        fit([Path("file")], CalibrationOptions(layers=1, top_k=4))  # type: ignore[operator]
    return str(caught.value)


def test_a_trace_of_one_sequence_can_be_predicted_with() -> None:
    """Its context was measured, its popularity assumed: together they were no router."""
    few = ids(60, dense=0)
    few[1::2] = few[::2]  # neighbours choose alike
    Path("t.npy").write_bytes(npy_bytes(few))
    known = CalibrationOptions(experts=16, top_k=4, replicates=3)
    section = calibrate_routing([Path("t.npy")], known)
    assert "popularity" in section.defaults
    save_section(Path("c.yaml"), "routing", section)
    study = {"hardware": "h100", "workload": {"target_batch_size": 8}, "calibration": "c.yaml"}
    router = build_scenario(Study.from_data(study)).router
    total = router.popularity + router.request + np.asarray(router.recency) / router.decay
    assert float(total) <= 1 + 1e-9


def test_a_table_of_popular_experts_leaves_room_for_the_rest() -> None:
    """r_p alone was measured, and high: the generic context on top of it was no router."""
    text = "experts: 16\ntop_k: 4\nunique_by_batch: {2: 4.6, 4: 5.0, 8: 5.4, 16: 5.9}\n"
    Path("t.yaml").write_text(text)
    section = calibrate_routing([Path("t.yaml")], CalibrationOptions())
    assert section.parameters["popularity"].value > GENERIC_ROUTER.popularity


@pytest.mark.parametrize(
    ("section", "name", "changes"),
    [
        ("routing", "popularity", {"value": -1.0}), ("routing", "decay", {"value": 1e308}),
        ("routing", "popularity", {"value": 0.99}), ("latency", "host_time", {"unit": "parsec"}),
        ("latency", "host_time", {"value": -5.0}),
    ],
)  # fmt: skip
def test_a_calibration_holds_what_can_be(
    section: str, name: str, changes: dict[str, object]
) -> None:
    data = json.loads(json.dumps(calibrations()[0]))
    parameters = data[section]["parameters"]
    parameters |= (
        {"popularity": {"value": 0.3}, "request": {"value": 0.2}} if section == "routing" else {}
    )
    parameters[name] = {"value": 1.0, "unit": "ms"} | parameters.get(name, {}) | changes
    Path("c.yaml").write_text(json.dumps(data))
    done = run("predict", "--hw", "h100", "--target-bs", "8", "--calibration", "c.yaml")
    assert done.status == 2
    assert done.err.startswith("error: c.yaml:1:")
    assert "parameters" in done.err


def test_a_rising_survival_is_none() -> None:
    data = dict(calibrations()[0]["acceptance"]) | {"survival": [0.2, 0.6]}
    with pytest.raises(ValueError, match="survival per position cannot rise"):
        Calibration.from_data({"acceptance": data})


@pytest.mark.parametrize("histogram", [{}, {"0": HUGE}, {"99999999999": 1}, {"-1": 1}, [HUGE]])
def test_histograms(histogram: object) -> None:
    average = {"avg": 6.0}
    item = {
        "total_spec_decode_steps": average, "total_accepted_draft_tokens": average,
        "total_draft_tokens": {"avg": 18.0}, "pooled_spec_decode_acceptance_histogram": histogram,
    }  # fmt: skip
    Path("a.json").write_text(json.dumps(item))
    try:
        calibrate_acceptance([Path("a.json")], CalibrationOptions(replicates=3))
    except CodesignError as error:
        assert "a.json" in str(error)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("K,AL\n2.7,1.8\n", "K must be a whole number, not 2.7"),
        ({"accept_length": 2.7, "server_info": {"speculative_num_steps": 2.5}, "completed": 5},
         "must be a whole number, not 2.5"),
    ],
)  # fmt: skip
def test_counts_are_whole(content: object, message: str) -> None:
    assert message in refused(calibrate_acceptance, content)


def test_no_draft_is_no_acceptance() -> None:
    item = {"accept_length": 2.7, "server_info": {"speculative_num_steps": 0}, "completed": 5}
    Path("s.json").write_text(json.dumps(item))
    try:
        section = calibrate_acceptance([Path("s.json")], CalibrationOptions(replicates=3))
        assert all(group.draft_tokens != 0 for group in section.groups)
    except CalibrationError as error:
        assert "speculative decoding was off" in str(error) or "--draft-tokens" in str(error)


def test_more_experts_per_token_than_experts() -> None:
    assert "top-4 of 3 experts cannot be" in refused(calibrate_routing, "[[0, 1, 2]]")


def test_a_trace_whose_kernels_take_no_time() -> None:
    events = trace([event("fused_moe_kernel", 0.0, 0.0), event("nvjet", 1.0, 0.0)])
    assert "no routed expert product" in refused(calibrate_profile, events, CalibrationError)


def test_a_trace_with_a_number_of_thousands_of_digits() -> None:
    text = json.dumps(trace([event("k", 0.0, 1.0)])).replace("1.0", "9" * 5000)
    assert "cut off or broken" in refused(calibrate_profile, text)


@pytest.mark.parametrize("number", ["9" * 400, "9" * 5000, "1\x1e0", "1e999", "0x10", "nan"])
def test_numbers_of_a_table_of_ablations(number: str) -> None:
    text = synthetic(2).to_csv(index=False).replace("512", number, 1)
    Path("q.csv").write_text(text)
    with pytest.raises(DataError, match="must be"):
        read_ablations(Path("q.csv"))


def test_an_option_that_is_no_number() -> None:
    study = {
        "hardware": "h100", "workload": {"target_batch_size": 8},
        "constraints": {"quality": {"epsilon": "0x"}},
    }  # fmt: skip
    Path("s.yaml").write_text(json.dumps(study))
    done = run("optimize", "--study", "s.yaml", "--dry-run")
    assert done.status == 2
    assert "epsilon must be a finite number, not '0x'" in done.err


def test_a_model_without_attention() -> None:
    Path("a.yaml").write_text(
        "name: x\nfamily: x\nsource: x\nhidden_size: 8\nlayers: 1\nvocab_size: 8\nattention: []\n"
        "dense: [{layers: 1, width: 8}]\n"
    )
    with pytest.raises(UsageError, match=r"a\.yaml:7:12: attention"):
        build_scenario(
            Study.from_data(
                {"hardware": "h100", "workload": {"target_batch_size": 8}, "reference": "a.yaml"}
            )
        )


def test_a_serving_result_with_a_number_that_no_float_holds() -> None:
    Path("s.json").write_text(json.dumps(vllm_serve(counters=(10, 30, 20)) | {"duration": HUGE}))
    done = run("calibrate", "acceptance", "s.json")
    assert done.status in (0, 4)
    assert "Traceback" not in done.err


def test_a_journal_of_trials_without_values() -> None:
    text = trials()[0].decode()
    broken, times = re.subn(r'"values?": ?(\[[-\d.e]+\]|[-\d.e]+)(?=[,}])', '"values":null', text)
    assert times
    Path("j").write_text(broken)
    history = read_history(Path("j"), {"study": {"name": "codesign"}})
    assert history is None or all(value is not None for value in history.values)


V1 = (
    "INFO 11-29 15:00:00 [metrics.py:120] SpecDecoding metrics: Mean acceptance length: 2.40, "
    "Accepted: 140 tokens, Drafted: 300 tokens, Per-position acceptance rate: {rates}, Avg Draft "
    "acceptance rate: 46.7%\n"
)
V0 = (
    "INFO 04-28 10:00:00 [metrics.py:487] Speculative metrics: Draft acceptance rate: 0.607, "
    "System efficiency: 0.510, Number of speculative tokens: 6, Number of accepted tokens: 200, "
    "Number of draft tokens: 400, Number of emitted tokens: {emitted}.\n"
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (V1.format(rates="0300.5, 0.8, 0.5"), "position 1 must lie between 0 and 1, not 300.5"),
        (V0.format(emitted="9" * 300), "tokens per cycle cannot be"),
    ],
)
def test_what_no_draft_can_be_accepted_at(content: str, message: str) -> None:
    assert message in refused(calibrate_acceptance, content)


def test_counts_that_no_float_holds() -> None:
    counts = {"logical_count": [[[HUGE, 1], [1, 1]]], "rank": 0}
    assert "counts are numbers" in refused(calibrate_routing, counts)


def test_an_array_header_of_python_2_is_read() -> None:
    plain = npy_bytes(ids(60, dense=0))
    shape = plain[10 : plain.index(b"\n")]
    old = re.sub(rb"\((\d+), (\d+), (\d+)\)", rb"(\1L, \2L, \3)", shape).rstrip()
    Path("t.npy").write_bytes(plain[:10] + old.ljust(len(shape)) + plain[plain.index(b"\n") :])
    known = CalibrationOptions(experts=16, top_k=4, replicates=3)
    assert calibrate_routing([Path("t.npy")], known).samples > 0


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("study", "search", "seed"), [0]),
        (("study", "uncertainty"), {}),
        (("study", "objectives", 0, "statistic"), "q5"),
        (("study", "objectives"), [{"name": "sd_speedup"}, {"name": "cost"}, {"name": "memory"}]),
    ],
)
def test_what_a_report_says_of_the_study_is_checked_first(
    place: tuple[str | int, ...], value: object
) -> None:
    result = deepcopy(results()[0])
    part: Any = result
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    Path("result.json").write_text(json.dumps(result))
    done = run("report", "result.json", "--format", "md", "--out", "r")
    assert (done.status, "cut short or changed by hand" in done.err) == (4, True), done.err


@pytest.mark.parametrize("name", ["popularity", "acceptance_rate", "acceptance_decay"])
@pytest.mark.parametrize("limits", [(-1e20, 0.2), (-1e308, 0.2), (0.1, 1.5), (-0.1, 0.2)])
def test_a_prior_of_a_probability_is_one(name: str, limits: tuple[float, float]) -> None:
    """Draws far outside ended in an overflow, or in a router that is none."""
    prior = dict(zip(("low", "high"), limits, strict=True))
    data = {
        "hardware": "h100", "workload": {"target_batch_size": 8}, "uncertainty": {name: prior},
    }  # fmt: skip
    Path("study.yaml").write_text(json.dumps(data))
    done = run("optimize", "--study", "study.yaml", "--dry-run")
    assert done.status == 2
    assert f"uncertainty.{name}.{'high' if limits[1] > 1 else 'low'}" in done.err


@pytest.mark.parametrize(
    ("axis", "value", "rule"),
    [
        ("expert_width", 0, "greater than or equal to 1"),
        ("experts", 0, "greater than or equal to 1"),
        ("top_k", 1000, "top_k exceeds experts"),
        ("shared_experts", -1, "greater than or equal to 0"),
    ],
)
def test_a_result_has_designs_that_can_be(axis: str, value: int, rule: str) -> None:
    result = deepcopy(results()[0])
    result["best"]["design"][axis] = value
    Path("result.json").write_text(json.dumps(result))
    done = run("report", "result.json", "--format", "md", "--out", "r")
    assert (done.status, rule in done.err) == (4, True), done.err


@pytest.mark.parametrize("endless", [("value", "slack"), ("limit", "slack")])
def test_a_constraint_may_be_infinitely_far(endless: tuple[str, str]) -> None:
    """A figure may be infinite, such as the batch size up to which SD pays; JSON has no such."""
    result = deepcopy(results()[0])
    standing = next(iter(result["best"]["constraints"].values()))
    standing |= dict.fromkeys(endless)
    Path("result.json").write_text(json.dumps(result))
    done = run("report", "result.json", "--format", "md", "--out", "r")
    assert done.status == 0, done.err
