"""Acceptance of single requests: vLLM's metrics.speculative_decoding, SGLang's meta_info."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from codesign.calibration.acceptance_readers.counts import (
    Fields,
    counted,
    number,
    objects,
    survival_of_histogram,
    whole,
)
from codesign.calibration.accepted.records import AcceptanceRecord
from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import CalibrationError, DataError

SGLANG_ACCEPTED: Final = ("spec_num_correct_drafts", "spec_accept_token_num")
SGLANG_PROPOSED: Final = ("spec_num_proposed_drafts", "spec_draft_token_num")
SGLANG_HISTOGRAM: Final = ("spec_correct_drafts_histogram", "spec_accept_histogram")
FEW_DRAFTS: Final = 1000


def _vllm(item: Fields) -> Fields | None:
    metrics = item.get("metrics")
    found = metrics.get("speculative_decoding") if isinstance(metrics, dict) else None
    return found if isinstance(found, dict) else None


def _sglang(item: Fields) -> Fields | None:
    found = item.get("meta_info")
    return found if isinstance(found, dict) and found.get("spec_verify_ct") else None


def _lacks(sample: Sample) -> str | None:
    if sample.container != "json":
        return "is not JSON"
    if any(_vllm(item) or _sglang(item) for item in objects(sample)):
        return None
    return "has neither metrics.speculative_decoding nor meta_info.spec_verify_ct"


def _read(sample: Sample, _: CalibrationOptions) -> tuple[AcceptanceRecord, ...]:
    file = str(sample.path)
    records = []
    for index, item in enumerate(objects(sample)):
        where = f"{file}, request {index + 1}"
        vllm, sglang = _vllm(item), _sglang(item)
        if vllm:
            records.append(_vllm_request(vllm, where, file))
        elif sglang:
            records.append(_sglang_request(sglang, where, file))
    if not records:
        raise CalibrationError(f"{file}: no request has a draft")
    drafts = sum(record.drafts or 0.0 for record in records)
    if drafts < FEW_DRAFTS:
        warning = f"{file}: {len(records)} requests with {drafts:g} drafts: errors are large"
        records[0] = replace(records[0], warnings=(*records[0].warnings, warning))
    return tuple(records)


def _vllm_request(fields: Fields, where: str, file: str) -> AcceptanceRecord:
    drafts = number(fields.get("num_spec_steps"), "num_spec_steps", where)
    drafted = number(fields.get("num_draft_tokens"), "num_draft_tokens", where)
    accepted = number(fields.get("num_accepted_draft_tokens"), "num_accepted_draft_tokens", where)
    length = fields.get("num_spec_tokens")
    return _request(
        where, file, drafts, drafted, accepted, fields.get("acceptance_histogram"),
        whole(length, "num_spec_tokens", where) or None if length is not None else None,
    )  # fmt: skip


def _sglang_request(fields: Fields, where: str, file: str) -> AcceptanceRecord:
    drafts = number(fields["spec_verify_ct"], "spec_verify_ct", where)
    accepted = number(_first(fields, SGLANG_ACCEPTED), "accepted drafts", where)
    drafted = number(_first(fields, SGLANG_PROPOSED), "proposed drafts", where)
    return _request(where, file, drafts, drafted, accepted, _first(fields, SGLANG_HISTOGRAM), None)


def _first(fields: Fields, names: Sequence[str]) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def _request(
    where: str,
    file: str,
    drafts: float,
    drafted: float,
    accepted: float,
    histogram: object,
    draft_tokens: int | None,
) -> AcceptanceRecord:
    if not drafts:
        raise CalibrationError(f"{where}: no drafts")
    survival: tuple[float, ...] = ()
    if isinstance(histogram, list) and len(histogram) > 1:
        steps = [number(count, "acceptance histogram", where) for count in histogram]
        if abs(sum(steps) - drafts) > 0.5:
            raise DataError(f"{where}: the histogram has {sum(steps):g} steps of {drafts:g}")
        survival = survival_of_histogram(steps)
    return counted(where, file, drafts, drafted, accepted, survival, draft_tokens=draft_tokens)


READER: Final = Reader("request-json", "responses with acceptance per request", _lacks, _read)
