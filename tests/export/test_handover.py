"""From a result on disk to what is handed back, and the way back."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codesign.architectures import load_architecture
from codesign.architectures.counting import count_parameters
from codesign.designs import Designs
from codesign.draft_model import make_drafting
from codesign.errors import DataError, UsageError
from codesign.export import Handover, Served, load_served
from codesign.export.huggingface import config_of
from codesign.prediction import predict
from codesign.report.export_files import write_handover
from codesign.report.export_text import render_handover
from codesign.report.files import write_result
from codesign.report.formats import to_json
from codesign.spec.study import Study
from codesign.study import optimize
from tests.export.serving import served

STUDY: dict[str, Any] = {
    "hardware": "h100",
    "workload": {"target_batch_size": 32, "context": 1024},
    "deployment": {"gpus": 1},
    "space": {"experts": [112, 128], "top_k": 8, "shared_experts": 0, "draft_tokens": [0, 3, 5]},
    "uncertainty": {"draws": 0},
    "search": {"engine": "exact"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What `optimize --out` wrote."""
    write_result(optimize(Study.from_data(STUDY)), tmp_path / "answer")
    return tmp_path / "answer"


def test_a_result_is_served_with_its_best_design(folder: Path) -> None:
    best = json.loads((folder / "result.json").read_text())["best"]["design"]
    for given in (folder, folder / "result.json"):
        model = load_served(str(given))
        assert model.architecture.moe is not None
        assert model.architecture.moe.experts == best["experts"]
        assert model.draft_tokens == best["draft_tokens"]
    assert set(Handover(model).lengths.draft_tokens) <= {0, 3, 5}


def test_what_cannot_be_served_says_so() -> None:
    model = served("deepseek-v3")
    for export in Handover(model).engines.values():
        assert export.shell.startswith("# DOES NOT FIT at batch size 32: up to ")
    uneven = served(deployment={"gpus": 3})
    assert "32 attention heads over tp 3" in Handover(uneven).engines["vllm"].shell
    assert "DOES NOT" not in Handover(served(deployment={"gpus": 2})).engines["vllm"].shell


def test_the_range_of_speedups_is_from_the_lowest_to_the_highest(folder: Path) -> None:
    handover = Handover(load_served(str(folder)))
    lengths, text = handover.lengths, render_handover(handover, "vllm", "text")
    for first, last, drafted in lengths.schedule.ranges:
        own = [float(s) for b, s in zip(lengths.batch_sizes, lengths.speedups, strict=True)
               if first <= b <= last]  # fmt: skip
        [line] = [row for row in text.splitlines() if row.split()[1:2] == [f"{first}-{last}"]]
        assert line.split()[2:] == [str(drafted), f"{min(own):.2f}", "to", f"{max(own):.2f}"]


def test_further_axes_of_the_best_design_are_served(tmp_path: Path) -> None:
    space = {**STUDY["space"], "drafts": ["eagle", "mtp"], "expert_parallel": [1, 2]}
    study = Study.from_data(STUDY | {"space": space, "deployment": {"gpus": 2}})
    result = optimize(study)
    write_result(result, tmp_path)
    model = load_served(str(tmp_path))
    best = result.best["design"]
    assert model.study.draft.kind == best["draft"]
    assert model.scenario.replica.expert_parallel == best["expert_parallel"]
    own = predict(model.designs, model.scenario).value("sd_speedup").max()
    assert float(own) == pytest.approx(result.best["prediction"]["sd_speedup"])


def test_a_study_is_served_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("hardware: h100\nworkload: {target_batch_size: 2}\n"
                                        "uncertainty: {draws: 0}\n")  # fmt: skip
    assert load_served(str(tmp_path / "mine.yaml")).as_published


def test_files_for_every_target(folder: Path, tmp_path: Path) -> None:
    handover = Handover(load_served(str(folder)))
    write_handover(handover, None, tmp_path / "out")
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"vllm.sh", "sglang.sh", "config.json", "draft-tokens.csv"} <= written
    write_handover(handover, "vllm", tmp_path / "one")
    assert {path.name for path in (tmp_path / "one").iterdir()} == {"vllm.sh", "draft-tokens.csv"}


