"""Payloads of RL frameworks (SkyRL, prime-rl): {data: base64, shape, dtype}."""

from typing import Any, Final

import numpy as np

from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.router.trace import ArraySelections, Ids, RoutingTrace
from codesign.calibration.routing_readers.ids import decode_ids, is_payload, joined
from codesign.calibration.routing_readers.vllm_response import responses
from codesign.calibration.sample import Sample
from codesign.errors import DataError

PARTS: Final = ("prompt_routed_experts", "routed_experts")


def _payloads(item: dict[str, Any]) -> list[Any]:
    """Prompt first, then output; or the item itself."""
    if is_payload(item):
        return [item]
    return [item[part] for part in PARTS if is_payload(item.get(part))]


def _lacks(sample: Sample) -> str | None:
    if sample.container != "json":
        return "is not JSON"
    if any(_payloads(item) for item in responses(sample)):
        return None
    return "has no object of data, shape and dtype, alone or as routed_experts"


def _read(sample: Sample, _: CalibrationOptions) -> tuple[RoutingTrace, ...]:
    where = str(sample.path)
    pieces: list[Ids] = []
    experts = None
    for index, item in enumerate(responses(sample)):
        parts = [decode_ids(part, f"{where}: item {index}") for part in _payloads(item)]
        if parts:
            _check_narrow(parts, item.get("num_experts"), f"{where}: item {index}")
            pieces.append(np.concatenate(parts))
            experts = _experts(item, where) or experts
            if item.get("top_k", parts[0].shape[2]) != parts[0].shape[2]:
                raise DataError(f"{where}: top_k is {item['top_k']}, but rows have another width")
    ids, runs = joined(pieces, where)
    trace = RoutingTrace(
        where, ArraySelections(ids), tuple((run,) for run in runs), tuple(range(ids.shape[1])),
        experts=experts,
    )  # fmt: skip
    return (trace,)


def _experts(item: dict[str, Any], where: str) -> int | None:
    found = item.get("num_experts")
    if found is not None and (not isinstance(found, int) or found < 1):
        raise DataError(f"{where}: num_experts is no count: {found!r}")
    return found


def _check_narrow(parts: list[Ids], experts: object, where: str) -> None:
    """A part in bytes that is joined to a wider one would lose its type, the sign of wrapping."""
    types = {part.dtype.name for part in parts}
    if len(types) > 1 and "uint8" in types and isinstance(experts, int) and experts > 256:
        raise DataError(f"{where}: ids of N = {experts} experts wrapped around in uint8")


READER: Final = Reader("routing-payload", "payload of expert ids with its shape", _lacks, _read)
