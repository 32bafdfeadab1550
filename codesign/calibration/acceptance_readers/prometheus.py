"""Prometheus text of /metrics: vLLM counters, SGLang gauges."""

import re
from collections.abc import Iterator
from typing import Final

from codesign.calibration.acceptance_readers.counts import (
    number,
    whole,
)
from codesign.calibration.accepted.records import AcceptanceData, AcceptanceRecord, Counter, Scrape
from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import CalibrationError, DataError

_LINE: Final = re.compile(r"([a-zA-Z_:][\w:]*)(?:\{([^}]*)\})?\s+(\S+)")
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

VLLM: Final = "vllm:spec_decode_"
VLLM_COUNTERS: Final = {
    "num_drafts": "drafts",
    "num_draft_tokens": "drafted",
    "num_accepted_tokens": "accepted",
    "num_emitted_tokens": "emitted",
    "num_accepted_tokens_per_pos": "position",
}
SGLANG: Final = "sglang:spec_accept_length"

Series = tuple[str, dict[str, str], str]


def _series(text: str) -> Iterator[Series]:
    for line in text.splitlines():
        match = None if line.startswith("#") else _LINE.match(line)
        if match:
            name, labels, value = match.groups()
            yield name, dict(_LABEL.findall(labels or "")), value


def _lacks_vllm(sample: Sample) -> str | None:
    if sample.container != "text":
        return "is not text"
    if re.search(rf"^{VLLM}", sample.whole_text, re.MULTILINE):
        return None
    return f"has no {VLLM}* counters"


def _read_vllm(sample: Sample, options: CalibrationOptions) -> tuple[AcceptanceData, ...]:
    where = str(sample.path)
    engines: dict[str, Counter] = {}
    created: dict[str, float] = {}
    models = set()
    for name, labels, value in _series(sample.whole_text):
        if not name.startswith(VLLM):
            continue
        models.add(labels.get("model_name", ""))
        engine = f"{labels.get('model_name', '')}/{labels.get('engine', '')}"
        short = name.removeprefix(VLLM)
        if short.endswith("_created"):
            created[engine] = number(value, name, where)
            continue
        key = VLLM_COUNTERS.get(short.removesuffix("_total"))
        if key is not None:
            key = labels.get("position", "0") if key == "position" else key
            engines.setdefault(engine, {})[key] = number(value, name, where)
    if len(models) > 1:
        raise DataError(f"{where}: counters of several models: {', '.join(sorted(models))}")
    if not engines:
        raise DataError(f"{where}: {VLLM}* without values")
    if any("emitted" in counter and "drafts" not in counter for counter in engines.values()):
        return (_first_generation(where, engines, options),)
    return (Scrape(sample.path, engines, created),)


def _first_generation(
    where: str, engines: dict[str, Counter], options: CalibrationOptions
) -> AcceptanceRecord:
    """vLLM V0 counts no drafts: they follow from K."""
    drafted = sum(counter.get("drafted", 0.0) for counter in engines.values())
    emitted = sum(counter.get("emitted", 0.0) for counter in engines.values())
    if options.draft_tokens is None or not drafted:
        raise CalibrationError(
            f"{where}: vLLM V0 counters ({drafted:g} drafted, {emitted:g} emitted tokens) without "
            "the number of drafts; give --draft-tokens"
        )
    drafts = drafted / options.draft_tokens
    return AcceptanceRecord(
        where, where, options.draft_tokens, drafts, emitted - drafts,
        warnings=(f"{where}: vLLM V0: no acceptance by position",),
    )  # fmt: skip


VLLM_READER: Final = Reader("vllm-metrics", "vLLM Prometheus metrics", _lacks_vllm, _read_vllm)


def _lacks_sglang(sample: Sample) -> str | None:
    if sample.container != "text":
        return "is not text"
    if re.search(rf"^{SGLANG}\b", sample.whole_text, re.MULTILINE):
        return None
    return f"has no {SGLANG}"


def _read_sglang(sample: Sample, _: CalibrationOptions) -> tuple[AcceptanceData, ...]:
    where = str(sample.path)
    lengths, steps = [], set()
    for name, _labels, value in _series(sample.whole_text):
        if name == SGLANG:
            lengths.append(number(value, name, where))
        elif name == "sglang:spec_num_steps":
            steps.add(whole(value, name, where))
    lengths = [length for length in lengths if length > 0]
    if not lengths:
        raise CalibrationError(f"{where}: {SGLANG} is 0: speculative decoding was off")
    record = AcceptanceRecord(
        where, where, steps.pop() if len(steps) == 1 else None,
        stated_length=sum(lengths) / len(lengths),
        warnings=(
            f"{where}: SGLang gauges of the last interval: no counts, so no error; no acceptance "
            "by position; a chain is assumed",
        ),
    )  # fmt: skip
    return (record,)


SGLANG_READER: Final = Reader(
    "sglang-metrics", "SGLang Prometheus metrics", _lacks_sglang, _read_sglang
)
