"""vLLM ``bench serve``: one result, results glued by ``--append-result``, or a sweep's summary.

ITL here is the gap between streamed chunks, which under speculative decoding is one draft-verify
cycle; TPOT is per token. Acceptance keys exist from 0.14 on, in percent and in fractions.
"""

import ast
from typing import Any

from codesign.calibration.detect import Reader
from codesign.calibration.latency_points import DISAGREEMENT, ONE_TOKEN
from codesign.calibration.latency_readers.fields import (
    Record,
    lacks_keys,
    mean_context,
    named,
    number,
    records,
    text,
    timing,
)
from codesign.calibration.observation import Observation, SpeculationCounters, Timing
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import DataError

TITLE = "vLLM bench serve result"


def _lacks(sample: Sample) -> str | None:
    return lacks_keys(sample, "tokenizer_id", "num_prompts", "total_output_tokens")


def _read(sample: Sample, options: CalibrationOptions) -> list[Observation]:
    found = records(sample)
    runs = [serve_run(r, named(sample, i, len(found))) for i, r in enumerate(found)]
    if len(found) > 1 and not (sample.text or "").lstrip().startswith("["):
        note = f"{len(found)} results follow each other in one file (--append-result)"
        runs[0] = runs[0].noting(note)
    return runs


def serve_run(record: Record, where: str) -> Observation:
    """Return one run of ``bench serve``.

    Raises
    ------
    DataError
        If a figure is no number, or nothing was decoded.
    """
    token = timing(record, where, "mean_tpot_ms", "median_tpot_ms", 1e-3)
    chunk = timing(record, where, "mean_itl_ms", "median_itl_ms", 1e-3)
    if token is None and chunk is None:
        raise DataError(f"{where}: neither mean_tpot_ms nor mean_itl_ms; nothing was decoded")
    counters = _counters(record, where)
    completed = number(record, "completed", where)
    notes: list[str] = []
    batch, mean = _batch_sizes(record, where, token, completed, notes)
    drafted = _draft_tokens(record, counters, token, chunk, notes)
    return Observation(
        source=where,
        title=TITLE,
        backend="vllm" if text(record, "backend") in ("vllm", "openai", "openai-chat") else None,
        model=text(record, "model_id"),
        batch_size=batch,
        mean_batch_size=mean,
        draft_tokens=drafted,
        context=mean_context(
            number(record, "total_input_tokens", where),
            number(record, "total_output_tokens", where),
            completed,
        ),
        per_token=token,
        per_chunk=chunk,
        counters=counters,
        samples=int(completed or 1),
        notes=tuple(notes),
    )


def _counters(record: Record, where: str) -> SpeculationCounters | None:
    drafts = number(record, "spec_decode_num_drafts", where)
    drafted = number(record, "spec_decode_draft_tokens", where)
    accepted = number(record, "spec_decode_accepted_tokens", where)
    if not drafts or drafts < 1 or drafted is None or accepted is None:
        return None
    if accepted > drafted:
        raise DataError(f"{where}: {accepted:g} tokens accepted of {drafted:g} drafted")
    return SpeculationCounters(drafts, drafted, accepted)


def _batch_sizes(
    record: Record, where: str, token: Timing | None, completed: float | None, notes: list[str]
) -> tuple[float | None, float | None]:
    """Sequences asked for, capped by the requests there were, and how many ran on average."""
    asked = number(record, "max_concurrency", where, zero=False)
    rate = number(record, "output_throughput", where)
    mean = rate * token.mean if rate and token and token.mean else None
    if completed is not None and completed < 8:
        notes.append(f"only {completed:g} requests")
    if asked is None:
        return None, mean
    batch = min(asked, completed) if completed else asked
    if mean is not None and abs(mean / batch - 1) > DISAGREEMENT:
        notes.append(
            f"{mean:.3g} sequences ran together on average although {batch:g} were asked for; "
            "the average is taken as the batch size"
        )
        return mean, mean
    return batch, mean


def _draft_tokens(
    record: Record,
    counters: SpeculationCounters | None,
    token: Timing | None,
    chunk: Timing | None,
    notes: list[str],
) -> float | None:
    """K: from the counters, else as configured; 0 only where the times agree that SD was off."""
    if counters is not None:
        drafted = counters.draft_tokens
        if abs(drafted - round(drafted)) > 0.02 * drafted:
            told = f"draft length varies: {drafted:.3g} tokens on average"
            notes.append(f"{told}; give --draft-tokens")
        return None
    if token and chunk and token.mean and chunk.mean:
        ratio = chunk.mean / token.mean
        if abs(ratio - 1) <= ONE_TOKEN:
            return 0.0
        notes.append(
            f"mean ITL / mean TPOT is {ratio:.3g}, so speculative decoding was on, but the file "
            "has no spec_decode counters (vLLM before 0.14, or /metrics out of reach)"
        )
    return _configured(record)


def _configured(record: Record) -> float | None:
    """K of a sweep's ``speculative_config``, a Python literal in CSV and an object in JSON."""
    config: Any = record.get("speculative_config")
    if isinstance(config, str) and config.strip().startswith("{"):
        try:
            config = ast.literal_eval(config)
        except (ValueError, SyntaxError):
            return None
    value = config.get("num_speculative_tokens") if isinstance(config, dict) else None
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else None


READER = Reader("vllm-bench-serve", TITLE, _lacks, _read)
