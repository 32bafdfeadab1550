"""What a latency file says, before its meaning is settled."""

from dataclasses import dataclass, replace
from typing import Literal

Scope = Literal["target", "step", "cycle"]
"""What a timed step holds: kernels of the target's pass; host time too; draft and overhead too."""


@dataclass(frozen=True)
class Timing:
    """One time, as a file gives it [s].

    Parameters
    ----------
    mean, median : float, optional
        Over steps or requests.
    """

    mean: float | None = None
    median: float | None = None

    @property
    def best(self) -> float | None:
        """The mean, which alone adds up to the run; the median where there is no other."""
        return self.median if self.mean is None else self.mean

    def scaled(self, factor: float) -> "Timing":
        """Return both times a factor."""
        mean = None if self.mean is None else self.mean * factor
        median = None if self.median is None else self.median * factor
        return Timing(mean, median)


@dataclass(frozen=True)
class SpeculationCounters:
    """Totals of a run with speculative decoding.

    Parameters
    ----------
    drafts : float
        Draft-verify cycles, summed over sequences [-].
    drafted, accepted : float
        Draft tokens [token].
    """

    drafts: float
    drafted: float
    accepted: float

    @property
    def acceptance_length(self) -> float:
        """Tokens per cycle, bonus token included [token]."""
        return 1.0 + self.accepted / self.drafts

    @property
    def draft_tokens(self) -> float:
        """Mean draft length, K [token]."""
        return self.drafted / self.drafts


@dataclass(frozen=True)
class Observation:
    """One measured run at one load; what a file does not say is absent.

    Parameters
    ----------
    source : str
        File, and where in it.
    title : str
        The format.
    backend, model : str, optional
        As the file names them.
    batch_size, mean_batch_size : float, optional
        Sequences asked for together, and those that were on average.
    draft_tokens : float, optional
        K; 0 where speculative decoding was off.
    context : float, optional
        Mean cached tokens per sequence while decoding [token].
    tokens : int, optional
        m = b q of one pass, where b and q are not told apart [token].
    step : Timing, optional
        One engine step as timed by the engine itself; of what `scope` says.
    scope : {"target", "step", "cycle"}
        The target's kernels alone, with the host's time, or draft and verify together.
    per_token : Timing, optional
        Time per emitted token of one sequence, without the first token.
    per_chunk : Timing, optional
        Gap between two streamed chunks.
    whole_batch : Timing, optional
        Prefill and all output tokens of a batch.
    counters : SpeculationCounters, optional
    stated_length : float, optional
        Acceptance length as printed by the server or client [token].
    length_origin : str
        What printed it.
    samples : int
        Steps, requests or log lines behind the times.
    notes : tuple of str
        Traps met in the file.
    """

    source: str
    title: str
    backend: str | None = None
    model: str | None = None
    batch_size: float | None = None
    mean_batch_size: float | None = None
    draft_tokens: float | None = None
    context: float | None = None
    tokens: int | None = None
    step: Timing | None = None
    scope: Scope = "cycle"
    per_token: Timing | None = None
    per_chunk: Timing | None = None
    whole_batch: Timing | None = None
    counters: SpeculationCounters | None = None
    stated_length: float | None = None
    length_origin: str = "the server"
    samples: int = 1
    notes: tuple[str, ...] = ()

    def noting(self, *notes: str) -> "Observation":
        """Return the same with further notes."""
        return replace(self, notes=(*self.notes, *notes))


@dataclass(frozen=True)
class KernelTime:
    """Time of one routed-expert kernel [s] over so many tokens."""

    source: str
    tokens: int
    seconds: float


@dataclass(frozen=True)
class DraftRun:
    """Throughput at one draft length.

    Parameters
    ----------
    source : str
    draft_tokens : int
        K; 0 is the run without speculative decoding.
    tokens_per_s : float
        Of all sequences together.
    acceptance_length : float, optional
        With the bonus token [token].
    batch_size : float
    """

    source: str
    draft_tokens: int
    tokens_per_s: float
    acceptance_length: float | None
    batch_size: float = 1.0

    @property
    def observation(self) -> Observation:
        """The run as a time per token."""
        return Observation(
            source=self.source,
            title="throughput by draft length",
            batch_size=self.batch_size,
            draft_tokens=float(self.draft_tokens),
            per_token=Timing(mean=self.batch_size / self.tokens_per_s),
            stated_length=self.acceptance_length,
        )


LatencyData = Observation | KernelTime | DraftRun
"""What the readers of latency files return."""
