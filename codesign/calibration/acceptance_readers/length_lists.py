"""Acceptance lengths or survival by draft length: YAML lists, CSV with columns K and AL."""

import csv
from collections.abc import Mapping
from typing import Any, Final

import yaml

from codesign.calibration.acceptance_readers.counts import number, shares, whole
from codesign.calibration.accepted.records import AcceptanceRecord
from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import DataError

LENGTH_COLUMNS: Final = ("AL", "acceptance_length", "accept_length")
K_COLUMNS: Final = ("K", "draft_tokens", "num_speculative_tokens")
NAME_COLUMNS: Final = ("model", "mode", "series")
LARGEST_TEXT: Final = 1 << 16


def _mapping(sample: Sample) -> Mapping[str, Any] | None:
    if sample.container not in ("text", "json") or len(sample.head) >= LARGEST_TEXT:
        return None
    try:
        found = yaml.load(sample.whole_text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _is_list(value: object) -> bool:
    """Tell whether a value maps draft lengths to numbers, or to lists of survival."""
    return (
        isinstance(value, dict)
        and bool(value)
        and all(isinstance(key, int) and not isinstance(key, bool) for key in value)
        and all(isinstance(item, int | float | list) for item in value.values())
    )


def _lacks(sample: Sample) -> str | None:
    found = _mapping(sample)
    if found is None:
        return "is no YAML mapping"
    if _is_list(found) or any(_is_list(value) for value in found.values()):
        return None
    return "has no mapping of draft length to acceptance length, such as {1: 1.78, 2: 2.38}"


def _read(sample: Sample, _: CalibrationOptions) -> tuple[AcceptanceRecord, ...]:
    file, found = str(sample.path), _mapping(sample)
    if found is None:
        raise DataError(f"{file}: no YAML mapping")
    named: Mapping[Any, Any] = {"": found} if _is_list(found) else found
    records: list[AcceptanceRecord] = []
    for name, runs in named.items():
        if _is_list(runs):
            label = f"{file}: {name}" if name else file
            records += [
                _run(length, value, f"{label}, K = {length}", file, str(name) or "all")
                for length, value in runs.items()
            ]
    return tuple(records)


def _run(draft_tokens: int, value: object, where: str, file: str, name: str) -> AcceptanceRecord:
    if draft_tokens < 1:
        raise DataError(f"{where}: the draft length is at least 1")
    if isinstance(value, list):
        survival = shares(value, where)
        if len(survival) != draft_tokens:
            raise DataError(f"{where}: {len(survival)} positions")
        return AcceptanceRecord(where, file, draft_tokens, survival=survival)
    length = number(value, "acceptance length", where)
    if not 1 <= length <= draft_tokens + 1:
        raise DataError(
            f"{where}: acceptance length {length:g} is not within 1 and {draft_tokens + 1}"
        )
    return AcceptanceRecord(where, file, draft_tokens, stated_length=length, series=name)


READER: Final = Reader("acceptance-lists", "acceptance lengths by draft length", _lacks, _read)


def _columns(sample: Sample) -> tuple[str, str] | None:
    if sample.container != "text" or sample.text is None:
        return None
    header = [name.strip() for name in sample.text.split("\n", 1)[0].split(",")]
    length = next((name for name in LENGTH_COLUMNS if name in header), None)
    draft = next((name for name in K_COLUMNS if name in header), None)
    return (draft, length) if draft and length else None


def _lacks_csv(sample: Sample) -> str | None:
    if _columns(sample) is not None:
        return None
    return f"has no columns {' or '.join(K_COLUMNS)} and {' or '.join(LENGTH_COLUMNS)}"


def _read_csv(sample: Sample, _: CalibrationOptions) -> tuple[AcceptanceRecord, ...]:
    file, columns = str(sample.path), _columns(sample)
    if columns is None:
        raise DataError(f"{file}: {_lacks_csv(sample)}")
    rows = list(csv.DictReader(sample.whole_text.splitlines()))
    models = {row.get("model") for row in rows}
    if len(models) > 1:
        raise DataError(
            f"{file}: {len(models)} models in one file; keep the rows of one: "
            f"{', '.join(sorted(str(model) for model in models))}"
        )
    records = []
    for index, row in enumerate(rows, start=2):
        where = f"{file}, line {index}"
        draft = whole(row.get(columns[0]), columns[0], where)
        if draft == 0:
            continue
        name = " ".join(str(row[column]) for column in NAME_COLUMNS if row.get(column))
        length = number(row.get(columns[1]), columns[1], where)
        records.append(_run(draft, length, where, file, name or "all"))
    return tuple(records)


CSV_READER: Final = Reader("acceptance-csv", "table of acceptance lengths", _lacks_csv, _read_csv)
