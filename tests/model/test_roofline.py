"""Time of a kernel: floor, bytes over bandwidth, FLOP over compute."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from codesign.model.roofline import Cost, Kernel, kernel_cost, total_seconds

H100 = Kernel(floor=26e-6, bandwidth=3.04e12, compute=655e12)

positive = st.floats(1e-9, 1e15)


def test_the_three_parts_by_hand() -> None:
    # 26 us x 2 launches, 304 MB over 3.04 TB/s, 65.5 GFLOP over 655 TFLOP/s.
    cost = kernel_cost(H100, 2, 304e6, 65.5e9)
    assert (float(cost.floor), float(cost.memory), float(cost.compute)) == pytest.approx(
        (52e-6, 100e-6, 100e-6)
    )
    assert float(cost.seconds) == pytest.approx(252e-6)


def test_a_fused_moe_layer_of_qwen3_30b_at_one_token() -> None:
    # 8 experts of 3 x 2048 x 768 bf16 weights: 75.5 MB, 24.8 us at 3.04 TB/s, on a 26 us floor.
    expert = 3 * 2048 * 768
    cost = kernel_cost(H100, 1, 8 * expert * 2, 2 * 8 * expert)
    assert float(cost.seconds) == pytest.approx(26e-6 + 24.84e-6 + 0.115e-6, rel=1e-3)


@given(memory=positive, compute=positive, norm=st.floats(1, 50))
def test_a_p_norm_lies_between_the_larger_and_the_sum(
    memory: float, compute: float, norm: float
) -> None:
    # p = 1 adds byte and FLOP time up, p to infinity takes the larger (model.md, section 3).
    kernel = Kernel(0.0, 1.0, 1.0, norm=norm)
    seconds = float(kernel_cost(kernel, 1, memory, compute).seconds)
    by_definition = max(memory, compute) * (
        1 + (min(memory, compute) / max(memory, compute)) ** norm
    ) ** (1 / norm)
    assert seconds == pytest.approx(by_definition, rel=1e-9)
    assert max(memory, compute) * (1 - 1e-9) <= seconds <= (memory + compute) * (1 + 1e-9)


@pytest.mark.parametrize("norm", [1.0, 1.7, 40.0])
@pytest.mark.parametrize(("memory", "compute"), [(0.0, 0.0), (3.0, 0.0), (0.0, 3.0)])
def test_a_single_part_takes_its_own_time(norm: float, memory: float, compute: float) -> None:
    cost = kernel_cost(Kernel(0.0, 1.0, 1.0, norm=norm), 1, memory, compute)
    assert (float(cost.memory), float(cost.compute)) == (memory, compute)


def test_parts_keep_their_own_axes() -> None:
    # An open mesh: tokens on one axis, weights on another; nothing grows before it must.
    cost = kernel_cost(H100, 1, np.ones((3, 1)), np.ones((1, 4)))
    assert (cost.floor.shape, cost.memory.shape, cost.compute.shape) == ((), (3, 1), (1, 4))
    assert cost.seconds.shape == (3, 4)


def test_costs_add_and_multiply_part_by_part() -> None:
    one = Cost(*(np.asarray(value) for value in (1.0, 2.0, 3.0)))
    two = one + one * 3
    assert (float(two.floor), float(two.memory), float(two.compute)) == (4.0, 8.0, 12.0)
    assert float((one * 0).seconds) == 0.0
    assert float(Cost().seconds) == 0.0


@given(parts=st.lists(st.tuples(positive, positive, positive), max_size=8))
def test_a_pass_takes_the_sum_of_its_components(parts: list[tuple[float, float, float]]) -> None:
    costs = {str(i): Cost(*(np.asarray(x) for x in part)) for i, part in enumerate(parts)}
    assert float(total_seconds(costs)) == pytest.approx(sum(map(sum, parts)), rel=1e-12)
