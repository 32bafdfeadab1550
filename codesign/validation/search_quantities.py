"""Quantities of shipped cases: what the certified search chooses."""

from functools import cache
from typing import Any

from codesign.spec.study import Study
from codesign.study import optimize

__all__ = ["best_design", "best_design_speedup", "reference_speedup"]


@cache
def _answer(target_batch_size: int, context: int, gpus: int, constraints: tuple[str, ...]) -> Any:
    data = {
        "hardware": "h100",
        "workload": {"target_batch_size": target_batch_size, "context": context},
        "deployment": {"gpus": gpus},
        "constraints": dict.fromkeys(constraints, False),
        "uncertainty": {"draws": 0},
        "search": {"engine": "exact"},
    }
    return optimize(Study.from_data(data))


def best_design(
    axis: str, target_batch_size: int, context: int = 4096, gpus: int = 1, without: str = ""
) -> float:
    """Value of one axis of the certified design [-]."""
    answer = _answer(target_batch_size, context, gpus, _names(without))
    return float(answer.best["design"][axis])


def best_design_speedup(
    target_batch_size: int, context: int = 4096, gpus: int = 1, without: str = ""
) -> float:
    """Its speedup [-]."""
    answer = _answer(target_batch_size, context, gpus, _names(without))
    return float(answer.best["objectives"]["sd_speedup"])


def reference_speedup(
    target_batch_size: int, context: int = 4096, gpus: int = 1, without: str = ""
) -> float:
    """The reference's at its own best K [-]."""
    answer = _answer(target_batch_size, context, gpus, _names(without))
    return float(answer.reference["objectives"]["sd_speedup"])


def _names(written: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in written.split(",") if name.strip())
