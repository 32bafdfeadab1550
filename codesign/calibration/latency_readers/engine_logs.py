"""Decode lines of SGLang logs and engine lines of vLLM logs.

Cycle = running sequences x acceptance length / throughput; a line is one rank's own batch.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final

from codesign.calibration.detect import Reader
from codesign.calibration.observation import Observation, Timing
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.calibration.stream import text_lines
from codesign.errors import CalibrationError

SGLANG_TITLE = "SGLang log"
VLLM_TITLE = "vLLM log"
WARM_UP: Final = 3.0
"""A line slower than this times the median of its load is a warm-up or a pause."""

_DECODE = re.compile(r"Decode batch[,.]?\s")
_RUNNING = re.compile(r"#running-req: (\d+)")
_LENGTH = re.compile(r"accept len: ([\d.]+)")
_THROUGHPUT = re.compile(r"gen throughput \(token/s\): ([\d.]+)")
_CACHED = re.compile(r"#(?:full )?token: (\d+)")
_RANK = re.compile(r"\b(DP\d+)\b")
_STEPS = re.compile(r"speculative_num_steps=(\d+)")

_ENGINE = re.compile(
    r"Avg generation throughput: ([\d.]+) tokens/s, Running: (\d+) reqs"
)
_SPECULATION = re.compile(
    r"SpecDecoding metrics: .*?Accepted: (\d+) tokens, Drafted: (\d+) tokens, "
    r"Per-position acceptance rate: ([\d., nan]+)"
)
_SPECULATION_V0 = re.compile(
    r"Speculative metrics: .*?Number of speculative tokens: (\d+), Number of accepted tokens: \d+, "
    r"Number of draft tokens: (\d+), Number of emitted tokens: (\d+)"
)


@dataclass(frozen=True)
class LogStep:
    """One line of a log.

    Parameters
    ----------
    batch_size : int
        Sequences running at the moment of the line.
    throughput : float
        Tokens per second of all of them.
    acceptance_length : float, optional
        Absent where speculative decoding was off.
    draft_tokens : int, optional
    cached : int, optional
        Tokens in the cache, of all sequences.
    rank : str
    """

    batch_size: int
    throughput: float
    acceptance_length: float | None
    draft_tokens: int | None = None
    cached: int | None = None
    rank: str = ""

    @property
    def cycle(self) -> float:
        """Time of one engine step [s]."""
        return self.batch_size * (self.acceptance_length or 1.0) / self.throughput


def sglang_steps(lines: Iterable[str]) -> Iterator[LogStep]:
    """Yield the decode lines of an SGLang log, the first after a prefill left out.

    ``accept rate`` changed its meaning three times and is not read.
    """
    drafted: int | None = None
    prefilled: set[str] = set()
    for line in lines:
        if steps := _STEPS.search(line):
            drafted = int(steps[1])
        rank = found[1] if (found := _RANK.search(line)) else ""
        if "Prefill batch" in line:
            prefilled.add(rank)
            continue
        running, rate = _RUNNING.search(line), _THROUGHPUT.search(line)
        if not _DECODE.search(line) or running is None or rate is None:
            continue
        if rank in prefilled:
            prefilled.discard(rank)
            continue
        length, cached = _LENGTH.search(line), _CACHED.search(line)
        if int(running[1]) and float(rate[1]):
            yield LogStep(
                int(running[1]),
                float(rate[1]),
                float(length[1]) if length else None,
                drafted if length else 0,
                int(cached[1]) if cached else None,
                rank,
            )


def vllm_steps(lines: Iterable[str]) -> Iterator[LogStep]:
    """Yield engine lines of a vLLM log, each with the acceptance printed next to it.

    An engine line without acceptance counts as speculative decoding being off only if the whole log
    has none.
    """
    waiting: tuple[float, int] | None = None
    plain: list[LogStep] = []
    speculative = False
    for line in lines:
        if engine := _ENGINE.search(line):
            waiting = (float(engine[1]), int(engine[2]))
            if min(waiting) > 0:
                plain.append(LogStep(waiting[1], waiting[0], None, 0))
            continue
        told = _acceptance(line)
        if told is None:
            continue
        speculative = True
        length, drafted = told
        if waiting is not None and min(waiting) > 0 and length is not None:
            yield LogStep(waiting[1], waiting[0], length, drafted)
        waiting = None
    if not speculative:
        yield from plain


def _acceptance(line: str) -> tuple[float | None, int] | None:
    """Acceptance length (none in an idle interval) and K of a line, none where it has neither.

    The printed mean left the bonus token out in 0.8.5; counters do not.
    """
    if match := _SPECULATION.search(line):
        drafted_tokens = len(match[3].strip(" ,").split(","))
        drafts = int(match[2]) / drafted_tokens
        return (1 + int(match[1]) / drafts if drafts else None), drafted_tokens
    if match := _SPECULATION_V0.search(line):
        drafts = int(match[2]) / int(match[1])
        return (int(match[3]) / drafts if drafts else None), int(match[1])
    return None


def merged(steps: Iterable[LogStep], where: str, title: str, backend: str) -> list[Observation]:
    """Return one observation per batch size and draft length, warm-up lines left out.

    Raises
    ------
    CalibrationError
        If there is no usable line.
    """
    groups: dict[tuple[int, bool, int | None], list[LogStep]] = {}
    ranks: set[str] = set()
    for step in steps:
        ranks.add(step.rank)
        on = step.acceptance_length is not None
        groups.setdefault((step.batch_size, on, step.draft_tokens), []).append(step)
    if not groups:
        raise CalibrationError(f"{where}: {title}: no line with running sequences and a throughput")
    notes = ["running sequences are a snapshot at each line"]
    if len(ranks) > 1:
        notes.append(f"lines of {len(ranks)} data-parallel ranks: each is a batch of its own")
    observations = []
    for (batch, on, drafted), group in sorted(groups.items(), key=lambda item: item[0][:2]):
        kept = _steady(group)
        if len(kept) < len(group):
            notes.append(f"{len(group) - len(kept)} warm-up lines at batch size {batch} left out")
        observations.append(_observation(kept, batch, on, drafted, where, title, backend))
    return [observations[0].noting(*notes), *observations[1:]]


def _steady(group: list[LogStep]) -> list[LogStep]:
    if len(group) < 3:
        return group
    typical = median(step.cycle for step in group)
    return [step for step in group if step.cycle <= WARM_UP * typical]


def _observation(
    steps: list[LogStep], batch: int, on: bool, drafted: int | None,
    where: str, title: str, backend: str,
) -> Observation:  # fmt: skip
    cycles = [step.cycle for step in steps]
    cached = [step.cached / batch for step in steps if step.cached is not None]
    notes = ()
    if cached:
        notes = (f"about {fmean(cached):.4g} cached tokens per sequence (snapshots): a --context to give",)
    return Observation(
        source=f"{where}, batch size {batch}, SD {'on' if on else 'off'}",
        title=title,
        backend=backend,
        batch_size=float(batch),
        draft_tokens=None if drafted is None else float(drafted),
        step=Timing(fmean(cycles), median(cycles)),
        stated_length=fmean(step.acceptance_length or 1.0 for step in steps) if on else None,
        samples=len(steps),
        notes=notes,
    )


def _lacks(sample: Sample, *marks: str) -> str | None:
    if sample.text is None:
        return "not text"
    found = any(mark in sample.text for mark in marks)
    return None if found else f"no {marks[0]!r} in the first 64 KiB"


def _lacks_sglang(sample: Sample) -> str | None:
    return _lacks(sample, "Decode batch", "Prefill batch", "server_args=ServerArgs(")


def _lacks_vllm(sample: Sample) -> str | None:
    return _lacks(sample, "Avg generation throughput", "vLLM API server version")


def _read_sglang(sample: Sample, options: CalibrationOptions) -> list[Observation]:
    steps = sglang_steps(text_lines(sample.path))
    return merged(steps, str(sample.path), SGLANG_TITLE, "sglang")


def _read_vllm(sample: Sample, options: CalibrationOptions) -> list[Observation]:
    steps = vllm_steps(text_lines(sample.path))
    return merged(steps, str(sample.path), VLLM_TITLE, "vllm")


SGLANG_READER = Reader("sglang-log", SGLANG_TITLE, _lacks_sglang, _read_sglang)
VLLM_READER = Reader("vllm-log", VLLM_TITLE, _lacks_vllm, _read_vllm)
