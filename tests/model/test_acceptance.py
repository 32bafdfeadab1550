"""Tokens per cycle: published figures, closed forms, limits."""

import csv

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesign.model.acceptance import (
    acceptance_length,
    constant_survival,
    decay_survival,
    measured_survival,
)
from tests.shared_data import SHARED, needs_shared

rates = st.floats(0, 1)


def test_default_curve_of_the_model_notes() -> None:
    # model.md, section 5: a = .7645, d = .965 gives AL(1...8).
    lengths = acceptance_length(decay_survival(0.7645, 0.965, 8), np.arange(1, 9))
    published = [1.764, 2.328, 2.730, 3.006, 3.189, 3.306, 3.378, 3.421]
    np.testing.assert_allclose(lengths, published, atol=6e-4)


@given(rate=st.floats(0, 0.999), drafted=st.integers(0, 60))
def test_constant_rate_is_leviathans_closed_form(rate: float, drafted: int) -> None:
    # Leviathan et al. 2023, Eq. 1: (1 - a^(K+1)) / (1 - a).
    length = float(acceptance_length(constant_survival(rate, 60), drafted))
    assert length == pytest.approx((1 - rate ** (drafted + 1)) / (1 - rate), rel=1e-9)


def test_survival_is_the_product_of_conditional_rates() -> None:
    # AL(K) = 1 + sum of products, written out for K = 3: rates .8, .8*.9, .8*.81.
    by_hand = 1 + 0.8 + 0.8 * 0.72 + 0.8 * 0.72 * 0.648
    assert float(acceptance_length(decay_survival(0.8, 0.9, 3), 3)) == pytest.approx(by_hand)


def test_no_decay_is_the_constant_rate() -> None:
    np.testing.assert_allclose(decay_survival(0.7, 1.0, 12), constant_survival(0.7, 12))


def test_measured_survival_adds_up_as_the_engines_count_it() -> None:
    # Case A07 (spark-vllm-docker#343): survival .844 .599 .385 .271 is AL 3.099.
    survival = measured_survival(np.array([0.844, 0.599, 0.385, 0.271]), 4)
    assert float(acceptance_length(survival, 4)) == pytest.approx(3.099)


@pytest.mark.parametrize(
    ("known", "positions", "carried"),
    [
        ([0.8, 0.4], 4, [0.8, 0.4, 0.2, 0.1]),  # the last conditional rate, .4/.8, goes on
        ([0.5], 3, [0.5, 0.25, 0.125]),  # of a single position it is its own
        ([1.0, 1.0], 4, [1.0, 1.0, 1.0, 1.0]),
        ([0.8, 0.0, 0.0], 5, [0.8, 0.0, 0.0, 0.0, 0.0]),  # what has died stays dead
        ([0.0], 3, [0.0, 0.0, 0.0]),
        ([0.9, 0.8, 0.7], 2, [0.9, 0.8]),  # only as many as wanted
    ],
)
def test_measured_survival_is_carried_on(
    known: list[float], positions: int, carried: list[float]
) -> None:
    np.testing.assert_allclose(measured_survival(np.array(known), positions), carried)


@given(first=rates, ratio=rates, drafted=st.integers(0, 40))
def test_length_is_between_one_and_all_tokens_and_grows_with_k(
    first: float, ratio: float, drafted: int
) -> None:
    lengths = acceptance_length(decay_survival(first, ratio, 40), np.arange(41))
    assert lengths[0] == 1.0
    assert 1 <= lengths[drafted] <= drafted + 1
    assert (np.diff(lengths) >= 0).all()
    assert (np.diff(lengths, 2) <= 1e-12).all()  # each further token adds less


def test_extremes_of_the_rate() -> None:
    assert float(acceptance_length(constant_survival(1.0, 7), 7)) == 8.0
    assert float(acceptance_length(constant_survival(0.0, 7), 7)) == 1.0


def test_axes_of_draws_stand_before_those_of_designs() -> None:
    survival = decay_survival(np.array([0.6, 0.7, 0.8]), np.ones(3), 5)
    lengths = acceptance_length(survival, np.array([[0, 1, 5]]))
    assert lengths.shape == (3, 1, 3)
    np.testing.assert_allclose(lengths[:, 0, 1], [1.6, 1.7, 1.8])


@needs_shared
def test_decay_fits_measured_curves_better_than_a_constant_rate() -> None:
    # model.md, section 5: on 14 measured curves decay misfits by 0.3-2.3 %, a constant by 2-8 %.
    curves: dict[tuple[str, str], dict[int, float]] = {}
    with (SHARED / "data/sd/acceptance_by_K.csv").open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            curve = curves.setdefault((row["file"], row["mode"]), {})
            curve[int(row["K"])] = float(row["AL"])
    grid = np.linspace(0.3, 0.999, 120)[:, None]
    ratios = np.linspace(0.5, 1.0, 60)[None, :]
    better = 0
    for curve in curves.values():
        drafted = np.array(sorted(curve))
        measured = np.array([curve[k] for k in drafted])
        first, ratio = np.broadcast_arrays(grid, ratios)
        survival = decay_survival(first, ratio, int(drafted.max()))
        errors = np.sqrt(((acceptance_length(survival, drafted) / measured - 1) ** 2).mean(axis=-1))
        assert errors.min() < 0.035
        better += errors.min() < errors[:, -1].min()  # the last column does not decay
    assert better >= 0.8 * len(curves)
