"""Quality of a design against its reference, from an ensemble of published laws."""

from codesign.model.quality.ensemble import (
    EPSILON,
    TIE,
    QualityEstimate,
    ShapeFlags,
    estimate_quality,
    loss_difference,
    shape_flags,
)
from codesign.model.quality.laws import effective_parameters
from codesign.model.quality.members import (
    EFFECTIVE_PARAMETERS,
    ENSEMBLE,
    SIMPLE,
    Interval,
    Law,
    QualityInputs,
    law_status,
)

__all__ = [
    "EFFECTIVE_PARAMETERS",
    "ENSEMBLE",
    "EPSILON",
    "SIMPLE",
    "TIE",
    "Interval",
    "Law",
    "QualityEstimate",
    "QualityInputs",
    "ShapeFlags",
    "effective_parameters",
    "estimate_quality",
    "law_status",
    "loss_difference",
    "shape_flags",
]
