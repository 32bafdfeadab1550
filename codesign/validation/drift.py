"""Predictions on a small grid against a committed baseline."""

import json
from pathlib import Path
from typing import Any, Final

import numpy as np

from codesign.errors import UsageError
from codesign.records import plain
from codesign.validation.rows import ValidationRow
from codesign.validation.serving_quantities import prediction
from codesign.whole_file import write_whole

BASELINE: Final = Path(__file__).parent / "drift_baseline.json"
TOLERANCE: Final = 1e-6
"""Platforms' linear algebra differs by far less [-]."""

BATCH_SIZES: Final = (1, 8, 64)
DRAFT_TOKENS: Final = (0, 1, 4)
FIGURES: Final = (
    "unique_experts_verify",
    "step_time_decode_s",
    "step_time_verify_s",
    "draft_time_s",
    "cycle_ratio",
    "sd_speedup",
    "memory_bytes_per_gpu",
)
SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "qwen3-30b-a3b h100": {"architecture": "qwen3-30b-a3b"},
    "qwen3-235b-a22b h200 tp8 sglang": {
        "architecture": "qwen3-235b-a22b", "hardware": "h200", "gpus": 8, "backend": "sglang",
    },
    "deepseek-v3 b200 ep8 mtp": {
        "architecture": "deepseek-v3", "hardware": "b200", "gpus": 8, "expert_parallel": 8,
        "attention_dp": True, "draft": "mtp",
    },
    "mixtral-8x7b a100 tp2": {"architecture": "mixtral-8x7b", "hardware": "a100", "gpus": 2},
    "gpt-oss-120b l40s tp4 eager": {
        "architecture": "gpt-oss-120b", "hardware": "l40s", "gpus": 4, "cuda_graphs": False,
    },
    "llama-3.1-8b h100 model draft": {"architecture": "llama-3.1-8b", "draft": "model:qwen3-0.6b"},
}  # fmt: skip
"""What is predicted: router, group limit, expert parallelism, formats, drafts, graphs."""


def predictions() -> dict[str, float]:
    """Predict the grid; keys name setting, batch size, draft length and figure."""
    values = {}
    for name, setting in SETTINGS.items():
        found = prediction(batch_sizes=BATCH_SIZES, draft_tokens=DRAFT_TOKENS, **setting)
        shape = (len(BATCH_SIZES), len(DRAFT_TOKENS))
        for figure in FIGURES:
            cells = np.broadcast_to(getattr(found, figure), shape)
            for (row, column), value in np.ndenumerate(cells):
                key = f"{name} B={BATCH_SIZES[row]} K={DRAFT_TOKENS[column]} {figure}"
                values[key] = float(value)
    return values


def drift_rows(baseline: Path = BASELINE) -> list[ValidationRow]:
    """Return the predictions that changed, appeared or went away since the baseline.

    Raises
    ------
    UsageError
        If there is no baseline, or it cannot be read.
    """
    try:
        accepted = json.loads(baseline.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{baseline}: no drift baseline ({error})") from None
    now = predictions()
    rows = []
    for key in sorted(accepted.keys() | now.keys()):
        before, after = accepted.get(key), now.get(key)
        if before is None or after is None:
            rows.append(_row(key, after, before if before is not None else float("nan")))
        elif abs(after - before) > TOLERANCE * abs(before):
            rows.append(_row(key, after, before))
    return rows


def accept_drift(baseline: Path = BASELINE) -> int:
    """Make today's predictions the baseline; returns how many there are.

    Raises
    ------
    UsageError
        If the file cannot be written.
    """
    values = {key: plain(value) for key, value in predictions().items()}
    write_whole(baseline, json.dumps(values, indent=1) + "\n")
    return len(values)


def _row(key: str, now: float | None, before: float) -> ValidationRow:
    return ValidationRow(
        case=key,
        quantity="drift",
        predicted=now,
        reported=before,
        tolerance=TOLERANCE,
        source="committed baseline",
    )
