"""Tables people keep by hand: step times, kernel times, throughput per ubatch or draft length.

What a table is follows from its columns; times carry their unit in the column's name.
"""

import csv
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from codesign.calibration.detect import Reader
from codesign.calibration.latency_readers.fields import number
from codesign.calibration.observation import DraftRun, KernelTime, LatencyData, Observation, Timing
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import DataError

NAMES: Final[dict[str, tuple[str, ...]]] = {
    "batch_size": ("batch_size", "batch", "bs", "b", "sequences", "concurrency"),
    "width": ("width", "tokens_per_sequence", "verify_width", "query_len", "q", "w"),
    "draft_tokens": ("draft_tokens", "num_speculative_tokens", "num_draft_tokens", "k", "depth"),
    "context": ("context", "kv_len", "context_length", "seq_len"),
    "tokens": ("tokens", "num_tokens", "batch_tokens", "m"),
    "ubatch": ("ubatch", "n_ubatch", "ubatch_size"),
    "rate": ("tok/s", "tok_s", "tokens_per_s", "tokens_per_second", "tokens/s", "t/s", "tps"),
    "acceptance": ("acceptance", "acceptance_rate", "accepted/drafted", "accept_rate"),
    "length": ("acceptance_length", "al", "accept_len", "accept_length", "mean_acceptance_length"),
}
"""Column names of each figure, compared without case."""

UNITS: Final[dict[str, float]] = {
    "seconds": 1.0, "second": 1.0, "sec": 1.0, "s": 1.0,
    "milliseconds": 1e-3, "ms": 1e-3,
    "microseconds": 1e-6, "us": 1e-6, "µs": 1e-6,
}  # fmt: skip
_TIME = re.compile(
    r"(?:[a-z_ ]*[_ (\[])?(seconds|second|sec|s|milliseconds|ms|microseconds|us|µs)[)\]]?"
)
"""``ms``, ``time_ms``, ``step time (ms)``; not a rate "per" something."""


class _Columns(NamedTuple):
    """Place of each known figure; `unit` is that of the time column [s]."""

    places: dict[str, int]
    unit: float

    def kind(self) -> str | None:
        """Which table this is, nothing where the columns are not enough."""
        has = self.places.keys()
        if "rate" in has and "ubatch" in has:
            return "ubatch"
        if "rate" in has and "draft_tokens" in has:
            return "drafts"
        if "time" in has and ("width" in has or "batch_size" in has):
            return "steps"
        if "time" in has and "tokens" in has:
            return "kernel"
        return None


def _columns(header: list[str]) -> _Columns:
    index: dict[str, int] = {}
    unit = 1.0
    for position, cell in enumerate(header):
        name = cell.strip().lower()
        for figure, names in NAMES.items():
            if name in names:
                index.setdefault(figure, position)
        if "per" not in name and (match := _TIME.fullmatch(name)):
            index.setdefault("time", position)
            unit = UNITS[match[1]] if index["time"] == position else unit
    return _Columns(index, unit)


def _header(sample: Sample) -> list[str]:
    """The first line that is no comment, cut at its delimiter."""
    lines = [line for line in (sample.text or "").splitlines() if not line.startswith("#")]
    return next(csv.reader(lines[:1], delimiter=_delimiter(lines[0]))) if lines else []


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


class LacksTable:
    """Whether the header of a sample is that of one kind of table."""

    def __init__(self, kind: str, needed: str) -> None:
        self.kind = kind
        self.needed = needed

    def __call__(self, sample: Sample) -> str | None:
        """Return what the sample lacks."""
        if sample.container != "text" or sample.text is None:
            return "not CSV"
        found = _columns(_header(sample)).kind()
        return None if found == self.kind else f"no columns {self.needed}"


def _rows(sample: Sample) -> tuple[list[tuple[str, dict[str, str]]], float]:
    """Cells by figure, with where each row stands; and the unit of the time column [s]."""
    lines = sample.whole_text.splitlines()
    numbered = [(i, line) for i, line in enumerate(lines, 1) if line.strip() and line[0] != "#"]
    columns = _columns(_header(sample))
    delimiter = _delimiter(numbered[0][1])
    width = len(next(csv.reader([numbered[0][1]], delimiter=delimiter)))
    rows = []
    for line_number, line in numbered[1:]:
        cells = next(csv.reader([line], delimiter=delimiter))
        where = f"{sample.path}, line {line_number}"
        if len(cells) != width:
            raise DataError(f"{where}: {len(cells)} cells for {width} columns")
        rows.append((where, {name: cells[at].strip() for name, at in columns.places.items()}))
    if not rows:
        raise DataError(f"{sample.path}: a header without rows")
    return rows, columns.unit


