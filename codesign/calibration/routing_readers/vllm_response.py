"""vLLM responses with `enable_return_routed_experts`: completion, chat, token-in/token-out."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.router.trace import ArraySelections, Ids, RoutingTrace, RowRange
from codesign.calibration.routing_readers.ids import decode_ids, joined
from codesign.calibration.sample import Sample
from codesign.errors import DataError

STALE: Final = (
    "vLLM: rows after a prefix-cache hit or a preemption may be stale; record with prefix caching "
    "off"
)


def responses(sample: Sample) -> tuple[dict[str, Any], ...]:
    """Return the JSON objects of a file: one, a list of them, or one per line."""
    found = sample.lines
    if len(found) == 1 and isinstance(found[0], list):
        found = tuple(found[0])
    return tuple(item for item in found if isinstance(item, dict))


def _choices(response: dict[str, Any]) -> list[dict[str, Any]]:
    choices = response.get("choices")
    return [c for c in choices if isinstance(c, dict)] if isinstance(choices, list) else []


def _lacks(sample: Sample) -> str | None:
    if sample.container != "json":
        return "is not JSON"
    if any(choice.get("routed_experts") for r in responses(sample) for choice in _choices(r)):
        return None
    return "has no choices[].routed_experts"


def _read(sample: Sample, _: CalibrationOptions) -> tuple[RoutingTrace, ...]:
    where = str(sample.path)
    pieces: list[Ids] = []
    owners: list[int] = []
    facts: list[str] = []
    speculative = False
    for index, response in enumerate(responses(sample)):
        speculative |= _speculative(response)
        for ids, fact in _requests(response, f"{where}: response {index}"):
            pieces.append(ids)
            owners.append(index)
            facts.append(fact)
    if not pieces:
        raise DataError(f"{where}: no choice has routed_experts")
    ids, runs = joined(pieces, where)
    sequences: dict[int, list[RowRange]] = {}
    for owner, run in zip(owners, runs, strict=True):
        sequences.setdefault(owner, []).append(run)
    warnings = [STALE]
    if speculative:
        warnings.append(f"{where}: speculative decoding was on: rejected drafts have no rows")
    trace = RoutingTrace(
        where, ArraySelections(ids), tuple(tuple(runs) for runs in sequences.values()),
        tuple(range(ids.shape[1])), speculative=speculative, facts=tuple(facts[:1]),
        warnings=tuple(warnings),
    )  # fmt: skip
    return (trace,)


def _speculative(response: dict[str, Any]) -> bool:
    metrics = response.get("metrics")
    return isinstance(metrics, dict) and bool(metrics.get("speculative_decoding"))


def _requests(response: dict[str, Any], where: str) -> Iterator[tuple[Ids, str]]:
    """Rows of each choice; the prompt, which all choices share, is kept once."""
    for number, choice in enumerate(_choices(response)):
        written = choice.get("routed_experts")
        if not written:
            continue
        ids = decode_ids(written, where)
        prompt = choice.get("prompt_routed_experts") or response.get("prompt_routed_experts")
        if prompt:
            before = decode_ids(prompt, where)
            ids = ids if number else np.concatenate([before, ids])
            yield ids, f"{len(before)} prompt rows"
            continue
        rows = _prompt_tokens(response, choice, len(ids))
        fact = "prompt and output are not told apart" if rows is None else f"{rows} prompt rows"
        yield ids[rows if number and rows else 0 :], fact


def _prompt_tokens(response: dict[str, Any], choice: dict[str, Any], rows: int) -> int | None:
    """From usage, or from the output: the last sampled token has no row."""
    usage = response.get("usage")
    if isinstance(usage, dict) and isinstance(usage.get("prompt_tokens"), int):
        return int(usage["prompt_tokens"])
    output = choice.get("token_ids")
    return rows + 1 - len(output) if isinstance(output, list) else None


READER: Final = Reader("vllm-response", "vLLM response with routed experts", _lacks, _read)
