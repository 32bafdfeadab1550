"""Components of a forward pass against hand calculation and measured kernels."""

import csv
import gzip
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from codesign.hardware import load_hardware, resolve_kernel
from codesign.model.roofline import Kernel
from codesign.model.step_time import (
    attention_core,
    dense_gemm,
    elementwise,
    narrow_expert_efficiency,
    routed_experts,
)
from tests.shared_data import SHARED, needs_shared

UNIT = Kernel(floor=1.0, bandwidth=1.0, compute=1.0)
"""One second per launch, byte and FLOP: the parts of a cost are counts."""


def test_routed_experts_load_unique_experts_and_compute_token_slots() -> None:
    cost = routed_experts(UNIT, 4, 10.0, 24.0, 100.0, 2.0, 768.0)
    assert float(cost.floor) == 4  # a launch per layer
    assert float(cost.memory) == 4 * 10 * 100 * 2
    assert float(cost.compute) == 4 * 24 * 100 * 2


def test_a_model_without_moe_layers_spends_nothing_on_them() -> None:
    assert float(routed_experts(UNIT, 0, 10.0, 24.0, 100.0, 2.0, 768.0).seconds) == 0


def test_narrow_experts_lose_bandwidth_and_no_compute() -> None:
    kernel = Kernel(1.0, 1.0, 1.0, narrow_width=96.0)
    narrow = routed_experts(kernel, 1, 10.0, 24.0, 100.0, 2.0, 96.0)
    assert float(narrow.memory) == pytest.approx(2 * 10 * 100 * 2)  # half speed at narrow_width
    assert float(narrow.compute) == 24 * 100 * 2


def test_efficiency_of_narrow_experts_rises_to_one() -> None:
    efficiency = narrow_expert_efficiency(np.array([1, 10, 47, 100, 1000, 1e6]), 47.0)
    assert (np.diff(efficiency) > 0).all()
    assert efficiency[2] == pytest.approx(0.5)  # by definition of the narrow width
    assert efficiency[-1] == pytest.approx(1.0, abs=1e-5)
    np.testing.assert_array_equal(narrow_expert_efficiency(np.array([1.0, 64.0]), 0.0), 1.0)


def test_dense_gemm_reads_weights_once_and_activations_per_token() -> None:
    cost = dense_gemm(UNIT, 3, 5.0, 1000.0, 1.0, 70.0)
    assert float(cost.floor) == 3
    assert float(cost.memory) == 1000 * 1 + 5 * 70 * 2  # activations in bf16
    assert float(cost.compute) == 2 * 5 * 1000


def test_the_cache_is_read_once_for_all_tokens_of_a_sequence() -> None:
    # MagicDec (arXiv 2408.11049): verification shares the reads of the cache.
    decode, verify = (attention_core(UNIT, 2, 4.0, q, 1000.0, 8.0, 16.0) for q in (1.0, 6.0))
    assert float(decode.memory) == 2 * 4 * 1000 * 8
    assert float(verify.memory) == float(decode.memory)
    assert float(decode.compute) == 2 * 4 * 1000 * 16
    assert float(verify.compute) == 6 * float(decode.compute)
    assert float(verify.floor) == float(decode.floor) == 2


def test_a_recurrent_state_is_read_and_written_whatever_the_context() -> None:
    short, long = (attention_core(UNIT, 3, 4.0, 1.0, context, 0.0, 0.0, 50.0) for context in (1, 9))
    assert float(short.memory) == float(long.memory) == 3 * 2 * 4 * 50


def test_small_kernels_are_mostly_launch_floors() -> None:
    cost = elementwise(UNIT, 10, 2.0, 64)
    assert float(cost.floor) == 10
    assert float(cost.memory) == 10 * 2 * 4 * 64 * 2  # hidden state and residual, read and written
    assert float(cost.compute) == 0


@cache
def measured_kernels() -> NDArray[np.float64]:
    """Measured fused MoE kernels, H100, vLLM, bf16: one column per name of `COLUMNS`."""
    with gzip.open(SHARED / "data/latency/moe_kernels.csv.gz", "rt", encoding="utf-8") as stream:
        rows = [
            [float(row[name]) for name in COLUMNS]
            for row in csv.DictReader(stream)
            if (row["gpu"], row["backend"], row["moe_dtype"]) == ("h100_sxm", "vllm", "bfloat16")
        ]
    return np.array(rows).T


COLUMNS = (
    "num_tokens", "topk", "hidden_size", "inter_size", "n_matrices", "expected_unique_experts",
    "latency_ms",
)  # fmt: skip


def errors_of(kernel: Kernel) -> NDArray[np.float64]:
    """Absolute relative errors of `routed_experts` against the measured kernels."""
    tokens, top_k, hidden, width, matrices, unique, milliseconds = measured_kernels()
    weights = matrices * hidden * width
    cost = routed_experts(kernel, 1, unique, tokens * top_k, weights, 2.0, width)
    return np.asarray(np.abs(cost.seconds / (milliseconds * 1e-3) - 1))


@needs_shared
def test_bundled_constants_reproduce_measured_moe_kernels() -> None:
    # model.md, section 3: the sum errs by 2.4 % in the median and 9.3 % at the 90th percentile on
    # 16 architectures; allow for shapes and token counts beyond those.
    kernel = resolve_kernel(load_hardware("h100"), "routed_experts", "vllm", "bf16").kernel
    errors = errors_of(kernel)
    assert errors.size > 1000
    assert np.median(errors) < 0.05
    assert np.quantile(errors, 0.9) < 0.2


@needs_shared
def test_the_sum_of_byte_and_flop_time_beats_their_maximum() -> None:
    # model.md, section 3: the hard maximum errs twice as much as the sum.
    kernel = resolve_kernel(load_hardware("h100"), "routed_experts", "vllm", "bf16").kernel
    summed, maximum = (replace(kernel, norm=norm) for norm in (1.0, 100.0))
    assert np.median(errors_of(summed)) < np.median(errors_of(maximum))


def test_time_of_a_measured_layer_is_affine_in_unique_experts() -> None:
    # Case A18 (vllm#24700): Qwen3-30B-A3B fp8, one fused MoE layer, T = 1...128: 32.3 + 1.854 U us
    # with U = 128 (1 - (15/16)^T), worst 5.9 %; that slope is 2.55 TB/s.
    tokens = np.array([1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128])
    measured = np.array(
        [44.54, 59.94, 90.46, 129.77, 185.40, 215.99, 238.37, 257.83, 262.73, 270.98, 273.72]
    )
    unique = 128 * (1 - (15 / 16) ** tokens)
    kernel = Kernel(floor=32.3e-6, bandwidth=2.55e12, compute=1e18)
    predicted = routed_experts(kernel, 1, unique, 8 * tokens, 3 * 2048 * 768, 1.0, 768).seconds
    np.testing.assert_allclose(predicted * 1e6, measured, rtol=0.06)
