"""Kernel fits: constants known beforehand come back, left-out shapes, weak fits."""

import numpy as np
import pytest

from codesign.calibration.kernels.fit import FitOptions, fit_kernel, left_out_seconds
from codesign.calibration.kernels.profile import constants_of, fit_options, weakness
from codesign.calibration.kernels.rows import TimedKernels, reachable
from codesign.errors import CalibrationError
from codesign.hardware import load_hardware
from codesign.model.roofline import Kernel, kernel_cost
from codesign.model.step_time import narrow_expert_efficiency


def timed(kernel: Kernel, *, noise: float = 0.0, shapes: int = 6) -> TimedKernels:
    rng = np.random.default_rng(1)
    sizes = np.repeat(2e6 * 2.0 ** np.arange(shapes), 40)
    tokens = np.tile(2.0 ** np.linspace(0, 12, 40), shapes)
    width = np.tile(np.repeat([1024.0, 128.0], 20), shapes)
    traffic, flop = sizes * np.minimum(tokens, 32), sizes * tokens
    narrow = narrow_expert_efficiency(width, kernel.narrow_width)
    seconds = kernel_cost(kernel, 1.0, traffic / narrow, flop).seconds
    return TimedKernels(
        traffic=traffic,
        flop=flop,
        seconds=seconds * np.exp(noise * rng.standard_normal(seconds.size)),
        configuration=sizes.astype(np.str_),
        source="made up",
        width=width,
        whole=width == 1024.0,
    )


def test_known_constants_come_back() -> None:
    truth = Kernel(25e-6, 3e12, 650e12, 1.0, 60.0)
    found = fit_kernel(timed(truth), FitOptions(989e12)).kernel
    assert found.floor == pytest.approx(25e-6, rel=1e-3)
    assert found.bandwidth == pytest.approx(3e12, rel=1e-3)
    assert found.compute == pytest.approx(650e12, rel=1e-2)
    assert found.narrow_width == pytest.approx(60.0, rel=1e-2)


def test_p_norm_comes_back() -> None:
    truth = Kernel(4e-6, 2.9e12, 800e12, 2.5)
    rows = timed(truth)
    dense = TimedKernels(rows.traffic, rows.flop, rows.seconds, rows.configuration, "made up")
    found = fit_kernel(dense, FitOptions(989e12, norm=True)).kernel
    assert found.norm == pytest.approx(2.5, rel=0.02)
    assert found.compute == pytest.approx(800e12, rel=0.02)


def test_compute_never_exceeds_the_datasheet() -> None:
    found = fit_kernel(timed(Kernel(25e-6, 3e12, 2e15)), FitOptions(989e12)).kernel
    assert found.compute <= 989e12 * (1 + 1e-9)


def test_noise_shows_as_error_and_a_single_shape_cannot_be_left_out() -> None:
    noisy = fit_kernel(timed(Kernel(25e-6, 3e12, 650e12), noise=0.05), FitOptions(989e12))
    assert 0.02 < noisy.median_error < 0.05
    assert noisy.left_out_error < 0.06
    alone = timed(Kernel(25e-6, 3e12, 650e12), shapes=1)
    assert np.isnan(left_out_seconds(alone, FitOptions(989e12))).all()


def test_a_left_out_shape_does_not_teach_its_own_prediction() -> None:
    rows = timed(Kernel(25e-6, 3e12, 650e12))
    odd = rows.configuration == rows.configuration[0]
    spoiled = TimedKernels(
        rows.traffic, rows.flop, np.where(odd, 10 * rows.seconds, rows.seconds),
        rows.configuration, "made up", rows.width, rows.whole,
    )  # fmt: skip
    predicted = left_out_seconds(spoiled, FitOptions(989e12))
    np.testing.assert_allclose(predicted[odd], rows.seconds[odd], rtol=0.02)


def test_too_few_rows_are_refused() -> None:
    rows = timed(Kernel(25e-6, 3e12, 650e12))
    with pytest.raises(CalibrationError, match="too few"):
        fit_kernel(rows.only(np.arange(rows.seconds.size) < 5), FitOptions(989e12))


def test_rows_faster_than_the_memory_are_left_out() -> None:
    rows = timed(Kernel(1e-9, 5e12, 650e12))
    kept = reachable(rows, 3.35e12)
    assert kept.seconds.size < rows.seconds.size
    assert sum(kept.left_out.values()) == rows.seconds.size - kept.seconds.size
    assert (kept.traffic / kept.seconds <= 3.35e12).all()


@pytest.mark.parametrize(
    ("kernel", "shapes", "noise", "reason"),
    [
        (Kernel(25e-6, 3e12, 650e12), 6, 0.0, None),
        (Kernel(25e-6, 0.6e12, 650e12), 6, 0.0, "slow kernel"),
        (Kernel(25e-6, 3e12, 650e12), 2, 0.0, "only 2 measured shapes"),
        (Kernel(25e-6, 3e12, 650e12), 6, 0.5, "left out are missed"),
    ],
)
def test_weak_fits_say_why(kernel: Kernel, shapes: int, noise: float, reason: str | None) -> None:
    hardware = load_hardware("h100-sxm")
    fit = fit_kernel(timed(kernel, shapes=shapes, noise=noise), FitOptions(989e12))
    found = weakness(hardware, fit)
    assert found is None if reason is None else reason in str(found)
    written = constants_of(hardware, "routed_experts", "vllm", "bf16", fit)
    assert written.weak == found
    assert written.samples == fit.samples


def test_attention_multiplies_in_bf16_whatever_its_cache() -> None:
    hardware = load_hardware("h100-sxm")
    assert fit_options(hardware, "attention", "fp8").peak == 989e12
    assert fit_options(hardware, "gemm", "fp8").peak == 1978e12
    assert not fit_options(hardware, "routed_experts", "fp8").norm
