"""Models as they are served, at small settings."""

from typing import Any

from codesign.export.served import Served, serve_study
from codesign.spec.study import Study


def served(reference: str = "qwen3-30b-a3b", **fields: Any) -> Served:
    """Return a reference with its best draft length; nothing drawn."""
    data: dict[str, Any] = {
        "reference": reference,
        "hardware": "h100",
        "workload": {"target_batch_size": 32, "context": 1024},
        "deployment": {"gpus": 1},
        "uncertainty": {"draws": 0},
    }
    return serve_study(Study.from_data(data | fields))
