"""SGLang responses with `return_routed_experts`: base64 of raw int32, without a shape."""

from typing import Any, Final

import numpy as np

from codesign.architectures import load_architecture
from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.router.trace import ArraySelections, Ids, RoutingTrace
from codesign.calibration.routing_readers.ids import base64_bytes, joined
from codesign.calibration.routing_readers.vllm_response import responses
from codesign.calibration.sample import Sample
from codesign.errors import CalibrationError, DataError


def _encoded(response: dict[str, Any]) -> str | None:
    """The ids of a native response, or of the OpenAI form."""
    for holder in ("meta_info", "sglext"):
        part = response.get(holder)
        if isinstance(part, dict) and isinstance(part.get("routed_experts"), str):
            return str(part["routed_experts"])
    return None


def _lacks(sample: Sample) -> str | None:
    if sample.container != "json":
        return "is not JSON"
    if any(_encoded(response) for response in responses(sample)):
        return None
    return "has neither meta_info.routed_experts nor sglext.routed_experts"


def _read(sample: Sample, options: CalibrationOptions) -> tuple[RoutingTrace, ...]:
    where = str(sample.path)
    pieces = []
    for index, response in enumerate(responses(sample)):
        encoded = _encoded(response)
        if encoded:
            label = f"{where}: response {index}"
            raw = base64_bytes(encoded, label)
            if len(raw) % 4:
                raise DataError(f"{label}: {len(raw)} bytes are no whole number of int32")
            pieces.append(_shaped(np.frombuffer(raw, "<i4"), _rows(response), options, label))
    ids, runs = joined(pieces, where)
    trace = RoutingTrace(
        where, ArraySelections(ids), tuple((run,) for run in runs), tuple(range(ids.shape[1]))
    )
    return (trace,)


def _rows(response: dict[str, Any]) -> int | None:
    """Prompt and output tokens less the last, which has no row."""
    for holder in ("meta_info", "usage"):
        part = response.get(holder)
        counts = part if isinstance(part, dict) else {}
        prompt, output = counts.get("prompt_tokens"), counts.get("completion_tokens")
        if isinstance(prompt, int) and isinstance(output, int):
            return prompt + output - 1
    return None


def _shaped(flat: Ids, rows: int | None, options: CalibrationOptions, where: str) -> Ids:
    layers, top_k = options.layers, options.top_k
    if options.architecture:
        model = load_architecture(options.architecture)
        layers = layers or model.layers
        top_k = top_k or (model.moe.top_k if model.moe else None)
    if layers is None or top_k is None:
        raise CalibrationError(_ambiguous(flat, rows, where))
    expected = None if rows is None else rows * layers * top_k
    if flat.size % (layers * top_k) or expected not in (None, flat.size):
        tokens = "tokens" if rows is None else f"{rows} tokens"
        raise DataError(
            f"{where}: {flat.size:,} ids are not {tokens} x {layers} layers x k = {top_k}: another "
            "model"
        )
    return flat.reshape(-1, layers, top_k)


def _ambiguous(flat: Ids, rows: int | None, where: str) -> str:
    message = f"{where}: {flat.size:,} ids without a shape; give --arch, or --layers and --top-k"
    if not rows or flat.size % rows:
        return message
    both = flat.size // rows
    possible = [
        f"{both // top_k} layers x k = {top_k}"
        for top_k in range(1, both + 1)
        if both % top_k == 0 and not _refuted(flat.reshape(rows, -1, top_k))
    ]
    return f"{message} ({rows} tokens, so layers x k = {both}; possible: {', '.join(possible)})"


def _refuted(ids: Ids) -> bool:
    """Tell whether a row that is not constant repeats an id, which no router does."""
    ordered = np.sort(ids, axis=-1)
    repeats = (ordered[..., 1:] == ordered[..., :-1]).any(axis=-1)
    constant = ordered[..., 0] == ordered[..., -1]
    return bool((repeats & ~constant).any())


READER: Final = Reader("sglang-response", "SGLang response with routed experts", _lacks, _read)
