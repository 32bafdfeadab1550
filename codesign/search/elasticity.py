"""By how many per cent an objective changes when an input changes by one per cent."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from codesign.designs import Designs
from codesign.model.routing import window_correlation
from codesign.objectives import Objective
from codesign.prediction import predict
from codesign.scenario import Scenario
from codesign.search.problem import objective_values
from codesign.uncertainty.draws import drawn
from codesign.uncertainty.inputs import PUBLISHED_WINDOW

STEP = 0.01


def elasticities(design: Designs, scenario: Scenario, objective: Objective) -> dict[str, float]:
    """Return d ln(objective) / d ln(input) of every input of one design, by central differences.

    Parameters
    ----------
    design : Designs
        A single one.
    scenario : Scenario
        At the values in use.
    objective : Objective
    """

    def value(changed: Scenario) -> float:
        return float(np.reshape(objective_values(objective, predict(design, changed)), -1)[0])

    base = value(scenario)
    if base == 0:
        return {}
    return {
        name: (value(up) - value(down)) / (2 * STEP * base) for name, up, down in _varied(scenario)
    }


def _varied(scenario: Scenario) -> Iterator[tuple[str, Scenario, Scenario]]:
    """Every input, raised and lowered by one per cent."""
    yield "acceptance", _accepting(scenario, 1 + STEP), _accepting(scenario, 1 - STEP)
    kinds = {kind for kind, _ in scenario.replica.kernels}
    for kind in sorted(kinds):
        for constant in ("floor", "bandwidth", "compute"):
            name = f"{kind}_{constant}"
            yield name, *_raised_and_lowered(scenario, {name: 1.0}, name)
    for name in ("host_time", "sd_overhead"):
        own = getattr(scenario.replica, name)
        if own > 0:
            yield name, *_raised_and_lowered(scenario, {name: own}, name)
    yield from _routing(scenario)
    if scenario.context * STEP >= 1:
        step = round(scenario.context * STEP)
        higher, lower = scenario.context + step, scenario.context - step
        yield "context", replace(scenario, context=higher), replace(scenario, context=lower)


def _raised_and_lowered(
    scenario: Scenario, values: dict[str, float], name: str
) -> tuple[Scenario, Scenario]:
    own = values[name]
    return (
        drawn(scenario, values | {name: own * (1 + STEP)}),
        drawn(scenario, values | {name: own * (1 - STEP)}),
    )


def _routing(scenario: Scenario) -> Iterator[tuple[str, Scenario, Scenario]]:
    popularity = float(scenario.router.popularity)
    window = float(window_correlation(scenario.router, PUBLISHED_WINDOW))
    if window == 0 or window <= popularity * (1 + STEP):
        return
    inputs = {"popularity": popularity, "window_correlation": window}
    for name in inputs:
        yield name, *_raised_and_lowered(scenario, inputs, name)


def _accepting(scenario: Scenario, factor: float) -> Scenario:
    """Every conditional rate of acceptance times a factor."""
    positions = np.arange(1, scenario.survival.shape[-1] + 1)
    return replace(scenario, survival=np.minimum(scenario.survival * factor**positions, 1.0))
