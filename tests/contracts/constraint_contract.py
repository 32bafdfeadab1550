"""What every constraint must keep to. Subclass `ConstraintContract` to test one of your own.

class TestMine(ConstraintContract):
    def make(self) -> Constraint:
        [mine] = make_constraints({"path/to/mine.py": True} | NO_DEFAULTS)
        return mine
"""

import numpy as np
import pytest

from codesign.constraints import Assessment, Constraint
from codesign.designs import Designs
from codesign.model.arrays import FloatArray
from codesign.prediction import predict
from codesign.scenario import Scenario
from tests.contracts.objective_contract import MIX, as_list, prediction_of, sample_mesh
from tests.questions import make_scenario


class ConstraintContract:
    """Tests of one constraint; `scenario` may be overridden where it needs more."""

    reference_is_feasible = True
    """The reference meets its own limits."""

    def make(self) -> Constraint:
        """Return the constraint under test."""
        raise NotImplementedError

    def tighter(self) -> Constraint | None:
        """Return the same with a tighter limit, if it has one."""
        return None

    @pytest.fixture
    def constraint(self) -> Constraint:
        return self.make()

    @pytest.fixture
    def scenario(self) -> Scenario:
        return make_scenario(workload={"target_batch_size": MIX}, deployment={"gpus": 1})

    @staticmethod
    def assess(constraint: Constraint, designs: Designs, scenario: Scenario) -> Assessment:
        return constraint.assess(predict(designs, scenario), prediction_of(scenario))

    @classmethod
    def parts(
        cls, constraint: Constraint, designs: Designs, scenario: Scenario
    ) -> dict[str, FloatArray]:
        assessment = cls.assess(constraint, designs, scenario)
        return {
            name: np.broadcast_to(np.asarray(values, dtype=np.float64), designs.shape)
            for name, values in vars(assessment).items()
        } | {"violation": np.broadcast_to(assessment.violation, designs.shape)}

    def test_says_what_it_is(self, constraint: Constraint) -> None:
        assert constraint.name
        assert constraint.unit

    def test_finite_numbers_per_design(self, constraint: Constraint, scenario: Scenario) -> None:
        for values in self.parts(constraint, sample_mesh(), scenario).values():
            assert np.isfinite(values).all()

    def test_slack_is_the_distance_to_the_limit(
        self, constraint: Constraint, scenario: Scenario
    ) -> None:
        parts = self.parts(constraint, sample_mesh(), scenario)
        distance = np.abs(parts["value"] - parts["limit"])
        scale = np.abs(parts["limit"]).max() + np.abs(parts["value"]).max()
        np.testing.assert_allclose(np.abs(parts["slack"]), distance, atol=1e-12 * scale)

    def test_violated_means_negative_slack(
        self, constraint: Constraint, scenario: Scenario
    ) -> None:
        parts = self.parts(constraint, sample_mesh(), scenario)
        violated = parts["violation"] > 0
        assert (parts["slack"][violated] < 0).all()
        scale = np.where(parts["limit"] != 0, np.abs(parts["limit"]), 1.0)
        assert (parts["slack"][~violated] >= -1e-9 * scale[~violated]).all()

    def test_it_tells_designs_apart(self, constraint: Constraint, scenario: Scenario) -> None:
        assert np.ptp(self.parts(constraint, sample_mesh(), scenario)["slack"]) > 0

    def test_the_reference_meets_it(self, constraint: Constraint, scenario: Scenario) -> None:
        own = Designs.of_architecture(scenario.reference, 3)
        violated = self.parts(constraint, own, scenario)["violation"][0] > 0
        assert violated != self.reference_is_feasible

    def test_a_design_is_judged_by_itself(self, constraint: Constraint, scenario: Scenario) -> None:
        mesh = sample_mesh()
        whole = self.parts(constraint, mesh, scenario)
        listed = as_list(mesh)
        order = np.random.default_rng(0).permutation(whole["slack"].size)
        shuffled = self.parts(constraint, listed.take(order), scenario)
        for name, values in whole.items():
            scale = np.abs(values).max()
            np.testing.assert_allclose(
                shuffled[name], values.reshape(-1)[order], rtol=1e-9, atol=1e-12 * scale
            )
        for place in order[:5]:
            alone = self.parts(constraint, listed.take(place), scenario)
            assert alone["slack"][0] == pytest.approx(
                whole["slack"].reshape(-1)[place], rel=1e-9, abs=1e-12
            )

    def test_its_step_loosens_it(self, constraint: Constraint, scenario: Scenario) -> None:
        step = constraint.natural_step(self.assess(constraint, sample_mesh(), scenario))
        if step is not None:
            assert np.isfinite(step).all()
            assert (np.asarray(step) >= 0).all()

    def test_tightening_it_admits_no_further_design(
        self, constraint: Constraint, scenario: Scenario
    ) -> None:
        """structure.md: the feasible set shrinks as a constraint tightens."""
        tighter = self.tighter()
        if tighter is None:
            pytest.skip("it has no limit to tighten")
        loose, tight = (
            self.parts(each, sample_mesh(), scenario)["violation"] <= 0
            for each in (constraint, tighter)
        )
        assert (loose | ~tight).all()
        assert loose.sum() > tight.sum()
