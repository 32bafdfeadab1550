"""A model on a device, and loads at which its step time could have been measured."""

from dataclasses import replace
from functools import cache

import numpy as np

from codesign.architectures import load_architecture
from codesign.calibration.latency_points import LatencyPoint, Meaning
from codesign.calibration.latency_setting import setting_of
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.step_coordinates import Setting


@cache
def setting(model: str = "qwen3-30b-a3b", hardware: str = "h100", gpus: int = 1) -> Setting:
    options = CalibrationOptions(hardware=hardware, gpus=gpus)
    return setting_of(load_architecture(model), None, options)


def loads(
    batch_sizes: tuple[int, ...],
    draft_tokens: tuple[int, ...],
    contexts: tuple[int, ...],
    meaning: Meaning = "cycle",
) -> list[LatencyPoint]:
    """Points at every combination, not yet timed."""
    return [
        LatencyPoint(
            f"B {batch} K {drafted} context {context}", meaning, 1.0, batch_size=float(batch),
            draft_tokens=float(drafted), context=float(context),
        )
        for context in contexts
        for batch in batch_sizes
        for drafted in draft_tokens
    ]  # fmt: skip


def noisy(points: list[LatencyPoint], noise: float, seed: int) -> list[LatencyPoint]:
    """Times with relative Gaussian scatter."""
    scatter = np.random.default_rng(seed).normal(0.0, noise, len(points))
    return [
        replace(point, seconds=point.seconds * (1 + error))
        for point, error in zip(points, scatter.tolist(), strict=True)
    ]
