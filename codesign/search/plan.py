"""What a search is going to do, how long it may take, and why: said before it is done."""

import math
import time
from dataclasses import dataclass
from typing import Final

from codesign.objectives import Objective
from codesign.search.enumerate import POINTS_AT_ONCE, enumerate_part
from codesign.search.sampling import check_sampler
from codesign.search.variants import Variants
from codesign.spec.study import Search

EXACT_POINTS: Final = 10**9
"""Evaluations that `auto` spends on a certificate: minutes on two cores."""

POINTS_PER_DRAW: Final = 0.5
"""Cost of one draw of a design, in evaluations without draws: few designs get as far as draws."""

SECONDS_PER_TRIAL: Final = {"tpe": 0.01, "gp": 1.0, "nsga2": 0.002, "qmc": 0.002, "random": 0.001}
"""Of the sampler itself, over some hundred trials (benchmarks/bench_search.py)."""

BASE_BYTES: Final = 130e6
"""One process with numpy, scipy and Optuna."""

BYTES_PER_POINT: Final = 8 * 40
"""Arrays of one mesh alive at the same time."""

TIMED_FROM: Final = 50_000
"""Smaller spaces take seconds at most, and are not timed."""

LONG: Final = 10.0
"""From so many seconds on a plan is shown unasked."""


@dataclass(frozen=True)
class Plan:
    """What will be done.

    Parameters
    ----------
    size : int
        Designs of the space.
    study, exact, polish : bool
        Whether an Optuna study is run, the space enumerated, the study's best polished.
    why : str
    seconds, bytes : float
        Estimated time, and memory of one process.
    text : str
        All of it for people.
    """

    size: int
    study: bool
    exact: bool
    polish: bool
    why: str
    seconds: float
    bytes: float
    text: str

    @property
    def long(self) -> bool:
        """Whether it is worth saying before it begins."""
        return self.seconds >= LONG


def make_plan(
    variants: Variants, search: Search, front: tuple[Objective, ...], workers: int
) -> Plan:
    """Choose the engine and estimate what it takes.

    The choice depends on the study alone, not on how fast this machine is.

    Raises
    ------
    UsageError
        If there is no such sampler.
    """
    check_sampler(search.sampler)
    size, draws = variants.size, len(variants.own.draws)
    limit = int(EXACT_POINTS / (1 + POINTS_PER_DRAW * draws))
    study, exact, polish, why = _engine(search, size, limit)
    seconds = 0.0
    if exact:
        seconds += size * _seconds_per_design(variants, front) / workers
    if study:
        seconds += search.trials * SECONDS_PER_TRIAL.get(search.sampler, 0.01)
    bytes_ = BASE_BYTES + BYTES_PER_POINT * POINTS_AT_ONCE
    steps = [
        *([f"an Optuna study of {search.trials} trials ({search.sampler})"] if study else []),
        *(["a local search from its best designs"] if polish else []),
        *(["every design evaluated"] if exact else []),
    ]
    certificate = "exact certificate" if exact else "no certificate"
    text = "\n".join(
        [
            f"space: {_axes(variants)} = {size:,} designs{_but(variants, size)}",
            f"plan: {', then '.join(steps)}; {certificate}",
            f"why: {why}",
            f"estimate: {_duration(seconds)} on {workers} worker{'s' * (workers > 1)}, "
            f"{bytes_ / 1e6:.0f} MB per process, {draws} draws",
        ]
    )
    return Plan(size, study, exact, polish, why, seconds, bytes_, text)


def _engine(search: Search, size: int, limit: int) -> tuple[bool, bool, bool, str]:
    match search.engine:
        case "exact":
            return False, True, False, "engine exact"
        case "optuna":
            return True, False, False, "engine optuna; exact or auto would certify its answer"
        case "hybrid":
            return True, False, True, "engine hybrid"
    if size <= search.trials:
        return False, True, False, "no more designs than trials: each is evaluated once"
    if size <= limit:
        return True, True, False, f"up to {limit:,} designs a study is certified"
    return True, False, True, f"more than {limit:,} designs; --engine exact evaluates them all"


def _seconds_per_design(variants: Variants, front: tuple[Objective, ...]) -> float:
    """Time a part in the middle of the space, once it is warm."""
    space = variants.own.space
    if variants.size < TIMED_FROM:
        return 0.0
    chunks = list(space.chunks(POINTS_AT_ONCE // 8))
    middle = chunks[len(chunks) // 2]
    for _ in range(2):
        start = time.perf_counter()
        enumerate_part(variants.own, front, middle)
        elapsed = time.perf_counter() - start
    return elapsed / max(1, space.count(middle))


def _but(variants: Variants, size: int) -> str:
    """What the product of the axes does not say: designs that are none, values nobody wrote."""
    axes = variants.own.space.axes
    product = len(variants) * math.prod(len(values) for values in axes.values())
    none = f", without {product - size:,} that have top_k > experts" if product > size else ""
    left_out = "".join(f"; {line}" for line in variants.own.space.assumptions())
    return f"{none}; the reference's own experts are always among them{left_out}"


def _axes(variants: Variants) -> str:
    axes = {**variants.own.space.axes, **variants.axes}
    return " x ".join(f"{len(values)} {name}" for name, values in axes.items())


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "under a second"
    if seconds < 120:
        return f"about {seconds:.0f} s"
    if seconds < 7200:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.0f} h"
