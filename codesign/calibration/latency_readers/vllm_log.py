"""vLLM logs: engine lines with the acceptance printed next to them, V0 and V1."""

import re
from collections.abc import Iterable, Iterator

from codesign.calibration.detect import Reader
from codesign.calibration.latency_readers.log_steps import LogStep, lacks_marks, merged
from codesign.calibration.observation import Observation
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.calibration.stream import text_lines

TITLE = "vLLM log"

_ENGINE = re.compile(r"Avg generation throughput: (\d+(?:\.\d+)?) tokens/s, Running: (\d+) reqs")
_SPECULATION = re.compile(
    r"SpecDecoding metrics: .*?Accepted: (\d+) tokens, Drafted: (\d+) tokens, "
    r"Per-position acceptance rate: ([\d., nan]+)"
)
_SPECULATION_V0 = re.compile(
    r"Speculative metrics: .*?Number of speculative tokens: (\d+), Number of accepted tokens: \d+, "
    r"Number of draft tokens: (\d+), Number of emitted tokens: (\d+)"
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


def _lacks(sample: Sample) -> str | None:
    return lacks_marks(sample, "Avg generation throughput", "vLLM API server version")


def _read(sample: Sample, options: CalibrationOptions) -> list[Observation]:
    steps = vllm_steps(text_lines(sample.path))
    return merged(steps, str(sample.path), TITLE, "vllm")


READER = Reader("vllm-log", TITLE, _lacks, _read)
