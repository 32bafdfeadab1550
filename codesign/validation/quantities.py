"""What shipped cases compare, by name: each a function of a case's settings."""

from collections.abc import Callable, Mapping
from typing import Final

from codesign.validation import router_quantities, search_quantities, serving_quantities

Quantity = Callable[..., float]


def _public(module: object) -> dict[str, Quantity]:
    names = getattr(module, "__all__", ())
    return {name: getattr(module, name) for name in names}


QUANTITIES: Final[Mapping[str, Quantity]] = (
    _public(router_quantities) | _public(serving_quantities) | _public(search_quantities)
)
"""Every quantity that a case may name."""
