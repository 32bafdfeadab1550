"""Print the figures that decision records and docstrings quote, from independent computations.

    python scripts/decision_figures.py

Routers are simulated with an exact top-k, or integrated by brute force. A line begins with the
number of the decision record, or with the module whose docstring has the figure.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a file, from anywhere

from codesign.hardware import list_hardware, load_hardware
from codesign.model.expert_parallel import busiest_rank
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
    mean_busiest,
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
        for top_k in (k for k in (1, 2, 4, 8) if k < experts):
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
    fitted = {
        (device, kernel.backend, kernel.dtype): float(kernel.narrow_width or 0.0)
        for device in list_hardware()
        for kernel in load_hardware(device).kernels
        if kernel.kernel == "routed_experts" and kernel.samples
    }
    narrow = fitted["h100-sxm", "vllm", "bf16"]
    yield "narrow_width, H100, vLLM, bf16 [element]", f"{narrow:.0f}"
    devices, engines, _ = zip(*fitted, strict=True)
    where = f"{len({*devices})} devices, {len({*engines})} engines"
    low, middle, high = np.quantile([*fitted.values()], (0, 0.5, 1))
    yield f"the same, {where}", f"{low:.0f} to {high:.0f}, median {middle:.0f}"
    for width in (384, 192, 96):
        reached = (1 + (narrow / 768) ** 1.5) / (1 + (narrow / width) ** 1.5)
        yield f"bandwidth at width {width} over that at 768", f"{reached:.2f}"


def group_limited() -> Iterator[Line]:
    """Record 7."""
    for experts, top_k, groups, kept in ((256, 8, 8, 4), (160, 6, 8, 3), (256, 8, 8, 2)):
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


def busiest() -> Iterator[Line]:
    """The busiest rank of expert parallelism, by how many experts a rank holds; 1 to 64 tokens."""
    for held in (16, 8, 4, 2, 1):
        errors: dict[str, list[float]] = {}
        for experts, top_k in ((256, 8), (128, 8), (64, 6), (32, 2)):
            for batch, window in ((1, 1), (8, 1), (16, 4)):
                ranks = experts // held
                batches = SimulatedRouter(experts, top_k, GENERIC_ROUTER).batches(
                    batch, window, 1200, seed=1
                )
                unique, slots = mean_busiest(batches, ranks)
                load = busiest_rank(experts, top_k, batch, window, GENERIC_ROUTER, ranks)
                found = {
                    "unique experts": float(load.unique_experts) / unique - 1,
                    "token slots": float(load.token_slots) / slots - 1,
                }
                if batch * window == 1:  # each of its experts has one slot
                    found = {"either of one token": found["token slots"]}
                for kind, error in found.items():
                    errors.setdefault(kind, []).append(error)
        for kind, each in errors.items():
            yield f"{held} experts per rank, {kind}", f"{min(each):+.0%} to {max(each):+.0%}"


FIGURES: Final[dict[str, Callable[[], Iterator[Line]]]] = {
    "2": exact_top_k,
    "3": chained_blocks,
    "4": narrow_experts,
    "7": group_limited,
    "expert_parallel": busiest,
}


def main() -> None:
    """Print every figure."""
    for name, figures in FIGURES.items():
        for what, value in figures():
            print(f"{name}. {what}: {value}", flush=True)


if __name__ == "__main__":
    main()
