"""SGLang's bench_serving, bench_one_batch_server and /server_info: lengths without counts."""

from collections.abc import Iterator
from typing import Any, Final

from codesign.calibration.acceptance_readers.counts import (
    RANDOM_PROMPTS,
    Fields,
    number,
    objects,
    whole,
)
from codesign.calibration.accepted.records import AcceptanceRecord
from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import CalibrationError

LENGTHS: Final = ("accept_length", "acc_length")
AVERAGE: Final = "avg_spec_accept_length"


def _states(item: Fields) -> Iterator[Fields]:
    """Internal states of the server, at the top or under server_info."""
    info = item.get("server_info")
    for holder in (item, info if isinstance(info, dict) else {}):
        states = holder.get("internal_states")
        listed = states if isinstance(states, list) else ()
        yield from (state for state in listed if isinstance(state, dict))


def _length(item: Fields) -> Any:
    for name in LENGTHS:
        if item.get(name) is not None:
            return item[name]
    return next((s[AVERAGE] for s in _states(item) if s.get(AVERAGE) is not None), None)


def _lacks(sample: Sample) -> str | None:
    if sample.container != "json":
        return "is not JSON"
    if any(_length(item) is not None for item in objects(sample)):
        return None
    return f"has none of {', '.join((*LENGTHS, AVERAGE))}"


def _read(sample: Sample, _: CalibrationOptions) -> tuple[AcceptanceRecord, ...]:
    file, items = str(sample.path), objects(sample)
    records = []
    for index, item in enumerate(items):
        where = file if len(items) == 1 else f"{file}, run {index + 1}"
        length = _length(item)
        if length is not None and number(length, "acceptance length", where) > 1:
            records.append(_record(item, float(length), where, file))
    if not records:
        raise CalibrationError(f"{file}: no acceptance length above 1: speculation was off")
    return tuple(records)


def _record(item: Fields, length: float, where: str, file: str) -> AcceptanceRecord:
    info = item.get("server_info")
    server = info if isinstance(info, dict) else item
    steps, branches = (
        whole(server[name], name, where) if server.get(name) is not None else None
        for name in ("speculative_num_steps", "speculative_eagle_topk")
    )
    warnings = [f"{where}: SGLang states an average: no counts, no acceptance by position"]
    if branches is not None and branches > 1:
        warnings.append(
            f"{where}: the draft is a tree (topk > 1): its length is not that of a chain"
        )
    if item.get("dataset_name") == "random":
        warnings.append(f"{where}: {RANDOM_PROMPTS}")
    requests = number(item.get("completed") or 1, "completed", where)
    return AcceptanceRecord(
        where, file, steps or None, stated_length=length,
        weight=max(requests, 1.0), warnings=tuple(warnings),
    )  # fmt: skip


READER: Final = Reader("sglang-bench", "SGLang benchmark or server info", _lacks, _read)
