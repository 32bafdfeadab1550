"""The Cohere study's explanation of verification cost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesign.model.amdahl import amdahl_ratio


def test_the_cohere_study_figures() -> None:
    # model.md, section 4: f = .30 and 20.36 unique experts of 8 give 1.46, with acceptance length
    # 2.73 a speedup of 1.87; measured 1.25 and 2.18.
    ratio = float(amdahl_ratio(0.30, 20.36 / 8))
    assert ratio == pytest.approx(1.46, abs=0.005)
    assert 2.73 / ratio == pytest.approx(1.87, abs=0.005)


@pytest.mark.parametrize(
    ("fraction", "unique", "ratio"),
    [
        (0.0, 4.0, 1.0),  # nothing that grows
        (1.0, 4.0, 4.0),  # all of it grows
        (0.5, 1.0, 1.0),  # no further experts
        (0.55, 20.36 / 8, 0.55 * 2.545 + 0.45),  # the study's other end, f = .55
    ],
)
def test_limits(fraction: float, unique: float, ratio: float) -> None:
    assert float(amdahl_ratio(fraction, unique)) == pytest.approx(ratio)


@given(fraction=st.floats(0, 1), unique=st.floats(1, 100))
def test_between_one_and_the_growth_of_experts(fraction: float, unique: float) -> None:
    assert 1 - 1e-12 <= float(amdahl_ratio(fraction, unique)) <= unique * (1 + 1e-12)
