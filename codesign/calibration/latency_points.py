"""From what files say to points T(b, q) whose meaning is settled.

Cycle time = acceptance length times time per token. Counters give the acceptance length; the ratio
of mean chunk gap to mean time per token is second best, and medians are never divided.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

from codesign.calibration.observation import Observation, Timing
from codesign.calibration.options import CalibrationOptions
from codesign.errors import DataError

Meaning = Literal["target pass", "step", "cycle", "per token", "whole batch"]
STEP_TIMES: Final[tuple[Meaning, ...]] = ("target pass", "step", "cycle")

DISAGREEMENT: Final = 0.15
"""Above it, two ways to the same figure are reported as contradicting each other."""

ONE_TOKEN: Final = 0.10
"""A chunk gap within this of the time per token means one token per chunk: no SD."""


PLAUSIBLE: Final[dict[str, tuple[float, float]]] = {
    "seconds": (1e-7, 1e4),
    "median_seconds": (1e-7, 1e4),
    "token_seconds": (1e-7, 1e4),
    "batch_size": (0.5, 1e6),
    "draft_tokens": (0.0, 1e6),
    "context": (0.0, 1e9),
    "acceptance_length": (0.5, 1e3),
}
"""Limits of what can be meant, times in seconds."""


@dataclass(frozen=True)
class LatencyPoint:
    """One time with its meaning.

    Parameters
    ----------
    source : str
    meaning : {"target pass", "step", "cycle", "per token", "whole batch"}
        Only the first three are step times: the target's kernels, one pass with its host time, a
        draft-verify cycle (which is one pass where SD is off).
    seconds : float
    median_seconds : float, optional
        The same from medians, as a cross-check.
    token_seconds : float, optional
        Time per emitted token of one sequence.
    batch_size, draft_tokens, context, tokens : optional
        b, K, cached tokens, b q.
    acceptance_length : float, optional
    mean_batch_size : float, optional
    samples : int
    backend, model : str, optional
    """

    source: str
    meaning: Meaning
    seconds: float
    median_seconds: float | None = None
    token_seconds: float | None = None
    batch_size: float | None = None
    draft_tokens: float | None = None
    context: float | None = None
    tokens: int | None = None
    acceptance_length: float | None = None
    mean_batch_size: float | None = None
    samples: int = 1
    backend: str | None = None
    model: str | None = None

    @property
    def missing(self) -> tuple[str, ...]:
        """What has to be given before a model can be fitted to the point."""
        lacks = []
        if self.batch_size is None:
            lacks.append("--batch-size")
        if self.draft_tokens is None:
            lacks.append("--draft-tokens")
        if self.context is None:
            lacks.append("--context")
        if self.meaning == "per token":
            lacks.append("acceptance length")
        if self.meaning == "whole batch":
            lacks.append("--output-len")
        return tuple(lacks)


def settle(
    observation: Observation, options: CalibrationOptions
) -> tuple[LatencyPoint, tuple[str, ...]]:
    """Return the point an observation stands for, and warnings.

    Parameters
    ----------
    observation : Observation
    options : CalibrationOptions
        Fills in what the file leaves out; never overrides it.

    Raises
    ------
    DataError
        If the observation has no time at all.
    """
    known = _completed(observation, options)
    point = LatencyPoint(
        source=known.source,
        meaning="cycle",
        seconds=0.0,
        batch_size=known.batch_size,
        draft_tokens=known.draft_tokens,
        context=known.context,
        tokens=known.tokens,
        mean_batch_size=known.mean_batch_size,
        samples=known.samples,
        backend=known.backend,
        model=known.model,
    )
    notes = list(known.notes)
    if known.step is not None:
        found = _of_step(point, known)
    elif known.per_token is not None:
        found = _of_tokens(point, known, notes)
    elif known.per_chunk is not None or known.whole_batch is not None:
        found = _of_batch_or_chunk(point, known)
    else:
        raise DataError(f"{known.source}: {known.title} without any latency")
    _require_plausible(found)
    return found, tuple(notes)


def _require_plausible(point: LatencyPoint) -> None:
    """Refuse what a wrong unit or a broken file makes of a time or a load."""
    for name, (low, high) in PLAUSIBLE.items():
        value = getattr(point, name)
        if value is not None and not low <= value <= high:
            what = name.replace("_", " ")
            raise DataError(f"{point.source}: {what} {value:.4g} is not within {low:g} to {high:g}")


def _completed(observation: Observation, options: CalibrationOptions) -> Observation:
    """Fill in what the file leaves out: from the user, then from the counters."""
    drafted = observation.draft_tokens
    if drafted is None and observation.counters is not None:
        whole = round(observation.counters.draft_tokens)
        near = abs(observation.counters.draft_tokens - whole) <= 0.02 * whole
        drafted = float(whole) if near else None
    given = {
        "batch_size": options.batch_size,
        "draft_tokens": options.draft_tokens,
        "context": options.context,
    }
    found = {
        "batch_size": observation.batch_size,
        "draft_tokens": drafted,
        "context": observation.context,
    }
    filled = {name: given[name] if value is None else value for name, value in found.items()}
    if filled["batch_size"] is not None and 0.5 <= filled["batch_size"] < 1:
        filled["batch_size"] = 1.0  # a mean over a run with pauses; steps have one sequence
    completed = replace(observation, **filled)  # type: ignore[arg-type]
    return _per_token_of_batch(completed, options)


def _per_token_of_batch(observation: Observation, options: CalibrationOptions) -> Observation:
    """A whole batch over its output tokens bounds the time per token from above."""
    batch, tokens = observation.whole_batch, options.output_tokens
    if batch is None or tokens is None:
        return observation
    per_token = batch.scaled(1 / tokens)
    context = observation.context
    if context is None and options.input_tokens is not None:
        context = options.input_tokens + tokens / 2
    note = (
        f"time per token is the batch over {tokens} output tokens, prefill included: an upper bound"
    )
    return replace(
        observation, per_token=per_token, context=context, notes=(*observation.notes, note)
    )


def _of_step(point: LatencyPoint, known: Observation) -> LatencyPoint:
    assert known.step is not None and known.step.best is not None
    length = _length(known)
    if known.draft_tokens == 0:
        length = 1.0
    seconds = known.step.best
    return replace(
        point,
        meaning="target pass" if known.scope == "target" else known.scope,
        seconds=seconds,
        median_seconds=known.step.median,
        acceptance_length=length if known.scope == "cycle" else None,
        token_seconds=seconds / length if length and known.scope == "cycle" else None,
    )


def _of_batch_or_chunk(point: LatencyPoint, known: Observation) -> LatencyPoint:
    timing = known.per_chunk or known.whole_batch
    assert timing is not None and timing.best is not None
    meaning: Meaning = "cycle" if known.per_chunk else "whole batch"
    return replace(
        point, meaning=meaning, seconds=timing.best, median_seconds=timing.median,
        acceptance_length=_length(known),
    )  # fmt: skip


def _of_tokens(point: LatencyPoint, known: Observation, notes: list[str]) -> LatencyPoint:
    """Time per token, with the acceptance length where anything tells it."""
    token, chunk = known.per_token, known.per_chunk
    assert token is not None and token.best is not None
    drafted, length = known.draft_tokens, _length(known)
    by_chunks = chunk.mean / token.mean if chunk and chunk.mean and token.mean else None
    if length is None and drafted == 0:
        length = 1.0
    if length is None and by_chunks is not None and chunk is not None and chunk.mean:
        off = abs(by_chunks - 1) <= ONE_TOKEN
        return replace(
            point,
            seconds=chunk.mean,
            median_seconds=chunk.median,
            token_seconds=token.best,
            acceptance_length=1.0 if off and drafted == 0 else by_chunks,
        )
    if length is None:
        return replace(
            point, meaning="per token", seconds=token.best, median_seconds=token.median,
            token_seconds=token.best,
        )  # fmt: skip
    seconds = length * token.best
    if token.mean is None:
        notes.append("only medians are given: the cycle time from a median is approximate")
    _compare(chunk.best if chunk else None, seconds, length, notes)
    return replace(
        point,
        seconds=seconds,
        median_seconds=_median_cycle(token, chunk, length),
        token_seconds=token.best,
        acceptance_length=length,
    )


def _median_cycle(token: Timing, chunk: Timing | None, length: float) -> float | None:
    """The cross-check: the median gap, else the median time per token times the length."""
    if chunk is not None and chunk.median is not None:
        return chunk.median
    return length * token.median if token.median else None


def _compare(chunk: float | None, cycle: float, length: float, notes: list[str]) -> None:
    if chunk is None:
        return
    apart = chunk / cycle - 1
    if abs(apart) > DISAGREEMENT:
        notes.append(
            f"inter-token latency {chunk * 1e3:.4g} ms and acceptance length x time per token "
            f"{cycle * 1e3:.4g} ms disagree by {apart:+.0%} (chunks coalesced or cut, or a median "
            f"of two kinds of gaps); the counters' {length:.4g} tokens per cycle win"
        )


def _length(known: Observation) -> float | None:
    """Acceptance length: counters, else as stated."""
    if known.counters is not None:
        return known.counters.acceptance_length
    return known.stated_length
