"""SGLang logs: ``Decode batch`` lines of all ages."""

import re
from collections.abc import Iterable, Iterator

from codesign.calibration.detect import Reader
from codesign.calibration.latency_readers.log_steps import LogStep, lacks_marks, merged
from codesign.calibration.observation import Observation
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.calibration.stream import text_lines

TITLE = "SGLang log"

_DECODE = re.compile(r"Decode batch[,.]?\s")
_RUNNING = re.compile(r"#running-req: (\d+)")
_LENGTH = re.compile(r"accept len: (\d+(?:\.\d+)?)")
_THROUGHPUT = re.compile(r"gen throughput \(token/s\): (\d+(?:\.\d+)?)")
_CACHED = re.compile(r"#(?:full )?token: (\d+)")
_RANK = re.compile(r"\b(DP\d+)\b")
_STEPS = re.compile(r"speculative_num_steps=(\d+)")


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


def _lacks(sample: Sample) -> str | None:
    return lacks_marks(sample, "Decode batch", "Prefill batch", "server_args=ServerArgs(")


def _read(sample: Sample, options: CalibrationOptions) -> list[Observation]:
    steps = sglang_steps(text_lines(sample.path))
    return merged(steps, str(sample.path), TITLE, "sglang")


READER = Reader("sglang-log", TITLE, _lacks, _read)
