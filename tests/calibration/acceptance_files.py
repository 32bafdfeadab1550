"""Acceptance in the form that engines write it, from known counts."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from codesign.calibration.acceptance import calibrate_acceptance
from codesign.calibration.options import CalibrationOptions
from codesign.spec.calibration import AcceptanceSection


def written(folder: Path, name: str, content: object) -> Path:
    """Write text as it is, anything else as JSON."""
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def calibrated(*paths: Path, **options: Any) -> AcceptanceSection:
    """The section of some files."""
    return calibrate_acceptance(list(paths), CalibrationOptions(**options))


def drawn(survival: Sequence[float], drafts: int, generator: np.random.Generator) -> list[int]:
    """Accepted per position in so many independent drafts."""
    exactly = -np.diff([1.0, *survival, 0.0])
    counts = generator.multinomial(drafts, exactly)
    return [int(count) for count in counts[::-1].cumsum()[::-1][1:]]


def v1_line(
    drafts: int, per_position: Sequence[int], *, bonus: bool = True, depth: int | None = None,
    throughput: bool = True, prefix: str = "INFO 11-29 15:00:00 [metrics.py:120]",
) -> str:  # fmt: skip
    """A vLLM V1 line; 0.8.5 printed the mean without the bonus token."""
    accepted, drafted = sum(per_position), drafts * (depth or len(per_position))
    fields = [f"Mean acceptance length: {accepted / drafts + bonus:.2f}"]
    if depth is not None:
        fields.append(f"Current speculative depth: {depth}")
    if throughput:
        rates = f"{accepted / 10:.2f} tokens/s", f"{drafted / 10:.2f} tokens/s"
        fields += [f"Accepted throughput: {rates[0]}", f"Drafted throughput: {rates[1]}"]
    shares = ", ".join(f"{count / drafts:.3f}" for count in per_position)
    fields += [
        f"Accepted: {accepted} tokens", f"Drafted: {drafted} tokens",
        f"Per-position acceptance rate: {shares}",
        f"Avg Draft acceptance rate: {100 * accepted / drafted:.1f}%",
    ]  # fmt: skip
    return f"{prefix} SpecDecoding metrics: {', '.join(fields)}"


EMPTY_LINE = (
    "INFO 11-29 15:00:10 [metrics.py:120] SpecDecoding metrics: Mean acceptance length: nan, "
    "Accepted throughput: 0.00 tokens/s, Drafted throughput: 0.00 tokens/s, Accepted: 0 tokens, "
    "Drafted: 0 tokens, Per-position acceptance rate: nan, nan, nan, "
    "Avg Draft acceptance rate: nan%"
)
LOAD_LINE = (
    "INFO 11-29 15:00:10 [loggers.py:331] Engine 000: Avg prompt throughput: 355.6 tokens/s, Avg "
    "generation throughput: 910.0 tokens/s, Running: 8 reqs, Waiting: 0 reqs"
)


def v0_line(draft_tokens: int, drafted: int, accepted: int, emitted: int) -> str:
    """A vLLM V0 line."""
    return (
        "INFO 04-28 10:00:00 [metrics.py:487] Speculative metrics: Draft acceptance rate: 0.607, "
        f"System efficiency: 0.510, Number of speculative tokens: {draft_tokens}, Number of "
        f"accepted tokens: {accepted}, Number of draft tokens: {drafted}, Number of emitted "
        f"tokens: {emitted}."
    )


def sglang_line(
    running: int, length: float | None, *, rate: float | None = None, form: str = "Decode batch,"
) -> str:
    """An SGLang decode line; `accept rate` means whatever its version meant."""
    accept = "" if length is None else f"accept len: {length}, "
    accept += "" if rate is None else f"accept rate: {rate}, "
    return (
        f"[2026-02-20 12:00:00 TP0] {form} #running-req: {running}, #token: 9000, token usage: "
        f"0.02, {accept}cuda graph: True, gen throughput (token/s): 910.22, #queue-req: 0"
    )


def prometheus(
    *engines: tuple[int, Sequence[int]], created: float | None = 1.79e9, model: str = "m"
) -> str:
    """vLLM's /metrics: drafts and accepted per position of each engine."""
    lines = ["# TYPE vllm:spec_decode_num_drafts_total counter"]
    for engine, (drafts, per_position) in enumerate(engines):
        labels = f'engine="{engine}",model_name="{model}"'
        counts = {
            "num_drafts": drafts, "num_draft_tokens": drafts * len(per_position),
            "num_accepted_tokens": sum(per_position),
        }  # fmt: skip
        for name, count in counts.items():
            lines.append(f"vllm:spec_decode_{name}_total{{{labels}}} {float(count)}")
            if created is not None:
                lines.append(f"vllm:spec_decode_{name}_created{{{labels}}} {created}")
        for place, count in enumerate(per_position):
            where = f'{labels},position="{place}"'
            name = "vllm:spec_decode_num_accepted_tokens_per_pos"
            lines.append(f"{name}_total{{{where}}} {float(count)}")
    return "\n".join(lines) + "\n"


def serve_result(drafts: int, per_position: Sequence[int], **more: Any) -> dict[str, Any]:
    """One result of ``vllm bench serve``; no spec_decode keys where nothing was drafted."""
    run: dict[str, Any] = {"tokenizer_id": "m", "model_id": "m", "request_throughput": 3.5}
    if drafts:
        accepted, drafted = sum(per_position), drafts * len(per_position)
        run |= {
            "spec_decode_acceptance_rate": 100 * accepted / drafted,
            "spec_decode_acceptance_length": 1 + accepted / drafts,
            "spec_decode_num_drafts": drafts, "spec_decode_draft_tokens": drafted,
            "spec_decode_accepted_tokens": accepted,
            "spec_decode_per_position_acceptance_rates": [c / drafts for c in per_position],
        }  # fmt: skip
    return run | more


def printed_result(fields: dict[str, float], positions: Sequence[float] = ()) -> str:
    """The printed table of a serving benchmark; shares in percent."""
    lines = ["============ Serving Benchmark Result ============"]
    lines += [f"{name + ':':<40} {value:<10}" for name, value in fields.items()]
    if positions:
        lines.append("Per-position acceptance (%):")
        lines += [f"  Position {i}:{'':<28}{100 * p:.2f}" for i, p in enumerate(positions)]
    return "\n".join([*lines, "=" * 50]) + "\n"
