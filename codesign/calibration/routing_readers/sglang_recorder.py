"""SGLang's expert distribution recorder: `stat`, `per_pass` and `per_token` torch files."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.router.trace import (
    ArraySelections,
    ExpertCounts,
    Ids,
    RoutingData,
    RoutingTrace,
    RowRange,
)
from codesign.calibration.routing_readers.expert_counts import checked_counts, step_counts
from codesign.calibration.sample import Sample
from codesign.errors import DataError

ONE_RANK: Final = "one rank's file: other ranks' tokens are not in it"
MODES: Final = {"1": "prefill", "2": "decode", "5": "verify"}


def _content(sample: Sample) -> dict[str, Any]:
    content = sample.tensors
    return content if isinstance(content, dict) else {}


def _lacks(sample: Sample) -> str | None:
    if sample.container != "torch":
        return "is no torch file"
    content = _content(sample)
    if "logical_count" in content or "records" in content:
        return None
    return "has neither logical_count nor records"


def _read(sample: Sample, _: CalibrationOptions) -> tuple[RoutingData, ...]:
    content, where = _content(sample), str(sample.path)
    if "logical_count" in content:
        counts = checked_counts(_array(content["logical_count"]), 3, f"{where}: logical_count")
        return (_warned(step_counts(counts, where)),)
    listed = content.get("records")
    records = [r for r in listed if isinstance(r, dict)] if isinstance(listed, list) else []
    if not records:
        raise DataError(f"{where}: no records")
    to_logical = content.get("last_physical_to_logical_map")
    mapping = None if to_logical is None else _checked_map(_array(to_logical), where)
    if all("topk_ids_of_layer" in record for record in records):
        return (_tokens(records, mapping, where),)
    return (_passes(records, mapping, where),)


def _warned(counts: ExpertCounts) -> ExpertCounts:
    return ExpertCounts(
        counts.label, counts.counts, counts.layers, counts.estimated, counts.unit, counts.facts,
        (f"{counts.label}: {ONE_RANK}",),
    )  # fmt: skip


def _array(value: Any) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except (TypeError, ValueError):  # ragged lists: no array, which the callers refuse
        return np.empty(0, dtype=object)


def _passes(
    records: list[dict[str, Any]], mapping: NDArray[np.int64] | None, where: str
) -> ExpertCounts:
    if any("global_physical_count" not in record for record in records):
        raise DataError(f"{where}: records have neither topk_ids_of_layer nor counts")
    counts = [_array(record["global_physical_count"]) for record in records]
    if len({each.shape for each in counts}) > 1:
        raise DataError(f"{where}: passes of different models")
    stacked = np.stack(counts)
    physical = checked_counts(stacked, 3, where)
    if mapping is not None and mapping.shape != physical.shape[1:]:
        raise DataError(f"{where}: counts and the map of experts do not go together")
    logical = physical if mapping is None else np.zeros((*physical.shape[:2], _experts(mapping)))
    if mapping is not None:
        for layer, logical_ids in enumerate(mapping):
            for slot, expert in enumerate(logical_ids.tolist()):
                logical[:, layer, expert] += physical[:, layer, slot]
    return _warned(step_counts(logical, where, "pass"))


def _checked_map(mapping: NDArray[Any], where: str) -> NDArray[np.int64]:
    """Logical expert of each physical one, by layer; there are no more logical ones."""
    if mapping.ndim != 2 or mapping.dtype.kind not in "iu" or mapping.size == 0:
        raise DataError(f"{where}: the map of experts is [layers, physical experts]")
    if mapping.min() < 0 or mapping.max() >= mapping.shape[1]:
        raise DataError(f"{where}: the map of experts names experts that cannot be")
    return mapping.astype(np.int64)


def _experts(mapping: NDArray[np.int64]) -> int:
    return int(mapping.max()) + 1


def _tokens(
    records: list[dict[str, Any]], mapping: NDArray[np.int64] | None, where: str
) -> RoutingTrace:
    """Ids of every token of every pass; runs of consecutive positions are sequences' parts."""
    ids = np.concatenate(_pieces(records, where))
    ids = ids[:, :, : _width(ids, where)]
    if mapping is not None:
        if mapping.shape[0] != ids.shape[1] or ids.max() >= mapping.shape[1]:
            raise DataError(f"{where}: ids and the map of experts do not go together")
        layer = np.arange(ids.shape[1])[:, None]
        ids = np.where(ids < 0, ids, mapping[layer, np.maximum(ids, 0)])
    chains = _chains(records)
    modes = sorted({MODES.get(str(record.get("forward_mode")), "other") for record in records})
    emitted = [step for chain in chains for step in chain.steps]
    facts = [f"{len(records)} passes ({', '.join(modes)}), {len(chains)} sequences"]
    if emitted and "verify" in modes:
        facts.append(f"acceptance length {np.mean(emitted):.3g} over {len(emitted)} cycles")
    return RoutingTrace(
        where, ArraySelections(ids), tuple(tuple(chain.runs) for chain in chains),
        tuple(range(ids.shape[1])), None if mapping is None else _experts(mapping),
        facts=tuple(facts),
        warnings=(
            f"{where}: {ONE_RANK}",
            f"{where}: rows of verify passes include rejected drafts; sequences are told apart by "
            "their positions alone",
        ),
    )  # fmt: skip


