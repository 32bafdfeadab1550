"""Fit of the step time's constants: what points can tell, and whether the errors are true."""

from dataclasses import replace

import numpy as np
import pytest

from codesign.calibration.identifiability import identifiable
from codesign.calibration.latency_fit import _errors, fit_constants
from codesign.calibration.latency_points import LatencyPoint
from codesign.calibration.moesd_fit import fit_moesd
from codesign.calibration.step_constants import Constant
from codesign.calibration.step_coordinates import Coordinates, predicted_points
from codesign.designs import Designs
from codesign.prediction import predict
from codesign.resolve import build_scenario
from codesign.spec.hardware import Deployment
from codesign.spec.study import Study
from codesign.spec.workload import Workload
from tests.calibration.latency_settings import loads, noisy, setting
from tests.properties.any_question import FACTOR

RICH = loads((1, 2, 4, 8, 16, 32, 64, 128), (0, 1, 3, 5), (1024,))
SEEDS = range(200, 200 + 50 * FACTOR)
"""Fifty; CODESIGN_EXAMPLES=20 asks a thousand."""

CHANGES = {"floor": 1.3, "bandwidth": 0.9, "compute": 0.8}
"""Truth over what the profile says, by kind of constant."""
TIMES = {"host_time": 0.3e-3, "sd_overhead": 0.9e-3}


def chosen() -> list[Constant]:
    """The constants that the rich points determine."""
    coordinates = Coordinates(setting(), predicted_points(setting(), RICH, setting().replica))
    return [coordinates.constants[index] for index in identifiable(coordinates).fitted]


def truth() -> dict[str, float]:
    """Values of the chosen constants that differ from the profile's [SI]."""
    return {
        c.name: TIMES[c.name] if c.additive else c.prior * CHANGES[c.name.rsplit(".", 1)[-1]]
        for c in chosen()
    }


def true_points() -> list[LatencyPoint]:
    replica = setting().replica
    for constant in chosen():
        replica = constant.put(replica, truth()[constant.name])
    return predicted_points(setting(), RICH, replica)


def names_of(points: list[LatencyPoint]) -> set[str]:
    coordinates = Coordinates(setting(), predicted_points(setting(), points, setting().replica))
    return {coordinates.constants[i].name for i in identifiable(coordinates).fitted}


def test_predicted_times_are_the_forward_pass_and_the_cycle() -> None:
    workload = Workload.from_data({"target_batch_size": 8, "context": 1024})
    study = Study(hardware="h100", workload=workload, deployment=Deployment(gpus=1))
    scenario = build_scenario(study)
    prediction = predict(Designs.of_architecture(scenario.reference, 3), scenario)
    cycle = prediction.draft_time_s + prediction.step_time_verify_s + scenario.replica.sd_overhead
    plain, drafted = predicted_points(setting(), loads((8,), (0, 3), (1024,)), setting().replica)
    assert plain.seconds == pytest.approx(prediction.step_time_decode_s.item(), rel=1e-12)
    assert drafted.seconds == pytest.approx(cycle.item(), rel=1e-12)


def test_target_pass_holds_no_host_time_and_step_no_draft() -> None:
    replica = replace(setting().replica, host_time=1e-3)
    (target,) = predicted_points(setting(), loads((8,), (3,), (1024,), "target pass"), replica)
    (step,) = predicted_points(setting(), loads((8,), (3,), (1024,), "step"), replica)
    (cycle,) = predicted_points(setting(), loads((8,), (3,), (1024,), "cycle"), replica)
    assert step.seconds - target.seconds == pytest.approx(1e-3)
    assert cycle.seconds > step.seconds + replica.sd_overhead


def test_exact_points_return_their_constants() -> None:
    fit = fit_constants(setting(), true_points())
    found = {fit.coordinates.constants[i].name: fit.value(p)
             for p, i in enumerate(fit.choice.fitted)}  # fmt: skip
    assert found == pytest.approx(truth(), rel=1e-4)
    assert fit.rms < 1e-5
    assert fit.left_out_rms < 1e-5


def test_only_what_points_can_tell_is_fitted_and_the_rest_is_named() -> None:
    coordinates = Coordinates(setting(), predicted_points(setting(), RICH, setting().replica))
    choice = identifiable(coordinates)
    told = {coordinates.constants[i].name for i in choice.fitted}
    assert {"routed_experts.bf16.floor", "routed_experts.bf16.bandwidth", "sd_overhead"} <= told
    every = {constant.name for constant in coordinates.constants}
    left = {coordinates.constants[i].name: why for i, why in choice.reasons.items()}
    assert told | set(left) == every
    assert "routed_experts.bf16.floor" in left["gemm.bf16.floor"]  # both a constant per pass
    assert left["attention.bf16.compute"].startswith("moves these points by")


def test_the_choice_does_not_follow_the_noise() -> None:
    exact = predicted_points(setting(), RICH, setting().replica)
    chosen = {
        identifiable(Coordinates(setting(), noisy(exact, 0.05, seed))).fitted for seed in range(8)
    }
    assert len(chosen) == 1


