"""Nsight Systems: the ``cuda_gpu_kern_sum`` table as CSV, and the SQLite export."""

import csv
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Final

from codesign.calibration.detect import Reader
from codesign.calibration.kernel_names import CATEGORIES, Category, category_of
from codesign.calibration.latency_readers.fields import number
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.profile_points import KernelTotal, Profile, StepProfile
from codesign.calibration.profile_readers.chrome_trace import layers_of
from codesign.calibration.recorded_kernels import GRAPH_REMEDY, require_work
from codesign.calibration.sample import Sample
from codesign.calibration.step_markers import read_marker
from codesign.calibration.timeline import Timeline
from codesign.errors import DataError

CSV_TITLE = "Nsight Systems kernel summary"
SQLITE_TITLE = "Nsight Systems SQLite export"
UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}

_HEADER = re.compile(r'"?Time \(%\)"?,"?Total Time \((\w+)\)"?,')


def _lacks_csv(sample: Sample) -> str | None:
    if sample.text is None:
        return "not text"
    return None if _HEADER.search(sample.text) else "no header with 'Total Time ('"


def _read_csv(sample: Sample, options: CalibrationOptions) -> Profile:
    """The header comes after chatter; percentages are of all kernels, listed or not."""
    where = str(sample.path)
    text = sample.whole_text
    header = _HEADER.search(text)
    if header is None or header[1] not in UNITS:
        raise DataError(f"{where}: no header with 'Total Time (' and a unit of time")
    unit, kernels, percent = UNITS[header[1]], [], 0.0
    total = f"Total Time ({header[1]})"
    for row in csv.DictReader(text[header.start() :].splitlines()):
        seconds, share = number(row, total, where), number(row, "Time (%)", where)
        name = row.get("Name") or row.get("Kernel Name")
        if seconds is None or share is None or not name:
            raise DataError(f"{where}: a row without time, share or name")
        calls = int(number(row, "Instances", where) or 0)
        kernels.append(KernelTotal(name, category_of(name), seconds * unit, calls))
        percent += share
    if not kernels:
        raise DataError(f"{where}: a header without rows")
    require_work(tuple(kernels), where)
    summed: dict[Category, float] = dict.fromkeys(CATEGORIES, 0.0)
    for kernel in kernels:
        summed[kernel.category] += kernel.seconds
    listed = sum(summed.values())
    unlisted = listed * (100 / percent - 1) if 0 < percent < 99.5 else 0.0
    notes = ["steps, b, q and streams are not in the table; its times are sums"]
    if unlisted:
        notes.append(f"{100 - percent:.3g} % of the kernel time is not listed")
    load = StepProfile(None, None, None, summed, unlisted=unlisted)
    return Profile(where, CSV_TITLE, (load,), tuple(kernels), tuple(notes))


def _lacks_sqlite(sample: Sample) -> str | None:
    return None if sample.container == "sqlite" else "not SQLite"


def _read_sqlite(sample: Sample, options: CalibrationOptions) -> Profile:
    where = str(sample.path)
    address = f"{sample.path.resolve().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(address, uri=True)) as database:
            database.text_factory = _text
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
            _require_kernels(database, tables, where)
            timeline = Timeline(where)
            for name, start, end in _rows(database, tables):
                timeline.add_kernel(name, start * 1e-9, (end - start) * 1e-9)
            _add_markers(database, tables, timeline)
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter of its own messages
        raise DataError(f"{where}: broken SQLite ({error})") from None
    return timeline.profile(SQLITE_TITLE, layers_of(options))


def _text(raw: bytes) -> str:
    """A name with a broken byte is still a name."""
    return raw.decode("utf-8", "replace")


def _require_kernels(database: sqlite3.Connection, tables: set[str], where: str) -> None:
    graphs = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
    if graphs in tables:
        (count,) = database.execute(f"SELECT COUNT(*) FROM {graphs}").fetchone()
        if count:
            raise DataError(
                f"{where}: {count} graphs recorded as single launches hide their kernels; "
                f"{GRAPH_REMEDY}"
            )
    if not {"CUPTI_ACTIVITY_KIND_KERNEL", "StringIds"} <= tables:
        raise DataError(f"{where}: no table CUPTI_ACTIVITY_KIND_KERNEL; was CUDA traced?")
    query = "SELECT COUNT(DISTINCT deviceId) FROM CUPTI_ACTIVITY_KIND_KERNEL"
    (devices,) = database.execute(query).fetchone()
    if devices > 1:
        raise DataError(f"{where}: kernels of {devices} GPUs in one profile; export one rank's")


def _rows(database: sqlite3.Connection, tables: set[str]) -> Iterator[tuple[str, int, int]]:
    """Kernels by their full names (the short one says only "device_kernel"), copies and fills."""
    yield from database.execute(
        "SELECT s.value, k.start, k.end FROM CUPTI_ACTIVITY_KIND_KERNEL k "
        "JOIN StringIds s ON s.id = k.demangledName"
    )
    for table, name in (("MEMCPY", "Memcpy"), ("MEMSET", "Memset")):
        if f"CUPTI_ACTIVITY_KIND_{table}" in tables:
            for start, end in database.execute(
                f"SELECT start, end FROM CUPTI_ACTIVITY_KIND_{table}"
            ):
                yield name, start, end


def _add_markers(database: sqlite3.Connection, tables: set[str], timeline: Timeline) -> None:
    if "NVTX_EVENTS" not in tables:
        return
    query = (
        "SELECT COALESCE(n.text, s.value), n.start, n.end FROM NVTX_EVENTS n "
        "LEFT JOIN StringIds s ON s.id = n.textId WHERE n.end IS NOT NULL"
    )
    for name, start, end in database.execute(query):
        marker = read_marker(str(name), start * 1e-9, (end - start) * 1e-9)
        if marker is not None:
            timeline.add_marker(marker, on_gpu=False)


CSV_READER = Reader("nsight-csv", CSV_TITLE, _lacks_csv, _read_csv)
SQLITE_READER = Reader("nsight-sqlite", SQLITE_TITLE, _lacks_sqlite, _read_sqlite)
