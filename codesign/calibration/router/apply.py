"""Routers from what was fitted, with the rest from another router."""

from dataclasses import replace
from typing import Final

from codesign.model.routing import GENERIC_ROUTER, RouterParameters, mean_decay, window_correlation
from codesign.spec.calibration import RoutingSection

WINDOW: Final = 4
"""Tokens of the window whose correlation is kept, as published routers state it."""
CONTEXT: Final = ("request", "recency", "decay")


def router_beside(popularity: float, skew: float, fallback: RouterParameters) -> RouterParameters:
    """Return a router of known popularity whose windows are as alike as the fallback's.

    Parameters
    ----------
    popularity, skew : float
        r_p and g [-].
    fallback : RouterParameters
        Of which r_w(4), the decay and the proportion of request to recency are kept, as far as
        r_p and a variance of 1 allow.
    """
    request, recency, decay = (
        float(getattr(fallback, name)) for name in ("request", "recency", "decay")
    )
    mean = float(mean_decay(decay, WINDOW))
    beyond = max(float(window_correlation(fallback, WINDOW)) - popularity, 0.0)
    near = request + recency * mean
    most = (1.0 - popularity) / (request + recency / decay) if near else 0.0
    scale = min(beyond / near, most) if near else 0.0
    return RouterParameters(popularity, scale * request, scale * recency, decay, skew)


def calibrated_router(section: RoutingSection, fallback: RouterParameters) -> RouterParameters:
    """Return the router of a calibration.

    Parameters
    ----------
    section : RoutingSection
    fallback : RouterParameters
        For the context of tokens where only popularity was measured. What a fit assumed, because
        its trace did not tell, is the generic router's.

    Raises
    ------
    ValueError
        If no router has these parameters.
    """
    value = {name: parameter.value for name, parameter in section.parameters.items()}
    popularity = value.get("popularity", float(GENERIC_ROUTER.popularity))
    skew = value.get("skew", 0.0)
    if not value.keys() & set(CONTEXT):
        return router_beside(popularity, skew, replace(fallback, groups=1, groups_per_token=1))
    context = [value.get(name, float(getattr(GENERIC_ROUTER, name))) for name in CONTEXT]
    if "popularity" not in value:  # what is assumed gives way to what was measured
        popularity = max(min(popularity, 1.0 - context[0] - context[1] / context[2]), 0.0)
    return RouterParameters(popularity, context[0], context[1], context[2], skew)