def _pieces(records: list[dict[str, Any]], where: str) -> list[Ids]:
    """Ids of each pass, [tokens, layers, 8], with as many positions."""
    pieces = [_array(record["topk_ids_of_layer"]) for record in records]
    if len({piece.shape[:1] + piece.shape[2:] for piece in pieces}) > 1:
        raise DataError(f"{where}: passes of different models")
    for piece, record in zip(pieces, records, strict=True):
        positions = _array(record.get("positions", ()))
        if piece.ndim != 3 or piece.dtype.kind not in "iu":
            raise DataError(f"{where}: topk_ids_of_layer is [layers, tokens, 8] of whole numbers")
        if positions.shape != piece.shape[1:2] or positions.dtype.kind not in "iu":
            raise DataError(f"{where}: a pass has not as many positions as tokens")
    return [piece.transpose(1, 0, 2) for piece in pieces]


def _width(ids: Ids, where: str) -> int:
    """Ids before the padding: the width of 8 is fixed, whatever k is."""
    widths = np.unique((ids >= 0).sum(axis=-1))
    widths = widths[widths > 0]
    if widths.size != 1:
        raise DataError(f"{where}: rows have {widths.tolist()} ids: k must be one number")
    return int(widths[0])


@dataclass
class _Chain:
    """Runs of one sequence through the passes."""

    start: int
    stop: int
    runs: list[RowRange] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)

    def continues(self, start: int) -> bool:
        return self.start < start <= self.stop


def _chains(records: list[dict[str, Any]]) -> list[_Chain]:
    chains: list[_Chain] = []
    row = 0
    for record in records:
        positions = np.asarray(_array(record["positions"]), dtype=np.int64)
        free = list(chains)
        for first, last in _consecutive(positions):
            start, stop = int(positions[first]), int(positions[last - 1]) + 1
            chain = next((each for each in free if each.continues(start)), None)
            if chain is None:
                chains.append(_Chain(start, stop, [(row + first, row + last)]))
                continue
            free.remove(chain)
            chain.steps.append(start - chain.start)
            chain.runs.append((row + first, row + last))
            chain.start, chain.stop = start, stop
        row += len(positions)
    return chains


def _consecutive(positions: NDArray[np.int64]) -> list[RowRange]:
    """First row and the one after the last of each run of consecutive positions."""
    breaks = np.flatnonzero(np.diff(positions) != 1) + 1
    edges = [0, *breaks.tolist(), len(positions)]
    return list(pairwise(edges))


READER: Final = Reader("sglang-recorder", "SGLang expert distribution recorder", _lacks, _read)
