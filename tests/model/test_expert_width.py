"""Width of an expert from a budget."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesign.model.expert_width import rounded_width


@pytest.mark.parametrize(
    ("budget", "sharing", "step", "width"),
    [
        (8 * 768, 8, 64, 768),  # Qwen3-30B-A3B itself
        (8 * 768, 9, 64, 704),  # 682.7
        (8 * 768, 16, 64, 384),
        (8 * 768, 4, 64, 1536),
        (8 * 768, 4, 128, 1536),
        (8 * 768, 7, 64, 896),  # 877.7
        (8 * 768, 1000, 64, 64),  # never less than one step
    ],
)
def test_width(budget: int, sharing: int, step: int, width: int) -> None:
    assert float(rounded_width(budget, sharing, step)) == width


@given(
    budget=st.integers(1, 10**6),
    sharing=st.floats(1, 1000),
    step=st.sampled_from([64, 128, 512, 1024]),
)
def test_the_nearest_multiple_of_the_step(budget: int, sharing: float, step: int) -> None:
    width = float(rounded_width(budget, sharing, step))
    assert width >= step
    assert width % step == 0
    candidates = np.arange(1, budget // step + 3) * step
    nearest = np.abs(candidates - budget / sharing).min()
    assert abs(width - budget / sharing) <= nearest + 1e-6
