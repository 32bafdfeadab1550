"""Arithmetic intensity, ridge point and regimes."""

import numpy as np
import pytest

from codesign.model.intensity import REGIMES, arithmetic_intensity, regime, ridge_intensity


@pytest.mark.parametrize(
    ("tokens", "experts", "top_k", "shared", "intensity"),
    [
        (1, 128, 8, 0, 8 / 128),
        (128, 128, 8, 0, 8.0),
        (4, 8, 8, 0, 4.0),  # k = N: every token meets every expert, as in a dense layer
        (4, 256, 8, 1, 4 * 9 / 257),  # DeepSeek-V3
        (7, 1, 1, 0, 7.0),  # dense
    ],
)
def test_arithmetic_intensity(
    tokens: int, experts: int, top_k: int, shared: int, intensity: float
) -> None:
    assert float(arithmetic_intensity(tokens, experts, top_k, shared)) == pytest.approx(intensity)


def test_ridge_of_the_h100() -> None:
    # 989 TFLOP/s over 3.35 TB/s is 295 FLOP per byte; a bf16 weight has two bytes and two FLOP.
    assert float(ridge_intensity(989e12, 3.35e12, 2.0)) == pytest.approx(295.2, abs=0.05)
    assert float(ridge_intensity(989e12, 3.35e12, 1.0)) == pytest.approx(147.6, abs=0.05)


def test_the_closed_form_turn_of_128_8_comes_late() -> None:
    # model.md, section 1: for 128/8 the intensity meets the ridge at T about 1,200 x 4 = 4,700.
    ridge = float(ridge_intensity(989e12, 3.35e12, 2.0))
    tokens = ridge / float(arithmetic_intensity(1, 128, 8, 0))
    assert 4 * 1100 < tokens < 4 * 1300


@pytest.mark.parametrize(
    ("unique_ratio", "memory", "compute", "sparse", "name"),
    [
        # model.md, section 1: partial load if U(B,q)/U(B,1) > 1.1; else compute bound if FLOP take
        # longer; else sweet spot, for k = N memory bound; both at once: the larger cost.
        (1.2, 2.0, 1.0, True, "partial load"),
        (1.1, 2.0, 1.0, True, "sweet spot"),
        (1.0, 2.0, 1.0, True, "sweet spot"),
        (1.0, 1.0, 2.0, True, "compute bound"),
        (1.2, 1.0, 2.0, True, "compute bound"),
        (1.0, 2.0, 1.0, False, "memory bound"),
        (1.0, 1.0, 2.0, False, "compute bound"),
        (1.0, 1.0, 1.0, True, "sweet spot"),
    ],
)
def test_regime(
    unique_ratio: float, memory: float, compute: float, sparse: bool, name: str
) -> None:
    found = regime(np.array([unique_ratio]), np.array(memory), np.array(compute), np.array(sparse))
    assert found.tolist() == [name]
    assert name in REGIMES
