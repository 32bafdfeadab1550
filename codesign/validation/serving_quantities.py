"""Quantities of shipped cases: step and cycle ratios, speedups, shapes over batch sizes."""

from functools import cache
from typing import Any

import numpy as np

from codesign.designs import Designs
from codesign.model.arrays import FloatArray
from codesign.prediction import Prediction, predict
from codesign.resolve import build_scenario
from codesign.spec.study import Study

__all__ = [
    "best_speedup",
    "cycle_intercept",
    "cycle_ratio",
    "cycle_slope",
    "decode_ms",
    "dense_speedup_falls",
    "draft_share_of_cycle",
    "draft_share_of_decode",
    "efficiency_dips_then_peaks",
    "inverse_efficiency",
    "long_context_gain",
    "routed_load_fraction",
    "sd_speedup",
    "target_efficiency",
    "undrafted_speedup",
]

POWERS = tuple(2**exponent for exponent in range(10))


def prediction(
    architecture: str,
    hardware: str = "h100",
    gpus: int = 1,
    batch_sizes: tuple[int, ...] = (1,),
    draft_tokens: tuple[int, ...] = (3,),
    context: int = 1024,
    **serving: Any,
) -> Prediction:
    """Predict one architecture as a case describes its serving.

    Parameters
    ----------
    architecture, hardware : str
    gpus, context : int
    batch_sizes, draft_tokens : tuple of int
    **serving
        Fields of `Deployment`, and ``draft``, ``acceptance``, ``routing`` of the study.
    """
    study = {name: serving.pop(name) for name in ("draft", "acceptance", "routing", "dtype")
             if name in serving}  # fmt: skip
    if "dtype" in study:
        serving["dtype"] = study.pop("dtype")
    scenario = _scenario(
        architecture, hardware, gpus, max(*draft_tokens, 1), context,
        tuple(sorted(serving.items())), tuple(sorted(study.items())),
    )  # fmt: skip
    designs = Designs.of_architecture(scenario.reference, np.array(draft_tokens))
    return predict(designs, scenario.at(batch_sizes))


@cache
def _scenario(  # type: ignore[no-untyped-def]
    architecture: str, hardware: str, gpus: int, longest: int, context: int, serving, study
):
    data = {
        "reference": architecture,
        "hardware": hardware,
        "workload": {"target_batch_size": 1, "context": context},
        "deployment": {"gpus": gpus} | dict(serving),
        "uncertainty": {"draws": 0},
    } | dict(study)
    return build_scenario(Study.from_data(data), longest_draft=longest)


def _single(values: FloatArray) -> float:
    return float(np.reshape(values, -1)[0])


def target_efficiency(batch_size: int = 1, draft_tokens: int = 3, **setting: Any) -> float:
    """T(B, 1) / T(B, K+1) [-]."""
    found = prediction(batch_sizes=(batch_size,), draft_tokens=(draft_tokens,), **setting)
    return _single(found.target_efficiency)


def inverse_efficiency(batch_size: int = 1, draft_tokens: int = 3, **setting: Any) -> float:
    """T(B, K+1) / T(B, 1) [-]."""
    return 1.0 / target_efficiency(batch_size, draft_tokens, **setting)


def undrafted_speedup(acceptance_length: float, batch_size: int = 1, **setting: Any) -> float:
    """Speedup if drafting were free, AL T(B, 1) / T(B, K+1) [-]."""
    return acceptance_length * target_efficiency(batch_size, **setting)


def routed_load_fraction(batch_size: int = 1, **setting: Any) -> float:
    """Share of the decode step that is proportional to unique experts [-]."""
    found = prediction(batch_sizes=(batch_size,), draft_tokens=(0,), **setting)
    return _single(found.routed_load_fraction)


def decode_ms(batch_size: int = 1, **setting: Any) -> float:
    """Decode step [ms]."""
    found = prediction(batch_sizes=(batch_size,), draft_tokens=(0,), **setting)
    return 1e3 * _single(found.step_time_decode_s)


def cycle_ratio(batch_size: int = 1, draft_tokens: int = 3, **setting: Any) -> float:
    """R [-]."""
    found = prediction(batch_sizes=(batch_size,), draft_tokens=(draft_tokens,), **setting)
    return _single(found.cycle_ratio)


def sd_speedup(batch_size: int = 1, draft_tokens: int = 3, **setting: Any) -> float:
    """Speedup at the case's acceptance [-]."""
    found = prediction(batch_sizes=(batch_size,), draft_tokens=(draft_tokens,), **setting)
    return _single(found.sd_speedup)


def best_speedup(draft_tokens: int, **setting: Any) -> float:
    """Largest speedup over batch sizes 1, 2, 4, ... 512 [-]."""
    found = prediction(batch_sizes=POWERS, draft_tokens=(draft_tokens,), **setting)
    return float(found.sd_speedup.max())


def _line(batch_size: int, **setting: Any) -> FloatArray:
    lengths = (3, 5, 7)
    found = prediction(batch_sizes=(batch_size,), draft_tokens=lengths, **setting)
    return np.asarray(np.polyfit(lengths, found.cycle_ratio.reshape(-1), 1))


def cycle_intercept(batch_size: int, **setting: Any) -> float:
    """a of R = a + b K over K = 3, 5, 7 [-]."""
    return float(_line(batch_size, **setting)[1])


def cycle_slope(batch_size: int, **setting: Any) -> float:
    """b of R = a + b K over K = 3, 5, 7 [1/token]."""
    return float(_line(batch_size, **setting)[0])


def draft_share_of_cycle(batch_size: int = 1, draft_tokens: int = 3, **setting: Any) -> float:
    """Draft time over the whole cycle [-]."""
    found = prediction(batch_sizes=(batch_size,), draft_tokens=(draft_tokens,), **setting)
    cycle = found.cycle_ratio * found.step_time_decode_s
    return _single(found.draft_time_s / cycle)


def draft_share_of_decode(batch_size: int = 1, draft_tokens: int = 3, **setting: Any) -> float:
    """Draft time over one decode step [-]."""
    found = prediction(batch_sizes=(batch_size,), draft_tokens=(draft_tokens,), **setting)
    return _single(found.draft_time_s / found.step_time_decode_s)


def dense_speedup_falls(**setting: Any) -> float:
    """1 if the speedup falls with every doubling of the batch, else 0."""
    found = prediction(batch_sizes=POWERS, **setting)
    return float((np.diff(found.sd_speedup.reshape(-1)) < 0).all())


def long_context_gain(batch_size: int, short: int, long: int, **setting: Any) -> float:
    """Speedup at the long context over that at the short one [-]."""
    at_long = sd_speedup(batch_size, **(setting | {"context": long}))
    return at_long / sd_speedup(batch_size, **(setting | {"context": short}))


def efficiency_dips_then_peaks(**setting: Any) -> float:
    """1 if target efficiency falls, rises to a peak at a moderate batch, then falls; else 0."""
    found = prediction(batch_sizes=POWERS, **setting)
    change = np.sign(np.diff(found.target_efficiency.reshape(-1)))
    turns = change[np.r_[True, change[1:] != change[:-1]]]
    return float(turns.tolist() == [-1.0, 1.0, -1.0])
