"""Small ablations that run in a fraction of a second."""

from typing import Any

import pytest

from codesign.spec.ablation import Ablation

STUDY: dict[str, Any] = {
    "hardware": "h100",
    "workload": {"target_batch_size": 1, "context": 512},
    "deployment": {"gpus": 1},
    "space": {"experts": [96, 128], "top_k": [6, 8], "shared_experts": [0, 1], "draft_tokens": 3},
    "uncertainty": {"draws": 0},
}


@pytest.fixture
def searched() -> Ablation:
    """Every row optimised again."""
    return Ablation.from_data(
        {"study": STUDY, "factors": {"workload.target_batch_size": [1, 32]}, "combine": "crossed"}
    )


@pytest.fixture
def weighed() -> Ablation:
    """The reference, with terms taken out."""
    return Ablation.from_data(
        {
            "study": STUDY,
            "design": "reference",
            "terms": {
                "correlation": ["temporal_correlation", "popularity_skew"],
                "overhead": ["launch_floors"],
            },
        }
    )
