"""Which reader understands a file; asked of its content, never of its name alone."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from codesign.calibration.options import CalibrationOptions
from codesign.calibration.sample import Sample
from codesign.errors import DataError, UsageError, did_you_mean
from codesign.paths import exists, is_folder, size_of_file
from codesign.spec.calibration import SectionName
from codesign.spec.section import Source

Data = TypeVar("Data")

READER_MODULES: Final[dict[SectionName, str]] = {
    "routing": "codesign.calibration.readers.routing",
    "acceptance": "codesign.calibration.readers.acceptance",
    "latency": "codesign.calibration.readers.latency",
    "profile": "codesign.calibration.readers.profile",
    "quality": "codesign.calibration.readers.quality",
}
"""Modules with a tuple `READERS`, the most specific first."""


@dataclass(frozen=True)
class Reader(Generic[Data]):
    """Understands one format.

    Parameters
    ----------
    name : str
        As `--input-format` takes it, such as ``vllm-log``.
    title : str
        What the files are, such as ``vLLM log lines``.
    lacks : callable
        Nothing if a sample is of this format, else what it lacks.
    read : callable
        Reads it; raises `DataError` if it is broken.
    """

    name: str
    title: str
    lacks: Callable[[Sample], str | None]
    read: Callable[[Sample, CalibrationOptions], Data]


@dataclass(frozen=True)
class Reading(Generic[Data]):
    """What a reader made of a file."""

    source: Source
    data: Data


def readers_of(section: SectionName) -> tuple[Reader[Any], ...]:
    """Return the readers of a section; their modules are imported now."""
    readers: tuple[Reader[Any], ...] = import_module(READER_MODULES[section]).READERS
    return readers


def read_files(
    paths: Sequence[Path], section: SectionName, options: CalibrationOptions
) -> list[Reading[Any]]:
    """Read files with the readers of a section.

    Parameters
    ----------
    paths : sequence of Path
        Files, or folders where a reader takes them.
    section : str
    options : CalibrationOptions
        Of which `input_format` forces a reader.

    Raises
    ------
    DataError
        If a file is broken, or no reader understands it: which formats were tried and what each
        missed, or whose section the file belongs to.
    UsageError
        If a path does not exist, or no reader has the forced name.
    """
    if not paths:
        raise UsageError(f"calibrate {section}: no file is given")
    readings = []
    for path in paths:
        _check_readable(path)
        sample = Sample(path)
        reader = _forced(sample, section, options) or _detected(sample, section)
        data = reader.read(sample, options)
        source = Source(file=str(path), sha256=digest(path), format=reader.name)
        readings.append(Reading(source, data))
    return readings


def _check_readable(path: Path) -> None:
    """A file is read more than once, so it has to be one; some readers take folders."""
    if not exists(path):
        raise UsageError(f"{path}: no such file")
    if not is_folder(path):
        try:
            size_of_file(path)
        except OSError as error:
            raise UsageError(f"{path}: cannot be read ({error.strerror})") from None


def _forced(
    sample: Sample, section: SectionName, options: CalibrationOptions
) -> Reader[Any] | None:
    name = options.input_format
    if name is None:
        return None
    known = {reader.name: reader for reader in readers_of(section)}
    if name not in known:
        raise UsageError(
            f"--input-format: calibrate {section} knows no format {name!r}"
            f"{did_you_mean(name, known)}; known: {', '.join(known)}"
        )
    lack = known[name].lacks(sample)
    if lack is not None:
        raise DataError(f"{sample.path}: no {known[name].title}: {lack}")
    return known[name]


def _detected(sample: Sample, section: SectionName) -> Reader[Any]:
    if sample.container == "empty":
        raise DataError(f"{sample.path}: the file is empty")
    if sample.container == "pickle":
        raise DataError(
            f"{sample.path}: a Python pickle, which can run any code when read: refused; save "
            "arrays with numpy.savez, tensors with a current torch.save"
        )
    tried = []
    for reader in readers_of(section):
        lack = reader.lacks(sample)
        if lack is None:
            return reader
        tried.append(f"  {reader.name} ({reader.title}): {lack}")
    for other in READER_MODULES:
        for reader in readers_of(other) if other != section else ():
            if reader.lacks(sample) is None:
                raise DataError(
                    f"{sample.path}: {reader.title} ({reader.name}), which says nothing for "
                    f"'calibrate {section}'; use 'codesign calibrate {other}'"
                )
    if sample.container == "json" and not sample.is_profile and not sample.lines:
        raise DataError(f"{sample.path}: the JSON is cut off or broken")
    raise DataError(
        "\n".join([f"{sample.path}: not understood by 'calibrate {section}'; tried:", *tried])
    )


def digest(path: Path) -> str:
    """Return the SHA-256 of a file, or of all files under a folder in order of name."""
    total = hashlib.sha256()
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    for file in files:
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                total.update(block)
    return total.hexdigest()
