"""Write a result to a folder, each file whole or not at all."""

import os
from pathlib import Path

import yaml

from codesign.errors import UsageError
from codesign.report.formats import to_json
from codesign.result import Result


def write_result(result: Result, folder: Path) -> None:
    """Write study.yaml (resolved) and result.json.

    Raises
    ------
    UsageError
        If the folder cannot be written.
    """
    study = yaml.safe_dump(result.study, sort_keys=False, allow_unicode=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "study.yaml", study)
        write_whole(folder / "result.json", to_json(result.to_dict()))
    except OSError as error:
        raise UsageError(f"{folder}: cannot be written ({error.strerror})") from None


def write_whole(path: Path, text: str) -> None:
    """Write beside the target, then rename: a reader never sees half a file."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