def test_json_has_stable_keys(folder: Path) -> None:
    data = json.loads(render_handover(Handover(load_served(str(folder))), None, "json"))
    assert set(data) == {"schedule", "batch_sizes", "engines", "huggingface"}
    assert set(data["engines"]) == {"vllm", "sglang"}
    assert data["batch_sizes"][0].keys() == {"batch_size", "draft_tokens", "sd_speedup"}


def test_a_family_that_cannot_express_the_design_says_so_where_it_matters() -> None:
    """Qwen3-MoE has no shared experts: the flags are still given, the config.json is refused."""
    handover = Handover(served(set={"shared_experts": 2}))
    assert "shared experts" in " ".join(handover.config_remarks)
    assert "vllm serve" in render_handover(handover, None, "text")
    with pytest.raises(UsageError, match="cannot express"):
        render_handover(handover, "huggingface", "text")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a result"),
        ('{"schema": "codesign.result/2"}', "not a result"),
        ('{"schema": "codesign.result/1"}', "cut short or changed by hand"),
        ('{"schema": "codesign.result/1", "study": {"hardware": 1}}', "study.hardware"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_another_file_is_refused_with_the_reason(
    tmp_path: Path, content: str, message: str
) -> None:
    (tmp_path / "result.json").write_text(content)
    with pytest.raises(DataError, match=message):
        load_served(str(tmp_path))


@pytest.mark.parametrize("given", ["no/such/folder", "nothing.json", "no-such-study"])
def test_what_is_not_there_is_said(given: str) -> None:
    with pytest.raises(UsageError, match=r"no such|cannot be read"):
        load_served(given)


FAMILIES = {
    "qwen3-30b-a3b": (96, 6, 0, 1024),
    "mixtral-8x7b": (16, 3, 0, 8192),
    "deepseek-v3": (192, 6, 2, 2304),
    "gpt-oss-20b": (48, 6, 0, 1920),
    "qwen2-57b-a14b": (48, 6, 1, 3072),
    "glm-4.5-air": (96, 6, 1, 1792),
}


@pytest.mark.parametrize("reference", FAMILIES)
def test_an_exported_design_read_back_counts_and_predicts_the_same(
    reference: str, tmp_path: Path
) -> None:
    experts, top_k, shared, width = FAMILIES[reference]
    design = {
        "experts": experts, "top_k": top_k, "shared_experts": shared, "expert_width": width,
        "draft_tokens": 3,
    }  # fmt: skip
    fields = {"reference": reference, "constraints": {}, "deployment": {"gpus": 8}}
    model = Served.of(Study.from_data(STUDY | fields), design)
    config, remarks = config_of(model)
    assert remarks, "a bundled reference leaves fields without influence on size open"
    path = tmp_path / "config.json"
    path.write_text(to_json(config))
    again = load_architecture(path)
    assert count_parameters(again) == count_parameters(model.architecture)
    assert figures(model, again) == figures(model, model.architecture)


def figures(model: Served, architecture: Any) -> list[float]:
    """Times, memory and speedup of an architecture in the scenario of the design's study."""
    scenario = replace(
        model.scenario,
        reference=architecture,
        drafting=make_drafting(model.study.draft, architecture, None),
    )
    prediction = predict(Designs.of_architecture(architecture, 3), scenario)
    names = ("sd_speedup", "step_time_verify_s", "memory_bytes_per_gpu", "total_params")
    return [float(np.reshape(prediction.value(name), -1)[0]) for name in names]


def test_over_a_config_of_ones_own_only_the_experts_change(tmp_path: Path) -> None:
    own, _ = config_of(served(set={"experts": 64}))
    own |= {"rope_theta": 123456.0, "my_field": "kept"}
    (tmp_path / "config.json").write_text(to_json(own))
    changed = served(str(tmp_path), set={"top_k": 4})
    config, remarks = config_of(changed)
    assert remarks == ()
    assert config == own | {"num_experts_per_tok": 4}
