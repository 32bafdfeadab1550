"""Joint draws of the uncertain inputs: the same points for every design."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final

import numpy as np
from numpy.polynomial.chebyshev import chebpts1
from scipy.stats import qmc

from codesign.model.acceptance import decay_survival
from codesign.model.arrays import FloatArray
from codesign.model.routing import RouterParameters, mean_decay
from codesign.replica import Replica
from codesign.scenario import Scenario
from codesign.spec.study import Study
from codesign.uncertainty.inputs import PUBLISHED_WINDOW, UncertainInput, uncertain_inputs

ROUTING_INPUTS: Final = ("popularity", "window_correlation")
ROUTER_NODES: Final = 3
"""Tabulated routers per axis; between them unique experts err by less than 1 %: decision 8."""


@dataclass(frozen=True)
class Draws:
    """Scenarios drawn jointly.

    Parameters
    ----------
    inputs : tuple of UncertainInput
    values : ndarray, shape (draws, inputs)
        What was drawn.
    scenarios : tuple of Scenario
        One per draw.
    """

    inputs: tuple[UncertainInput, ...]
    values: FloatArray
    scenarios: tuple[Scenario, ...]

    def __len__(self) -> int:
        return len(self.scenarios)

    def assumptions(self) -> tuple[str, ...]:
        """Say what is drawn, what is not, and what the draws decide."""
        if not self.scenarios:
            return ("uncertainty: not drawn; every figure is a point estimate",)
        lines = [
            f"uncertainty: objectives are statistics over {len(self)} joint draws, the same for "
            "every design; constraints hold at the values in use"
        ]
        for column, each in enumerate(self.inputs):
            low, high = np.quantile(self.values[:, column], [0.05, 0.95])
            lines.append(
                f"uncertainty: {each.name} {each.value:.4g}, drawn {low:.4g} to {high:.4g} "
                f"(5-95 %; {each.origin})"
            )
        return tuple(lines)


NO_DRAWS: Final = Draws((), np.zeros((0, 0)), ())
"""The values in use are all there is."""


def draw_scenarios(study: Study, scenario: Scenario) -> Draws:
    """Draw scenarios from scrambled Sobol points of the study's seed.

    Parameters
    ----------
    study : Study
        Its `uncertainty` says how many and within which ranges.
    scenario : Scenario
        The values in use.
    """
    inputs = tuple(uncertain_inputs(study, scenario))
    draws = study.uncertainty.draws
    if draws == 0 or not inputs:
        return Draws(inputs, np.zeros((0, len(inputs))), ())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # any number of draws, not only powers of 2
        points = qmc.Sobol(len(inputs), rng=study.search.seed).random(draws)
    points = np.clip(points, 1e-6, 1 - 1e-6)
    columns = [each.sample(points[:, place]) for place, each in enumerate(inputs)]
    values = np.stack(columns, axis=1)
    names = [each.name for each in inputs]
    rows = (dict(zip(names, map(float, row), strict=True)) for row in values)
    scenarios = [drawn(scenario, row) for row in rows]
    if "popularity" in names:
        routers = _routers(scenario.router, inputs, values)
        scenarios = [replace(s, router=r) for s, r in zip(scenarios, routers, strict=True)]
    return Draws(inputs, values, tuple(scenarios))


def drawn(scenario: Scenario, values: dict[str, float]) -> Scenario:
    """Return the scenario with some inputs at other values."""
    survival = scenario.survival
    if "acceptance_rate" in values:
        rate, decay = values["acceptance_rate"], values["acceptance_decay"]
        survival = decay_survival(rate, decay, survival.shape[-1])
    if "acceptance_scale" in values:
        survival = np.clip(survival * values["acceptance_scale"], 0.0, 1.0)
    if "acceptance_beyond" in values:
        survival = _decaying_beyond(scenario, survival, values["acceptance_beyond"])
    return replace(
        scenario,
        router=drawn_router(
            scenario.router,
            values.get("popularity", float(scenario.router.popularity)),
            values.get("window_correlation"),
        ),
        survival=survival,
        replica=_replica(scenario.replica, values),
        cycle_error=values.get("cycle_error", scenario.cycle_error),
    )


def _decaying_beyond(scenario: Scenario, survival: FloatArray, ratio: float) -> FloatArray:
    """Let rates beyond the calibration's positions change by a further factor at each."""
    section = None if scenario.calibration is None else scenario.calibration.acceptance
    observed = 0 if section is None else section.observed
    beyond = np.maximum(np.arange(1, survival.shape[-1] + 1) - observed, 0)
    return np.minimum.accumulate(survival * ratio ** (beyond * (beyond + 1) / 2), axis=-1)