def _needed(cells: Mapping[str, str], name: str, where: str, *, zero: bool = False) -> float:
    value = number(cells, name, where, zero=zero)
    if value is None:
        raise DataError(f"{where}: {name} is empty")
    return value


def _read_steps(sample: Sample, options: CalibrationOptions) -> list[LatencyData]:
    rows, unit = _rows(sample)
    observations: list[LatencyData] = []
    for where, cells in rows:
        width = number(cells, "width", where, zero=False)
        drafted = number(cells, "draft_tokens", where)
        if width is not None:
            drafted = width - 1
        observations.append(
            Observation(
                source=where,
                title=STEPS_TITLE,
                batch_size=number(cells, "batch_size", where, zero=False) or 1.0,
                draft_tokens=drafted,
                context=number(cells, "context", where),
                step=Timing(mean=_needed(cells, "time", where) * unit),
                scope="step" if width is not None else "cycle",
            )
        )
    return observations


def _whole(cells: Mapping[str, str], name: str, where: str, *, zero: bool = False) -> int:
    value = _needed(cells, name, where, zero=zero)
    if not value.is_integer():
        raise DataError(f"{where}: {name} must be a whole number, not {value:g}")
    return int(value)


def _read_kernel(sample: Sample, options: CalibrationOptions) -> list[LatencyData]:
    rows, unit = _rows(sample)
    found: list[LatencyData] = []
    for where, cells in rows:
        tokens, seconds = _whole(cells, "tokens", where), _needed(cells, "time", where)
        found.append(KernelTime(where, tokens, seconds * unit))
    return found


def _read_ubatch(sample: Sample, options: CalibrationOptions) -> list[LatencyData]:
    """Tokens per second at w tokens a pass: the pass takes w / rate."""
    rows, _ = _rows(sample)
    passes: list[LatencyData] = []
    for where, cells in rows:
        width = _needed(cells, "ubatch", where)
        passes.append(
            Observation(
                source=where,
                title=UBATCH_TITLE,
                batch_size=1.0,
                draft_tokens=width - 1,
                context=number(cells, "context", where),
                step=Timing(mean=width / _needed(cells, "rate", where)),
                scope="step",
                notes=("tokens per second at w tokens a pass are turned into w / rate per pass",),
            )
        )
    return passes


def _read_drafts(sample: Sample, options: CalibrationOptions) -> list[LatencyData]:
    rows, _ = _rows(sample)
    return [_draft_run(where, cells) for where, cells in rows]


def _draft_run(where: str, cells: Mapping[str, str]) -> DraftRun:
    drafted = _whole(cells, "draft_tokens", where, zero=True)
    length = number(cells, "length", where, zero=False)
    text = cells.get("acceptance", "")
    share = number({"acceptance": text.rstrip(" %")}, "acceptance", where)
    if share is not None and text.endswith("%"):
        share /= 100
    if share is not None and share > 1:
        raise DataError(
            f"{where}: acceptance {text} is no fraction; write percent with %, and an acceptance "
            "length in a column 'acceptance_length'"
        )
    if length is None and share is not None:
        length = 1 + drafted * share
    if drafted == 0:
        length = 1.0
    return DraftRun(
        where,
        drafted,
        _needed(cells, "rate", where),
        length,
        number(cells, "batch_size", where, zero=False) or 1.0,
    )


STEPS_TITLE = "table of step times"
UBATCH_TITLE = "table of tokens per second by ubatch"

STEPS_READER = Reader(
    "step-table", STEPS_TITLE, LacksTable("steps", "(batch_size, width, seconds)"), _read_steps
)
KERNEL_READER = Reader(
    "kernel-table", "table of kernel times", LacksTable("kernel", "(tokens, us)"), _read_kernel
)
UBATCH_READER = Reader(
    "ubatch-table", UBATCH_TITLE, LacksTable("ubatch", "(ubatch, tok/s)"), _read_ubatch
)
DRAFTS_READER = Reader(
    "draft-table", "table of throughput by draft length",
    LacksTable("drafts", "(draft_tokens, tok/s, acceptance)"), _read_drafts,
)  # fmt: skip
