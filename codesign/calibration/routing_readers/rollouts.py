"""Rollouts of RL frameworks as torch files: slime and verl."""

from typing import Any, Final

import numpy as np

from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.router.rows import flat_shape, runs_of_shape, unpadded
from codesign.calibration.router.trace import ArraySelections, Ids, RoutingTrace
from codesign.calibration.routing_readers.ids import joined
from codesign.calibration.sample import Sample
from codesign.errors import DataError

SLIME_KEY: Final = "rollout_routed_experts"
VERL_KEY: Final = "routed_experts"


def _samples(content: object) -> list[dict[str, Any]]:
    samples = content.get("samples") if isinstance(content, dict) else None
    listed = samples if isinstance(samples, list) else []
    return [s for s in listed if isinstance(s, dict) and s.get(SLIME_KEY) is not None]


def _lacks_slime(sample: Sample) -> str | None:
    if sample.container != "torch":
        return "is no torch file"
    return None if _samples(sample.tensors) else f"has no samples[].{SLIME_KEY}"


def _read_slime(sample: Sample, _: CalibrationOptions) -> tuple[RoutingTrace, ...]:
    where = str(sample.path)
    pieces: list[Ids] = []
    facts = []
    for index, item in enumerate(_samples(sample.tensors)):
        ids = np.asarray(item[SLIME_KEY])
        if ids.ndim != 3:
            raise DataError(f"{where}: sample {index}: ids are [tokens - 1, layers, k]")
        flat_shape(ids.shape, ids.dtype, where)
        tokens, response = item.get("tokens"), item.get("response_length")
        tokens = len(tokens) if isinstance(tokens, list) else 0
        response = response if isinstance(response, int) else 0
        if tokens and tokens - 1 != len(ids):
            raise DataError(
                f"{where}: sample {index}: {len(ids)} rows for {tokens} tokens; all but the last "
                "have one"
            )
        facts.append(f"{tokens - response} prompt rows")
        pieces.append(ids)
    ids, runs = joined(pieces, where)
    trace = RoutingTrace(
        where, ArraySelections(ids), tuple((run,) for run in runs), tuple(range(ids.shape[1])),
        facts=tuple(facts[:1]),
    )  # fmt: skip
    return (trace,)


SLIME_READER: Final = Reader(
    "slime-rollout", "slime rollout with routed experts", _lacks_slime, _read_slime
)


def _lacks_verl(sample: Sample) -> str | None:
    if sample.container != "torch":
        return "is no torch file"
    content = sample.tensors
    ids = content.get(VERL_KEY) if isinstance(content, dict) else None
    if ids is None or len(getattr(ids, "shape", ())) != 4:
        return f"has no tensor {VERL_KEY} of [sequences, tokens, layers, k]"
    return None


def _read_verl(sample: Sample, _: CalibrationOptions) -> tuple[RoutingTrace, ...]:
    where, content = str(sample.path), sample.tensors
    assert isinstance(content, dict)
    ids = np.asarray(content[VERL_KEY])
    flat = flat_shape(ids.shape, ids.dtype, where)
    sequences = runs_of_shape(ids.shape)
    mask = content.get("attention_mask")
    if mask is not None:
        sequences = unpadded(sequences, np.asarray(mask), where)
    trace = RoutingTrace(
        where, ArraySelections(ids.reshape(flat)), sequences, tuple(range(ids.shape[2]))
    )
    return (trace,)


VERL_READER: Final = Reader(
    "verl-rollout", "verl batch with routed experts", _lacks_verl, _read_verl
)
