"""Every bundled objective, and figures by declaration, keep to the contract."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codesign.designs import Designs
from codesign.errors import UsageError
from codesign.objectives import Objective, list_objectives, make_objective, objective_class
from codesign.prediction import FIGURES, predict
from codesign.spec.study import ObjectiveChoice
from tests.contracts.objective_contract import ObjectiveContract, sample_mesh
from tests.questions import make_scenario, make_study

DECLARED = [
    "sd_tokens_per_s_per_gpu", "sd_tpot", "total_params", "active_params", "memory", "cost",
    "experts:minimize", "draft_tokens:maximize",
]  # fmt: skip


def objective_of(written: str) -> Objective:
    name, _, direction = written.partition(":")
    fields: dict[str, Any] = {"name": name} | ({"direction": direction} if direction else {})
    return make_objective(ObjectiveChoice.from_data(fields))


@pytest.mark.parametrize("objective", [*list_objectives(), *DECLARED], indirect=True)
class TestBundledObjectives(ObjectiveContract):
    @pytest.fixture
    def objective(self, request: pytest.FixtureRequest) -> Objective:
        return objective_of(request.param)


def test_issue_2_lists_these() -> None:
    names = {*list_objectives(), *FIGURES, *(f.alias for f in FIGURES.values())}
    wanted = {"sd_speedup", "sd_tokens_per_s_per_gpu", "sd_tpot", "loss_difference", "cost"}
    assert wanted <= names


@pytest.mark.parametrize("name", list_objectives())
def test_a_file_is_named_as_its_class_says(name: str) -> None:
    kind = objective_class(name)
    assert kind.name == name
    assert kind.__doc__


def test_speedup_of_a_mix_weighs_machine_time() -> None:
    # model.md, section 5: total time without SD / with SD.
    scenario = make_scenario(workload={"target_batch_size": "4:0.25,32:0.75"})
    found = predict(Designs.of_architecture(scenario.reference, 3), scenario)
    plain, fast = found.tokens_per_s.reshape(-1), found.sd_tokens_per_s.reshape(-1)
    by_hand = (0.25 / plain[0] + 0.75 / plain[1]) / (0.25 / fast[0] + 0.75 / fast[1])
    assert objective_of("sd_speedup").evaluate(found).item() == pytest.approx(by_hand)
    assert found.value("sd_speedup").item() == pytest.approx(by_hand)


def test_a_declared_figure_is_that_figure() -> None:
    scenario = make_scenario()
    found = predict(sample_mesh(), scenario)
    for name in ("total_params", "sd_tpot"):
        objective = objective_of(name)
        figure = {"sd_tpot": "sd_tpot_s"}.get(name, name)
        np.testing.assert_array_equal(objective.evaluate(found), found.value(figure))
        assert (objective.direction, objective.unit) == ("minimize", FIGURES[figure].unit)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            "sd_speed",
            "unknown objective 'sd_speed'; did you mean 'sd_speedup'?; see 'codesign list "
            "objectives'",
        ),
        (
            "experts",
            "objective experts: say in which direction, experts:minimize or experts:maximize",
        ),
        ("sd_speedup:minimize", "objective sd_speedup can only be maximized"),
        ("none.py", "none.py: no such file"),
    ],
)
def test_refuse(written: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        objective_of(written)
    assert str(caught.value) == message


def test_options_of_an_objective_in_a_file(tmp_path: Path) -> None:
    text = (
        "from codesign.objectives import Objective\n"
        "class Scaled(Objective):\n"
        "    name, direction, unit = 'scaled', 'maximize', '-'\n"
        "    def __init__(self, by: float = 1.0):\n        self.by = by\n"
        "    def evaluate(self, prediction):\n"
        "        return self.by * prediction.value('speedup_of_sd')\n"
    )
    (tmp_path / "scaled.py").write_text(text.replace("speedup_of_sd", "sd_speedup"))
    (tmp_path / "wrong.py").write_text(text)
    prediction = predict(Designs.of(128, 8, 0, 3, 768), make_scenario())
    data = {"scaled.py": {"by": 2.0, "statistic": "q05"}}
    choice = make_study(objectives=[data]).objectives[0]
    assert ObjectiveChoice.from_data(choice.to_data()) == choice
    made = make_objective(choice, tmp_path)
    assert made.statistic == "q05"
    assert made.evaluate(prediction) == pytest.approx(2 * prediction.value("sd_speedup"))
    with pytest.raises(UsageError, match="unknown option 'bye'; did you mean 'by'"):
        make_objective(ObjectiveChoice(name="scaled.py", options={"bye": 1.0}), tmp_path)
    with pytest.raises(UsageError, match="a figure has no options"):
        make_objective(ObjectiveChoice(name="sd_tpot", options={"by": 1.0}))
    wrong = make_objective(ObjectiveChoice(name="wrong.py"), tmp_path)
    with pytest.raises(UsageError, match=r"unknown figure 'speedup_of_sd'.*list figures"):
        wrong.evaluate(prediction)


def test_a_direction_can_be_turned_around() -> None:
    assert objective_of("total_params:maximize").direction == "maximize"
