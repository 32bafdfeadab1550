"""A calibration in a scenario: what it replaces, what stands, and that the answer says so."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codesign.calibration.file import save_section
from codesign.resolve import build_scenario
from codesign.spec.calibration import AcceptanceSection, RoutingSection
from codesign.spec.study import Study
from codesign.uncertainty.draws import draw_scenarios
from codesign.uncertainty.inputs import uncertain_inputs

COMMON: dict[str, Any] = {
    "date": "2026-01-01",
    "sources": [{"file": "trace.npz", "sha256": "0" * 64, "format": "npz"}],
    "samples": 1000,
    "samples_unit": "tokens",
}
ROUTER = {"popularity": 0.2, "request": 0.3, "recency": 0.1, "decay": 0.5, "skew": 0.1}


@pytest.fixture
def calibration(tmp_path: Path) -> str:
    path = tmp_path / "calibration.yaml"
    routing = COMMON | {
        "experts": 128, "top_k": 8,
        "parameters": {k: {"value": v, "standard_error": 0.01} for k, v in ROUTER.items()},
        "window_correlations": {"4": {"value": 0.57, "standard_error": 0.02}},
    }  # fmt: skip
    length = {"acceptance_length": {"value": 2.6, "standard_error": 0.05, "unit": "token"}}
    acceptance = COMMON | {
        "form": "positions", "survival": [0.8, 0.5, 0.3],
        "groups": [length | {"draft_tokens": 3, "drafts": 1000.0}],
    }  # fmt: skip
    save_section(path, "routing", RoutingSection.from_data(routing))
    save_section(path, "acceptance", AcceptanceSection.from_data(acceptance))
    return str(path)


def study(**fields: Any) -> Study:
    return Study.from_data({"hardware": "h100", "workload": {"target_batch_size": 8}} | fields)


def said(scenario: Any, topic: str) -> str:
    return " ".join(line for line in scenario.assumptions if line.startswith(f"{topic}:"))


def test_measured_values_replace_the_defaults(calibration: str) -> None:
    scenario = build_scenario(study(calibration=calibration))
    for name, value in ROUTER.items():
        assert float(getattr(scenario.router, name)) == value
    assert scenario.survival[:3] == pytest.approx([0.8, 0.5, 0.3])
    assert scenario.survival[3] == pytest.approx(0.3 * 0.6)
    assert "calibrated (trace.npz: 1,000 tokens, 2026-01-01)" in said(scenario, "routing")
    assert "calibrated (trace.npz" in said(scenario, "acceptance")
    assert said(scenario, "calibration") == (
        "calibration: routing, acceptance calibrated; documented defaults for latency"
    )


def test_without_a_calibration_the_answer_says_so() -> None:
    assert "none given" in said(build_scenario(study()), "calibration")


def test_what_a_study_states_stands(calibration: str) -> None:
    scenario = build_scenario(study(calibration=calibration, acceptance="constant:0.5"))
    assert scenario.survival[0] == 0.5
    assert "as given" in said(scenario, "acceptance")
    generic = build_scenario(study(calibration=calibration, routing="generic"))
    assert float(generic.router.popularity) == 0.292
    independent = build_scenario(study(calibration=calibration, routing="independent"))
    assert float(independent.router.popularity) == 0.2
    assert float(np.asarray(independent.router.request)) == 0.0


def test_partial_sections_name_their_defaults(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    data = COMMON | {
        "experts": 64, "top_k": 4, "parameters": {"popularity": {"value": 0.1}},
        "defaults": {"request": "no order", "recency": "no order", "decay": "no order"},
    }  # fmt: skip
    save_section(path, "routing", RoutingSection.from_data(data))
    scenario = build_scenario(study(calibration=str(path)))
    assert "at their defaults: request, recency, decay" in said(scenario, "routing")
    assert "measured at 64 experts, top-4" in said(scenario, "routing")
    assert "documented defaults for acceptance, latency" in said(scenario, "calibration")


def drawn_acceptance(tmp_path: Path, **fields: Any) -> dict[str, tuple[float, float]]:
    """Mean and spread of what is drawn of an acceptance section; lengths of at most K = 8."""
    path = tmp_path / "c.yaml"
    data = COMMON | {"form": "positions"} | fields
    save_section(path, "acceptance", AcceptanceSection.from_data(data))
    asked = study(calibration=str(path), space={"draft_tokens": "0:8"})
    inputs = uncertain_inputs(asked, build_scenario(asked))
    points = (np.arange(2000) + 0.5) / 2000
    samples = {i.name: i.sample(points) for i in inputs if i.group == "acceptance"}
    return {name: (sample.mean(), sample.std()) for name, sample in samples.items()}


def test_a_calibration_without_errors_is_no_certainty(tmp_path: Path) -> None:
    def group(**error: float) -> dict[str, Any]:
        return {"draft_tokens": 8, "acceptance_length": {"value": 2.6, "unit": "token"} | error}

    survival = [0.75**i for i in range(1, 9)]
    known = drawn_acceptance(tmp_path, survival=survival, groups=[group(standard_error=0.05)])
    silent = drawn_acceptance(tmp_path, survival=survival, groups=[group()])
    none = drawn_acceptance(tmp_path, survival=survival)
    mixed = [group(standard_error=0.05), group() | {"draft_tokens": 4}]
    half = drawn_acceptance(tmp_path, survival=survival, groups=mixed)
    assert known == {"acceptance_scale": pytest.approx((1.0, 0.05 / 1.6), rel=0.02)}
    assert silent == none == half
    assert silent["acceptance_scale"][1] > 2 * known["acceptance_scale"][1]


def test_positions_beyond_the_data_are_less_certain(tmp_path: Path) -> None:
    group = {"acceptance_length": {"value": 2.3, "standard_error": 0.001, "unit": "token"}}
    path = tmp_path / "c.yaml"
    data = COMMON | {"form": "positions", "survival": [0.7, 0.4, 0.2], "groups": [group]}
    save_section(path, "acceptance", AcceptanceSection.from_data(data))
    asked = study(calibration=str(path), space={"draft_tokens": "0:8"})
    survival = np.array(
        [s.survival for s in draw_scenarios(asked, build_scenario(asked)).scenarios]
    )
    spread = survival.std(axis=0) / survival.mean(axis=0)
    assert spread[:3] == pytest.approx(spread[0], rel=0.01)
    assert (np.diff(spread[2:]) > 0).all()
    assert (np.diff(survival, axis=1) <= 0).all()


def test_draws_follow_the_standard_errors(calibration: str) -> None:
    asked = study(calibration=calibration)
    scenario = build_scenario(asked)
    inputs = {each.name: each for each in uncertain_inputs(asked, scenario)}
    points = np.linspace(0.001, 0.999, 999)
    for name, value, error in (
        ("popularity", 0.2, 0.01),
        ("window_correlation", 0.57, 0.02),
        ("acceptance_scale", 1.0, 0.05 / 1.6),
    ):
        drawn = inputs[name].sample(points)
        assert drawn.mean() == pytest.approx(value, abs=1e-3)
        assert drawn.std() == pytest.approx(error, rel=0.02)
    assert "acceptance_rate" not in inputs
