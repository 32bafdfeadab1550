"""Print the figures that decision records quote, each from an independent computation.

    python scripts/decision_figures.py

takes some minutes: routers are simulated with an exact top-k, or integrated by brute force.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a file, from anywhere

from codesign.hardware import load_hardware
from codesign.model.latent_router import overlap, unique_experts
from codesign.model.routing import (
    GENERIC_ROUTER,
    RouterParameters,
    router_from_window_correlation,
    window_correlation,
)
from tests.model.oracle_router import (
    SimulatedRouter,
    chain_unique_share,
    exact_overlap,
    mean_unique,
)

ALIKE: Final = router_from_window_correlation(0.71)
WINDOWS: Final = (2, 4, 8, 17)
BATCHES: Final = np.array([1, 4, 16])
SHORT: Final = np.array([1, 4, 8])
Line = tuple[str, str]


def exact_top_k() -> Iterator[Line]:
    """Record 2."""
    for experts, top_k in ((128, 1), (16, 1), (8, 2), (32, 4), (128, 8)):
        batch = np.array([1, 2, 8, 32])[:, None]
        fixed, exact = (
            unique_experts(experts, top_k, batch, SHORT, GENERIC_ROUTER, correct_top_k=correct)
            for correct in (False, True)
        )
        low = float((1 - fixed / exact).max())
        yield f"fixed threshold, {experts}/{top_k}, most too few", f"{low:.1%}"
    errors = {True: [0.0], False: [0.0]}
    for experts in (2, 4, 16, 128, 1024, 4096):
        for top_k in (k for k in (1, 2, 4) if k < experts):
            for correlation in (0.05, 0.3, 0.6, 0.8, 0.95):
                ours = 2 - float(overlap(experts, top_k, correlation))
                error = abs(ours / (2 - exact_overlap(experts, top_k, correlation)) - 1)
                errors[correlation <= 0.6 and top_k >= 2].append(error)
    yield "unique experts of two tokens, r <= .6 and k >= 2, worst", f"{max(errors[True]):.2%}"
    yield "the same, all other pairs, worst", f"{max(errors[False]):.2%}"
    yield "unique experts of batches against simulation, worst", _batches_against_simulation()


def _batches_against_simulation() -> str:
    worst = noise = 0.0
    for router in (GENERIC_ROUTER, ALIKE):
        for experts, top_k in ((8, 1), (8, 2), (32, 4), (128, 1), (128, 8)):
            simulated = SimulatedRouter(experts, top_k, router)
            mean, error = mean_unique(simulated.batches(16, 8, 400, seed=1), BATCHES, SHORT)
            ours = unique_experts(experts, top_k, BATCHES[:, None], SHORT, router)
            apart, noise_here = np.abs(ours / mean - 1), error / mean
            at = np.unravel_index(apart.argmax(), apart.shape)
            worst, noise = max((worst, noise), (float(apart[at]), float(noise_here[at])))
    return f"{worst:.2%} (standard error of the simulation there {noise:.2%})"


def chained_blocks() -> Iterator[Line]:
    """Record 3."""
    for name, router in (("generic", GENERIC_ROUTER), ("r_w(4) = .71", ALIKE)):
        mean, blocks = [], []
        for window in WINDOWS:
            for batch in (1, 8):
                chain = 128 * chain_unique_share(8 / 128, router, batch, window)
                one = _one_correlation(router, window)
                mean.append(_fixed(batch, window, one) / chain - 1)
                blocks.append(abs(_fixed(batch, window, router) / chain - 1))
        yield f"one mean correlation, {name}, most too many", f"{max(mean):.1%}"
        yield f"chained blocks, {name}, worst", f"{max(blocks):.2%}"
    ratio = _fixed(1, 4, GENERIC_ROUTER) / _fixed(1, 1, GENERIC_ROUTER)
    one = _one_correlation(GENERIC_ROUTER, 4)
    yield "U(1, 4)/U(1, 1), 128/8, generic, blocks", f"{ratio:.3f}"
    yield "the same, one mean correlation", f"{_fixed(1, 4, one) / 8:.3f}"


def _fixed(batch: int, window: int, router: RouterParameters) -> float:
    return float(unique_experts(128, 8, batch, window, router, correct_top_k=False))


def _one_correlation(router: RouterParameters, window: int) -> RouterParameters:
    request = float(window_correlation(router, window)) - float(router.popularity)
    return RouterParameters(router.popularity, request, 0.0, 0.5)


def narrow_experts() -> Iterator[Line]:
    """Record 4."""
    [kernel] = [
        each
        for each in load_hardware("h100").kernels
        if (each.kernel, each.backend, each.dtype) == ("routed_experts", "vllm", "bf16")
    ]
    narrow = float(kernel.narrow_width or 0.0)
    yield "narrow_width, H100, vLLM, bf16 [element]", f"{narrow:.0f}"
    for width in (384, 192, 96):
        reached = (1 + (narrow / 768) ** 1.5) / (1 + (narrow / width) ** 1.5)
        yield f"bandwidth at width {width} over that at 768", f"{reached:.2f}"


def group_limited() -> Iterator[Line]:
    """Record 7."""
    for experts, top_k, groups, kept in ((256, 8, 8, 4), (160, 6, 8, 3)):
        free, limited = (
            mean_unique(
                SimulatedRouter(experts, top_k, GENERIC_ROUTER, *limit).batches(16, 8, 200, seed=3),
                BATCHES,
                SHORT,
            )[0]
            for limit in ((1, 1), (groups, kept))
        )
        more = limited / free - 1
        router = replace(GENERIC_ROUTER, groups=groups, groups_per_token=kept)
        ours = unique_experts(experts, top_k, BATCHES[:, None], SHORT, router)
        apart = float(np.sqrt(np.mean((ours / limited - 1) ** 2)))
        where = f"{experts}/{top_k} in {kept} of {groups} groups"
        yield f"{where}: more unique experts, simulated", f"{more.min():.1%} to {more.max():.1%}"
        yield f"{where}: the model against it, rms", f"{apart:.2%}"


RECORDS: Final[dict[int, Callable[[], Iterator[Line]]]] = {
    2: exact_top_k,
    3: chained_blocks,
    4: narrow_experts,
    7: group_limited,
}


def main() -> None:
    """Print every record's figures."""
    for number, figures in RECORDS.items():
        for what, value in figures():
            print(f"{number}. {what}: {value}", flush=True)


if __name__ == "__main__":
    main()
