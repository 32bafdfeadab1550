"""Counts that a design changes: they broadcast, they are exact, they agree with the whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesign.architectures import list_architectures, load_architecture
from codesign.architectures.counting import count_parameters
from codesign.model.parameters import (
    active_parameters,
    expert_parameters,
    routed_parameters,
    router_parameters,
    shared_parameters,
)

COUNT = st.integers(1, 1000)


@pytest.mark.parametrize("name", list_architectures())
def test_components_add_up(name: str) -> None:
    """Total is the sum of its parts; active leaves the idle experts out."""
    architecture = load_architecture(name)
    counts = count_parameters(architecture)
    parts = (
        counts.routed + counts.shared + counts.router + counts.latent + counts.attention
        + counts.dense + counts.embedding + counts.lm_head + counts.norm + counts.other
    )  # fmt: skip
    assert counts.total == parts
    if architecture.moe is None:
        assert counts.active == counts.total
    else:
        share = architecture.moe.top_k / architecture.moe.experts
        assert counts.active == pytest.approx(counts.total - counts.routed * (1 - share), abs=1)


@given(layers=COUNT, experts=COUNT, inputs=COUNT, width=COUNT, matrices=st.sampled_from([2, 3]))
def test_arrays_give_what_numbers_give(
    layers: int, experts: int, inputs: int, width: int, matrices: int
) -> None:
    """A design and ten million designs run the same code; floats are as exact as integers."""
    one = routed_parameters(layers, experts, inputs, width, matrices)
    assert one == layers * experts * matrices * inputs * width
    counts = np.array([experts, experts + 1])
    many = routed_parameters(layers, counts, inputs, width, matrices)
    assert many.shape == (2,)
    assert many[0] == one
    assert routed_parameters(layers, float(experts), inputs, float(width), matrices) == one


@given(experts=COUNT, top_k=COUNT, width=COUNT)
def test_active_is_exact(experts: int, top_k: int, width: int) -> None:
    """k = N leaves nothing idle; k of N leaves N - k whole experts."""
    routed = routed_parameters(7, experts, 64, width)
    assert active_parameters(10**9, routed, experts, experts) == 10**9
    idle = (experts - top_k) * 7 * 3 * 64 * width
    assert active_parameters(10**9, routed, experts, top_k) == 10**9 - idle


def test_limits() -> None:
    """Without shared experts there is nothing to count, and without a gate no gate."""
    assert shared_parameters(10, 0, 64, 32) == 0
    assert router_parameters(10, 8, 64) == 10 * 8 * 64
    assert router_parameters(10, 8, 64, bias=1) == 10 * 8 * 65
    assert router_parameters(10, 8, 64, shared_gate=1) == 10 * (8 * 64 + 64)
    assert expert_parameters(64, 32, matrices=2) == 2 * 64 * 32
    assert expert_parameters(64, 32, bias=1) == 3 * 64 * 32 + 2 * 32 + 64
