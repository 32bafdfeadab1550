"""What a notebook uses: `codesign.optimize` and its result."""

import subprocess
import sys
from pathlib import Path

import pytest

import codesign
from codesign.errors import UsageError
from tests.questions import make_study


def small() -> codesign.Study:
    return make_study(
        space={"experts": "64:128:16", "top_k": "6:8"}, constraints={"quality": False}
    )


def test_a_study_is_optimized_from_python() -> None:
    result = codesign.optimize(small())
    assert isinstance(result, codesign.Result)
    assert isinstance(result.certificate, codesign.Certificate)
    assert result.certificate.kind == "exact"
    assert result.front


def test_the_frame_has_a_row_for_every_design_shown() -> None:
    result = codesign.optimize(small())
    frame = result.to_frame()
    assert list(frame["role"][:3]) == ["best", "throughput_best", "reference"]
    assert len(frame) == 3 + len(result.front)
    assert frame["experts"][0] == result.best["design"]["experts"]
    assert frame["sd_speedup"][0] == result.best["objectives"]["sd_speedup"]
    assert (frame["slack_total_params"][3:] >= 0).all()


def test_a_notebook_shows_verdict_certificate_and_designs() -> None:
    html = codesign.optimize(small())._repr_html_()
    assert "<table" in html
    assert "certificate: exact" in html


def test_workers_are_an_argument() -> None:
    run = codesign.Run(workers=2)
    assert codesign.optimize(small(), run=run).to_dict() == codesign.optimize(small()).to_dict()


def test_studies_are_loaded_by_name_or_path(tmp_path: Path) -> None:
    assert codesign.load_study("default").hardware == "h100"
    path = tmp_path / "mine.yaml"
    path.write_text("hardware: h200\nworkload: {target_batch_size: 8}\n")
    assert codesign.load_study(path).hardware == "h200"
    with pytest.raises(UsageError, match="unknown study 'none'"):
        codesign.load_study("none")


def test_a_study_is_optimized_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "narrow.py").write_text(
        "from codesign.constraints import Constraint, at_most\n"
        "class Narrow(Constraint):\n    name, unit = 'narrow', 'element'\n"
        "    def assess(self, prediction, reference):\n"
        "        return at_most(prediction.value('expert_width'), 800.0)\n"
    )
    path = tmp_path / "mine.yaml"
    path.write_text(
        "hardware: h100\nworkload: {target_batch_size: 8}\nuncertainty: {draws: 0}\n"
        "space: {experts: '112,128', top_k: 8, shared_experts: 0, draft_tokens: '2:3'}\n"
        "constraints: {narrow.py: true}\n"
    )
    result = codesign.optimize(path)
    assert "narrow" in result.best["constraints"]
    assert repr(result) == f"<Result of 'codesign': {result.verdict['text']}>"


def test_a_gain_below_a_per_cent_is_said_to_be_about_as_good() -> None:
    study = make_study(
        space={"experts": [120, 128], "top_k": 8, "shared_experts": 0, "draft_tokens": 4},
        workload={"target_batch_size": 32}, uncertainty={"draws": 16}, deployment={"gpus": 1},
    )  # fmt: skip
    text = codesign.optimize(study).verdict["text"]
    assert text.endswith(" against the reference, about as good: less than 1% apart"), text


def test_importing_codesign_is_light() -> None:
    heavy = "numpy pandas scipy optuna pydantic"
    code = f"import codesign, sys; print([n for n in '{heavy}'.split() if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        codesign.nothing  # noqa: B018
    assert "optimize" in dir(codesign)
