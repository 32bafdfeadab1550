"""A prediction as plain rows: what `predict` prints and what every design of a result carries."""

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from codesign.errors import UsageError
from codesign.model.arrays import ArrayLike, FloatArray
from codesign.model.quality import ENSEMBLE, estimate_quality, law_status, shape_flags
from codesign.prediction import FIGURES, Prediction
from codesign.regimes import regime_map

Record = dict[str, Any]


def plain(value: float) -> float | int | None:
    """Return a number as JSON has it: whole ones as integers, none for infinities."""
    number = float(value)
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def differences(one: Record, other: Record) -> list[str]:
    """Return the fields in which two records differ."""
    return sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))


def design_record(prediction: Prediction) -> Record:
    """Return every figure of a single design over the workload mix, and its regimes."""
    record: Record = {
        name: plain(prediction.value(name).reshape(-1)[0]) if _available(name, prediction) else None
        for name in FIGURES
    }
    regimes = prediction.regime.reshape(-1)
    record["regime"] = str(regimes[0]) if len(regimes) == 1 else [str(each) for each in regimes]
    record["regimes"] = asdict(regime_map(prediction.designs, prediction.scenario))
    record["memory_breakdown"] = {
        part: plain(np.max(bytes_)) for part, bytes_ in vars(prediction.footprint).items()
    }
    record["quality"] = quality_record(prediction)
    record["by_batch_size"] = prediction_rows(prediction)
    return record


def prediction_rows(prediction: Prediction) -> list[Record]:
    """Return one row per batch size and design, in that order."""
    shape = (len(prediction.scenario.batch_sizes), *prediction.designs.shape)
    columns = {
        name: _cells(getattr(prediction, name), shape)
        for name in FIGURES
        if _available(name, prediction)
    }
    columns["batch_size"] = _cells(prediction.batch_size, shape)
    regimes = np.broadcast_to(prediction.regime, shape).reshape(-1)
    decode = _component_cells(prediction.decode_costs, shape)
    verify = _component_cells(prediction.verify_costs, shape)
    rows = []
    for cell in range(len(regimes)):
        row: Record = {"batch_size": plain(columns["batch_size"][cell])}
        row |= {name: plain(columns[name][cell]) if name in columns else None for name in FIGURES}
        row["regime"] = str(regimes[cell])
        row["components"] = {
            "decode": {name: plain(values[cell]) for name, values in decode.items()},
            "verify": {name: plain(values[cell]) for name, values in verify.items()},
        }
        rows.append(row)
    return rows


def _available(name: str, prediction: Prediction) -> bool:
    """Whether the scenario has what a figure needs: a price, a power, a limit."""
    try:
        getattr(prediction, name)
    except UsageError:
        return False
    return True


def _cells(values: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    return np.broadcast_to(values, shape).reshape(-1)


def _component_cells(costs: Any, shape: tuple[int, ...]) -> dict[str, FloatArray]:
    return {name: _cells(cost.seconds, shape) for name, cost in costs.items()}


def quality_record(prediction: Prediction) -> Record:
    """Return what every law says of a single design, how far it may speak, and the ensemble."""
    design, reference = prediction.quality_inputs, prediction.reference_quality_inputs
    flags = shape_flags(design)

    def first(values: ArrayLike) -> float:
        return float(np.reshape(values, -1)[0])

    record: Record = {
        "mean": plain(first(prediction.loss_difference)),
        "quantile": None,
        "epsilon": prediction.scenario.quality_epsilon,
        "probability": None,
        "laws": {
            law.name: {
                "loss_difference": plain(first(law.difference(design, reference))),
                "status": str(np.reshape(law_status(design, law), -1)[0]),
            }
            for law in ENSEMBLE
        },
        "flags": [name for name, raised in flags._asdict().items() if np.any(raised)],
    }
    if prediction.scenario.quality_draws:
        estimate = estimate_quality(
            design,
            reference,
            epsilon=prediction.scenario.quality_epsilon,
            draws=prediction.scenario.quality_draws,
        )
        record["quantile"] = plain(first(estimate.quantile))
        record["probability"] = plain(first(estimate.probability))
    return record
