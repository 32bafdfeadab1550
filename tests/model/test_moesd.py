"""MoESD's step-time form: limits, and equation 4."""

import numpy as np
import pytest

from codesign.model.moesd import MoesdParameters, cycle_seconds, load, target_seconds
from codesign.model.routing import unique_experts_uniform

ONES = MoesdParameters(
    bias=4e-3, dense=1e-3, experts=1e-4, expert_tokens=2e-3, draft_bias=3e-4, draft_load=1e-4,
    reject_bias=2e-4, reject_sequence=1e-5, ridge_share=0.5, growth=1.002,
)  # fmt: skip


def test_load_is_flat_then_tangent() -> None:
    ridge, growth = 100.0, 1.002
    below, at, above = load(np.array([1.0, 100.0, 101.0]), ridge, growth)
    assert below == pytest.approx(growth)
    assert at == pytest.approx(growth**100)
    assert above - at == pytest.approx(growth**100 * np.log(growth))  # continuous in slope
    far = load(np.array([1000.0, 2000.0, 3000.0]), ridge, growth)
    assert far[2] - far[1] == pytest.approx(far[1] - far[0])  # linear


def test_target_terms() -> None:
    loaded = unique_experts_uniform(128, 8, 4)
    expected = 4e-3 + 1e-3 * 1.002**4 + 1e-4 * loaded + 2e-3 * 1.002 ** (8 * 4 / loaded)
    assert target_seconds(ONES, 4, 128, 8, 295.0) == pytest.approx(expected)


def test_without_drafts_a_cycle_is_a_step() -> None:
    batch = np.array([1, 8, 64])
    plain = target_seconds(ONES, batch, 128, 8, 295.0)
    assert cycle_seconds(ONES, batch, 0, 128, 8, 295.0) == pytest.approx(plain)


def test_cycle_is_drafts_verification_and_rejection() -> None:
    verify = target_seconds(ONES, 8 * 4, 128, 8, 295.0)
    draft = 3 * (3e-4 + 1e-4 * 1.002**8)
    assert cycle_seconds(ONES, 8, 3, 128, 8, 295.0) == pytest.approx(verify + draft + 2e-4 + 8e-5)
