"""What ``bench serve`` (vLLM) and ``bench_serving`` (SGLang) print; several runs in one paste.

Both engines print the same title; SGLang's block has "Backend:" and "Accept length:".
"""

import re
from dataclasses import replace

from codesign.calibration.detect import Reader
from codesign.calibration.latency_readers.fields import Record, number
from codesign.calibration.latency_readers.sglang_serving import sglang_run
from codesign.calibration.latency_readers.vllm_serve import serve_run
from codesign.calibration.observation import Observation
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import DataError

TITLE = "printed serving benchmark"
HEADING = "Serving Benchmark Result"

_LINE = re.compile(r"^\W*([A-Z][^:]*?):\s+([-+\d.eE]+|inf|nan|\w+)\s*$")

KEYS = {
    "Successful requests": "completed",
    "Maximum request concurrency": "max_concurrency",
    "Max request concurrency": "max_concurrency",
    "Concurrency": "concurrency",
    "Total input tokens": "total_input_tokens",
    "Total generated tokens": "total_output_tokens",
    "Output token throughput (tok/s)": "output_throughput",
    "Mean TPOT (ms)": "mean_tpot_ms",
    "Median TPOT (ms)": "median_tpot_ms",
    "Mean ITL (ms)": "mean_itl_ms",
    "Median ITL (ms)": "median_itl_ms",
    "Accept length": "accept_length",
    "Acceptance rate (%)": "acceptance_percent",
    "Acceptance length": "acceptance_length",
    "Drafts": "spec_decode_num_drafts",
    "Draft tokens": "spec_decode_draft_tokens",
    "Accepted tokens": "spec_decode_accepted_tokens",
}
"""Printed label to the key of the JSON result. Peak throughput counts chunks and is not used."""


def _lacks(sample: Sample) -> str | None:
    if sample.container != "text" or sample.text is None:
        return "not text"
    return None if HEADING in sample.text else f"no {HEADING!r}"


def _read(sample: Sample, options: CalibrationOptions) -> list[Observation]:
    blocks = sample.whole_text.split(HEADING)[1:]
    found = [_record(block) for block in blocks]
    runs = []
    for index, record in enumerate(found):
        where = f"{sample.path}, run {index + 1}" if len(found) > 1 else str(sample.path)
        if not any(key.endswith(("tpot_ms", "itl_ms")) for key in record):
            raise DataError(f"{where}: {TITLE} without TPOT and ITL")
        sglang = "accept_length" in record or "concurrency" in record
        runs.append(sglang_run(record, where) if sglang else _vllm(record, where, options))
    return runs


def _record(block: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in block.splitlines():
        match = _LINE.match(line)
        if match and match[1] in KEYS:
            found.setdefault(KEYS[match[1]], match[2])
    return found


def _vllm(record: Record, where: str, options: CalibrationOptions) -> Observation:
    """Add what only the printed form has: acceptance as rate or length, without counters."""
    observation = serve_run(record, where)
    length = number(record, "acceptance_length", where, zero=False)
    percent = number(record, "acceptance_percent", where)
    if observation.counters is not None:
        return observation
    if length is not None:
        return replace(observation, stated_length=length)
    if percent is None:
        return observation
    drafted, note = _drafted(observation, percent / 100, options)
    if drafted is None:
        return observation.noting(
            f"acceptance rate {percent:g} % without a draft length: give --draft-tokens"
        )
    length = 1 + drafted * percent / 100
    observation = replace(observation, draft_tokens=float(drafted), stated_length=length)
    return observation.noting(note) if note else observation


def _drafted(
    observation: Observation, rate: float, options: CalibrationOptions
) -> tuple[int | None, str]:
    """K as given, else the whole number that rate and chunk ratio agree on."""
    if options.draft_tokens is not None:
        return options.draft_tokens, ""
    token, chunk = observation.per_token, observation.per_chunk
    if not (token and chunk and token.mean and chunk.mean and rate > 0):
        return None, ""
    ratio = chunk.mean / token.mean
    guess = (ratio - 1) / rate
    if guess < 0.5 or abs(guess - round(guess)) > 0.25:
        return None, ""
    note = (
        f"K = {round(guess)} derived from the acceptance rate and mean ITL / mean TPOT "
        f"(({ratio:.3g} - 1) / {rate:.4g} = {guess:.2g}); confirm it with --draft-tokens"
    )
    return round(guess), note


READER = Reader("serve-stdout", TITLE, _lacks, _read)
