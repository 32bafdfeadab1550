"""What throughput by draft length says: cycle times, their ratio to a plain step, the best K."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from codesign.calibration.observation import DraftRun


@dataclass(frozen=True)
class DraftOutcome:
    """One draft length at one batch size.

    Parameters
    ----------
    run : DraftRun
    cycle : float, optional
        Draft-verify cycle [s]; absent without an acceptance length.
    ratio : float, optional
        Cycle over plain step, R; absent without a run at K = 0 too.
    speedup : float, optional
        Throughput over that without speculative decoding.
    """

    run: DraftRun
    cycle: float | None
    ratio: float | None
    speedup: float | None


def outcomes(runs: Sequence[DraftRun]) -> list[DraftOutcome]:
    """Return every run with what follows from it, by batch size and draft length.

    Notes
    -----
    Cycle = B AL / throughput; R = AL x plain throughput / throughput.
    """
    found = []
    for run in sorted(runs, key=lambda r: (r.batch_size, r.draft_tokens)):
        plain = _plain(runs, run.batch_size)
        length = run.acceptance_length
        speedup = run.tokens_per_s / plain if plain else None
        cycle = run.batch_size * length / run.tokens_per_s if length else None
        found.append(
            DraftOutcome(run, cycle, length / speedup if length and speedup else None, speedup)
        )
    return found


def _plain(runs: Sequence[DraftRun], batch_size: float) -> float | None:
    rates = [
        run.tokens_per_s for run in runs if run.batch_size == batch_size and run.draft_tokens == 0
    ]
    return float(np.mean(rates)) if rates else None


def best_draft_tokens(runs: Sequence[DraftRun], batch_size: float) -> int:
    """Return the draft length of the highest throughput; the mean where one ran several times."""
    rates: dict[int, list[float]] = {}
    for run in runs:
        if run.batch_size == batch_size:
            rates.setdefault(run.draft_tokens, []).append(run.tokens_per_s)
    return max(sorted(rates), key=lambda drafted: float(np.mean(rates[drafted])))


def ratio_line(found: Sequence[DraftOutcome], batch_size: float) -> tuple[float, float] | None:
    """Return intercept and slope of R over K where drafts ran; nothing below two draft lengths."""
    pairs = [
        (outcome.run.draft_tokens, outcome.ratio)
        for outcome in found
        if outcome.run.batch_size == batch_size
        and outcome.run.draft_tokens > 0
        and outcome.ratio is not None
    ]
    if len({drafted for drafted, _ in pairs}) < 2:
        return None
    slope, intercept = np.polyfit([k for k, _ in pairs], [r for _, r in pairs], 1)
    return float(intercept), float(slope)
