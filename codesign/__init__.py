"""Co-design Mixture-of-Experts architectures and draft length for speculative decoding.

>>> import codesign
>>> study = codesign.Study.from_data({"hardware": "h100", "workload": {"target_batch_size": 32}})
>>> result = codesign.optimize(study)  # doctest: +SKIP
>>> result.best["design"], result.front, result.to_frame(), result.certificate  # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from codesign.ablation import ablate, load_ablation
    from codesign.result import Certificate, Result
    from codesign.search.engines import Run
    from codesign.spec.study import Study
    from codesign.study import load_study, optimize

__all__ = [
    "Certificate",
    "Result",
    "Run",
    "Study",
    "ablate",
    "load_ablation",
    "load_study",
    "optimize",
]

_HOMES = {
    "Certificate": "codesign.result",
    "Result": "codesign.result",
    "Run": "codesign.search.engines",
    "Study": "codesign.spec.study",
    "ablate": "codesign.ablation",
    "load_ablation": "codesign.ablation",
    "load_study": "codesign.study",
    "optimize": "codesign.study",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for only then: `codesign --help` needs none of it."""
    if name not in _HOMES:
        raise AttributeError(f"module 'codesign' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__doc__", "__name__", "__path__"]