def drawn_router(
    router: RouterParameters, popularity: float, window: float | None
) -> RouterParameters:
    """Return a router of another r_p and r_w(4), near the given one's proportions.

    Context cannot make tokens less alike than popularity. Where the scores' variance would exceed
    1, recency gives way to what a whole request shares, so that r_w(4) is met.
    """
    if window is None:
        return replace(router, popularity=popularity)
    request, recency, decay = (float(v) for v in (router.request, router.recency, router.decay))
    mean = float(mean_decay(decay, PUBLISHED_WINDOW))
    beyond = max(window - popularity, 0.0)
    proportional = recency * beyond / (request + recency * mean)
    most = (1.0 - popularity - beyond) / (1.0 / decay - mean)
    recency = min(proportional, most)
    return replace(router, popularity=popularity, request=beyond - recency * mean, recency=recency)


def _routers(
    router: RouterParameters, inputs: tuple[UncertainInput, ...], values: FloatArray
) -> list[RouterParameters]:
    """Routers of all draws, interpolated between a few tabulated ones."""
    names = [each.name for each in inputs]
    columns = [values[:, names.index(name)] for name in ROUTING_INPUTS if name in names]
    nodes = [_chebyshev_nodes(column) for column in columns]
    table = [drawn_router(router, *point) for point in _grid(nodes)]
    routers = []
    for draw in range(len(values)):
        weights = [_lagrange(n, column[draw]) for n, column in zip(nodes, columns, strict=True)]
        products = [float(np.prod(point)) for point in product(*weights)]
        exact = drawn_router(router, *_point([column[draw] for column in columns]))
        routers.append(replace(exact, between=tuple(zip(table, products, strict=True))))
    return routers


def _grid(nodes: list[FloatArray]) -> list[tuple[float, float | None]]:
    return [_point(point) for point in product(*nodes)]


def _point(values: Sequence[float]) -> tuple[float, float | None]:
    return float(values[0]), float(values[1]) if len(values) > 1 else None


def _chebyshev_nodes(values: FloatArray) -> FloatArray:
    """Distinct nodes that span the values: a single one where all are equal."""
    low, high = float(values.min()), float(values.max())
    return np.unique((low + high + (high - low) * chebpts1(ROUTER_NODES)) / 2)


def _lagrange(nodes: FloatArray, value: float) -> list[float]:
    """Weights that interpolate at `value` between values at the nodes."""
    return [
        float(np.prod([(value - other) / (node - other) for other in nodes if other != node]))
        for node in nodes
    ]


def _replica(replica: Replica, values: dict[str, float]) -> Replica:
    kernels = {}
    for (kind, dtype), resolved in replica.kernels.items():
        own = resolved.kernel
        kernel = replace(
            own,
            floor=own.floor * values.get(f"{kind}_floor", 1.0),
            bandwidth=own.bandwidth * values.get(f"{kind}_bandwidth", 1.0),
            compute=own.compute * values.get(f"{kind}_compute", 1.0),
        )
        kernels[kind, dtype] = replace(resolved, kernel=kernel)
    return replace(
        replica,
        kernels=kernels,
        host_time=values.get("host_time", replica.host_time),
        sd_overhead=values.get("sd_overhead", replica.sd_overhead),
    )
