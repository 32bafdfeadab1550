"""Counts of selections in JSON: SGLang's expert location files, DeepSeek EPLB weights."""

from typing import Final

import numpy as np

from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.router.trace import ExpertCounts
from codesign.calibration.sample import Sample
from codesign.errors import DataError
from codesign.model.arrays import FloatArray

LARGEST_COUNT: Final = 1e15


def checked_counts(value: object, dimensions: int, where: str) -> FloatArray:
    """Return counts as an array.

    Raises
    ------
    DataError
        If they are ragged, negative, not finite or of the wrong shape.
    """
    try:
        counts = np.array(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{where}: counts are numbers in lists of equal length") from None
    if counts.ndim != dimensions or counts.size == 0:
        raise DataError(f"{where}: {dimensions} dimensions expected, not {list(counts.shape)}")
    if not ((counts >= 0) & (counts <= LARGEST_COUNT)).all():
        raise DataError(f"{where}: counts must be finite and not negative")
    return counts


def step_counts(counts: FloatArray, where: str, unit: str = "step") -> ExpertCounts:
    """Return counts of [steps, layers, N]; layers without any are dense."""
    layers = np.flatnonzero(counts.sum(axis=(0, 2)) > 0)
    if layers.size == 0:
        raise DataError(f"{where}: no expert was ever selected")
    dropped = counts.shape[1] - layers.size
    per_layer = counts[:, layers].sum(axis=(0, 2))
    facts = [f"{per_layer[0]:,.0f} selections per layer, which is tokens x k"]
    if unit == "pass":
        loaded = (counts[:, layers] > 0).sum(axis=2).mean()
        facts.append(f"{loaded:.6f} experts loaded per pass and layer")
    if dropped:
        facts.append(f"{dropped} layers without any left out as dense")
    return ExpertCounts(
        where, counts[:, layers], tuple(layers.tolist()), unit=unit, facts=tuple(facts)
    )


def _lacks_counts(sample: Sample) -> str | None:
    if sample.container != "json":
        return "is not JSON"
    return None if "logical_count" in sample.keys else "has no logical_count"


def _read_counts(sample: Sample, _: CalibrationOptions) -> tuple[ExpertCounts, ...]:
    document = sample.document
    assert isinstance(document, dict)
    where = f"{sample.path}: logical_count"
    return (step_counts(checked_counts(document["logical_count"], 3, where), where),)


COUNTS_READER: Final = Reader(
    "sglang-logical-count", "SGLang logical expert counts", _lacks_counts, _read_counts
)


def _lacks_map(sample: Sample) -> str | None:
    if sample.container != "json":
        return "is not JSON"
    return None if "physical_to_logical_map" in sample.keys else "has no physical_to_logical_map"


def _refuse_map(sample: Sample, _: CalibrationOptions) -> tuple[ExpertCounts, ...]:
    raise DataError(
        f"{sample.path}: an expert map says where experts lie, not which were chosen: no routing "
        "in it; looked for counts (logical_count) or ids"
    )


MAP_READER: Final = Reader("sglang-expert-map", "SGLang expert map", _lacks_map, _refuse_map)


def _lacks_weights(sample: Sample) -> str | None:
    if sample.container != "json":
        return "is not JSON"
    rows = sample.document
    if not (isinstance(rows, list) and rows and all(isinstance(row, list) for row in rows)):
        return "is no list of lists"
    if any(isinstance(cell, list | dict | str) for row in rows for cell in row):
        return "has rows that are not numbers"
    return None


def _read_weights(sample: Sample, _: CalibrationOptions) -> tuple[ExpertCounts, ...]:
    where = str(sample.path)
    counts = checked_counts(sample.document, 2, where)
    if (counts.sum(axis=1) <= 0).any():
        raise DataError(f"{where}: a layer without any load")
    warning = (
        f"{where}: EPLB weights are estimated loads, not counts: their noise is not known, and "
        "layers are numbered from 0 as listed"
    )
    return (
        ExpertCounts(
            where, counts[None], tuple(range(len(counts))), estimated=True, unit="estimate",
            warnings=(warning,),
        ),
    )  # fmt: skip


WEIGHTS_READER: Final = Reader(
    "eplb-weights", "DeepSeek EPLB load weights", _lacks_weights, _read_weights
)
