"""JSON schemas of every file a user writes."""

from typing import Any, Final

from codesign.errors import UsageError, did_you_mean
from codesign.spec.ablation import Ablation
from codesign.spec.architecture import Architecture
from codesign.spec.base import Spec
from codesign.spec.calibration import Calibration
from codesign.spec.draft import Acceptance, Draft
from codesign.spec.hardware import Deployment, Hardware
from codesign.spec.study import Space, Study
from codesign.spec.workload import Workload

SPECS: Final[dict[str, type[Spec]]] = {
    "study": Study,
    "ablation": Ablation,
    "hardware": Hardware,
    "architecture": Architecture,
    "workload": Workload,
    "deployment": Deployment,
    "draft": Draft,
    "acceptance": Acceptance,
    "calibration": Calibration,
    "space": Space,
}


def json_schema(name: str) -> dict[str, Any]:
    """Return the JSON schema of one spec.

    Raises
    ------
    UsageError
        If there is no spec of that name.
    """
    if name not in SPECS:
        hint = did_you_mean(name, SPECS)
        raise UsageError(f"unknown schema {name!r}{hint}; known: {', '.join(SPECS)}")
    return SPECS[name].model_json_schema()