@pytest.mark.parametrize(
    ("points", "absent"),
    [
        (loads((1, 2, 4, 8), (0,), (1024,)), "sd_overhead"),  # no drafts, no overhead
        (loads((1, 2, 4, 8), (0, 3), (1024,), "target pass"), "host_time"),
        (loads((1, 1, 1, 1), (0,), (1024,)), "routed_experts.bf16.bandwidth"),  # one load only
    ],
)
def test_constants_without_effect_stay(points: list[LatencyPoint], absent: str) -> None:
    assert absent not in names_of(points)


def test_few_points_fit_few_constants() -> None:
    assert len(names_of(loads((1, 8), (0, 3), (1024,)))) <= 2


def test_one_wild_point_does_not_bend_the_fit() -> None:
    points = noisy(true_points(), 0.01, seed=1)
    clean = fit_constants(setting(), points)
    spoiled = [replace(points[0], seconds=3 * points[0].seconds), *points[1:]]
    robust = fit_constants(setting(), spoiled)
    shift = np.abs(robust.at - clean.at)[list(clean.choice.fitted)]
    assert np.all(shift < 2.5 * clean.errors)
    assert robust.left_out[0] == pytest.approx(1 / 3 - 1, abs=0.05)


def test_a_constant_on_its_limit_has_no_error() -> None:
    faster = replace(setting().replica, host_time=0.0, sd_overhead=0.0)
    points = noisy(predicted_points(setting(), RICH, faster), 0.02, seed=3)
    fit = fit_constants(setting(), [replace(p, seconds=0.97 * p.seconds) for p in points])
    limited = [p for p in range(len(fit.choice.fitted)) if fit.on_limit(p)]
    assert limited
    for position in limited:
        assert fit.standard_error(position) is None
    assert fit.value(limited[-1]) >= 0


def test_leave_one_out_is_the_error_of_a_fit_without_the_point() -> None:
    points = noisy(predicted_points(setting(), RICH, setting().replica), 0.02, seed=5)
    fit = fit_constants(setting(), points)
    for index in (0, 13, 31):
        without = fit_constants(setting(), points[:index] + points[index + 1 :])
        unseen = setting().seconds([points[index]], without.replica)[0]
        assert fit.left_out[index] == pytest.approx(unseen / points[index].seconds - 1, abs=0.01)
    assert fit.left_out_rms > fit.rms


def test_link_constants_are_told_on_several_gpus() -> None:
    on_eight = setting(gpus=8)
    points = predicted_points(
        on_eight, loads((1, 4, 16, 64, 256), (0, 3), (1024,)), on_eight.replica
    )
    constants = {constant.name for constant in Coordinates(on_eight, points).constants}
    assert {"all_reduce.floor", "all_reduce.bandwidth", "all_to_all.floor"} <= constants


def test_errors_of_points_met_exactly() -> None:
    slopes = np.array([[1.0, 0.0, 0.5], [2.0, 0.0, 0.1], [3.0, 0.0, 0.9], [1.0, 0.0, 0.2]])
    free = np.ones(3, dtype=bool)
    errors, correlations = _errors(slopes, np.zeros(4), 1e-6, free)
    assert np.isnan(errors[1])  # no point says anything about it
    one = np.linalg.inv(slopes[:, [0, 2]].T @ slopes[:, [0, 2]])
    # One degree of freedom without a residual, and four expected ones of 2 %.
    assert errors[[0, 2]] == pytest.approx(np.sqrt(4 / 5) * 0.02 * np.sqrt(np.diag(one)))
    assert correlations[0, 2] == pytest.approx(one[0, 1] / np.sqrt(one[0, 0] * one[1, 1]))


def test_errors_are_true_over_fifty_seeds() -> None:
    """Truth within two standard errors in 85-99 %, mean error within 25 % of the spread.

    A block of 50 seeds may by chance cover all 50 (8 % of blocks for a constant at .95), which this
    block does not. docs/calibration-latency.md has the figures of 1,000.
    """
    exact, known = true_points(), truth()
    fits = [fit_constants(setting(), noisy(exact, 0.02, seed)) for seed in SEEDS]
    for position, index in enumerate(fits[0].choice.fitted):
        name = fits[0].coordinates.constants[index].name
        true = known[name]
        values = np.array([fit.value(position) for fit in fits])
        errors = np.array([fit.standard_error(position) for fit in fits], dtype=np.float64)
        covered = float(np.mean(np.abs(values - true) <= 2 * errors))
        calibrated = float(errors.mean() / values.std(ddof=1))
        print(f"{name}: covered {covered:.2f}, error over spread {calibrated:.2f}")
        assert 0.85 <= covered <= 0.99, name
        assert 0.75 <= calibrated <= 1.25, name
        assert values.mean() == pytest.approx(true, rel=0.05), name


def test_moesd_fits_the_same_points_and_needs_more_numbers() -> None:
    points = noisy(predicted_points(setting(), RICH, setting().replica), 0.02, seed=0)
    other = fit_moesd(points, 128, 8, 295.0)
    assert other is not None
    assert other.fitted == 10
    rms = float(np.sqrt(np.mean(other.residuals**2)))
    assert rms < 0.08  # it knows no correlation between tokens
    assert fit_moesd(points[:8], 128, 8, 295.0) is None
    target = predicted_points(
        setting(), loads((1, 2, 4, 8, 16), (0, 3), (1024,), "target pass"), setting().replica
    )
    alone = fit_moesd(target, 128, 8, 295.0)
    assert alone is not None
    assert alone.fitted == 6  # nothing is known of drafts and rejection
