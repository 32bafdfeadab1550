"""Latency files in the form that engines and clients write, made from known numbers."""

import json
from pathlib import Path
from typing import Any

from codesign.calibration.detect import read_files
from codesign.calibration.latency_points import LatencyPoint, settle
from codesign.calibration.options import CalibrationOptions

NOTHING_KNOWN = CalibrationOptions()


def written(folder: Path, name: str, content: object) -> Path:
    """Write text as it is, anything else as JSON."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def settled(
    path: Path, options: CalibrationOptions = NOTHING_KNOWN
) -> tuple[list[LatencyPoint], list[str]]:
    """Read one file and settle its points; returns all warnings too."""
    (reading,) = read_files([path], "latency", options)
    pairs = [settle(observation, options) for observation in reading.data]
    return [point for point, _ in pairs], [note for _, notes in pairs for note in notes]


def vllm_serve(
    *, batch_size: int = 8, tpot_ms: float = 9.0, itl_ms: float = 9.0,
    counters: tuple[int, int, int] | None = None, **changes: Any,
) -> dict[str, Any]:  # fmt: skip
    """One result of ``vllm bench serve``: 80 requests of 100 in, 256 out."""
    record: dict[str, Any] = {
        "date": "20261129-150000", "endpoint_type": "openai", "backend": "openai", "label": None,
        "model_id": "m", "tokenizer_id": "m", "num_prompts": 80, "request_rate": "inf",
        "burstiness": 1.0, "max_concurrency": batch_size, "duration": 22.5, "completed": 80,
        "failed": 0, "total_input_tokens": 8000, "total_output_tokens": 20480,
        "output_throughput": batch_size * 950 / tpot_ms, "max_output_tokens_per_s": 99999.0,
        "latencies": [2.2, 2.3],
    }  # fmt: skip
    if counters is not None:
        drafts, drafted, accepted = counters
        record |= {
            "spec_decode_acceptance_rate": 100 * accepted / drafted,
            "spec_decode_acceptance_length": 1 + accepted / drafts,
            "spec_decode_num_drafts": drafts,
            "spec_decode_draft_tokens": drafted,
            "spec_decode_accepted_tokens": accepted,
        }
    record |= {
        "mean_tpot_ms": tpot_ms, "median_tpot_ms": 0.99 * tpot_ms,
        "mean_itl_ms": itl_ms, "median_itl_ms": 0.98 * itl_ms,
    }  # fmt: skip
    return record | changes


def vllm_forward_case(
    name: str, batch_size: int, width: int, median_us: float, *, routing: str = "real"
) -> dict[str, Any]:
    """One case of ``vllm bench forward``."""
    request = {"query_len": width, "kv_len": 1024, "num_draft_tokens": width - 1, "chunked": False}
    latency = {"timer": "graph_events", "median": median_us, "mean": 2 * median_us, "count": 100,
               "samples_us": [3 * median_us]}  # fmt: skip
    rank = {"num_tokens": batch_size * width, "routing": routing, "timing_scope": "target_only",
            "finite": True, "latency_us": latency}  # fmt: skip
    return {"case": name, "requests": [request] * batch_size, "median_us": median_us,
            "ranks": [rank]}  # fmt: skip


def sglang_line(
    running: int, throughput: float, length: float | None = None, *, rank: str = "TP0",
    end: str = ".", rate: str = "",
) -> str:  # fmt: skip
    """One decode line of an SGLang log."""
    accepted = "" if length is None else f"accept len: {length:.2f}, {rate}"
    return (
        f"[2026-11-29 15:00:00 {rank}] Decode batch{end} #running-req: {running}, #token: 9000, "
        f"token usage: 0.02, {accepted}cuda graph: True, gen throughput (token/s): "
        f"{throughput:.2f}, #queue-req: 0"
    )
