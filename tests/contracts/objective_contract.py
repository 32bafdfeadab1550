"""What every objective must keep to. Subclass `ObjectiveContract` to test one of your own.

class TestMine(ObjectiveContract):
    def make(self) -> Objective:
        return make_objective(ObjectiveChoice(name="path/to/mine.py"))
"""

from dataclasses import replace

import numpy as np
import pytest

from codesign.designs import AXES, Designs
from codesign.model.arrays import FloatArray
from codesign.objectives import Objective
from codesign.prediction import Prediction, predict
from codesign.scenario import Scenario
from tests.questions import make_scenario

MIX = "4:0.25,32:0.75"


def sample_mesh() -> Designs:
    """Designs of every kind: dense, sparse, shared, without drafts."""
    axes = ([8.0, 96.0, 128.0, 256.0], [4.0, 8.0], [0.0, 2.0], [0.0, 3.0, 8.0], [384.0, 768.0])
    return Designs.of(*np.ix_(*(np.array(axis) for axis in axes)))


def as_list(mesh: Designs) -> Designs:
    return mesh.take(np.arange(int(np.prod(mesh.shape))))


class ObjectiveContract:
    """Tests of one objective; `scenario` may be overridden where it needs more."""

    def make(self) -> Objective:
        """Return the objective under test."""
        raise NotImplementedError

    @pytest.fixture
    def objective(self) -> Objective:
        return self.make()

    @pytest.fixture
    def scenario(self) -> Scenario:
        return make_scenario(workload={"target_batch_size": MIX})

    @staticmethod
    def values(objective: Objective, designs: Designs, scenario: Scenario) -> FloatArray:
        found = objective.evaluate(predict(designs, scenario))
        return np.broadcast_to(np.asarray(found, dtype=np.float64), designs.shape)

    def test_says_what_it_is(self, objective: Objective) -> None:
        assert objective.name
        assert objective.unit
        assert objective.direction in ("maximize", "minimize")

    def test_a_finite_number_per_design(self, objective: Objective, scenario: Scenario) -> None:
        assert np.isfinite(self.values(objective, sample_mesh(), scenario)).all()

    def test_it_tells_designs_apart(self, objective: Objective, scenario: Scenario) -> None:
        assert np.ptp(self.values(objective, sample_mesh(), scenario)) > 0

    def test_a_design_is_judged_by_itself(self, objective: Objective, scenario: Scenario) -> None:
        """Not by what else is evaluated, nor in which order or shape."""
        mesh = sample_mesh()
        whole = self.values(objective, mesh, scenario).reshape(-1)
        listed = as_list(mesh)
        order = np.random.default_rng(0).permutation(whole.size)
        shuffled = self.values(objective, listed.take(order), scenario)
        np.testing.assert_allclose(shuffled, whole[order], rtol=1e-12, atol=0)
        for place in order[:5]:
            alone = self.values(objective, listed.take(place), scenario)
            np.testing.assert_allclose(alone, whole[place : place + 1], rtol=1e-12, atol=0)

    def test_it_has_no_memory(self, objective: Objective, scenario: Scenario) -> None:
        first = self.values(objective, sample_mesh(), scenario).copy()
        self.values(objective, as_list(sample_mesh()).take(3), scenario)
        np.testing.assert_array_equal(self.values(objective, sample_mesh(), scenario), first)

    def test_designs_are_left_as_they_were(self, objective: Objective, scenario: Scenario) -> None:
        designs, before = sample_mesh(), sample_mesh()
        self.values(objective, designs, scenario)
        for axis in AXES:
            np.testing.assert_array_equal(getattr(designs, axis), getattr(before, axis))

    def test_certain_means_that_draws_change_nothing(
        self, objective: Objective, scenario: Scenario
    ) -> None:
        drawn = replace(
            scenario,
            survival=scenario.survival * 0.9,
            router=replace(scenario.router, popularity=0.1, request=0.1, recency=0.1),
            replica=replace(scenario.replica, host_time=5e-4, sd_overhead=1e-3),
        )
        own, other = (self.values(objective, sample_mesh(), each) for each in (scenario, drawn))
        assert np.array_equal(own, other) == objective.certain


def prediction_of(scenario: Scenario, designs: Designs | None = None) -> Prediction:
    """Prediction of some designs, or of the reference with three drafts."""
    return predict(designs or Designs.of_architecture(scenario.reference, 3), scenario)
