"""Finished rows of an ablation on disk, so that an interrupted run goes on where it stopped."""

import hashlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from codesign.ablation.cases import Case
from codesign.ablation.evaluation import Plan
from codesign.errors import DataError
from codesign.paths import is_file, read_whole
from codesign.records import Record
from codesign.resolve import build_scenario
from codesign.spec.study import Study
from codesign.whole_file import append_line, cut_half_line, lock_file, writing

MOST_BYTES: Final = 256 * 2**20


class Journal:
    """One line of JSON per row, each with the fingerprint of what it was computed from.

    Parameters
    ----------
    path : Path
        Created with the first row.

    Raises
    ------
    DataError
        If the file is no such journal.

    Notes
    -----
    A line that a killed run left half written is cut off before anything is added.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows = self._read()

    @property
    def empty(self) -> bool:
        """Whether no row is finished."""
        return not self._rows

    def row(self, plan: Plan, case: Case) -> Record | None:
        """Return the finished row of a case, if the same case was finished."""
        return self._rows.get(fingerprint(plan, case))

    def add(self, plan: Plan, case: Case, row: Record) -> None:
        """Write a finished row at once.

        Raises
        ------
        UsageError
            If the file cannot be written.
        """
        line = json.dumps({"key": fingerprint(plan, case), "row": row}, allow_nan=False)
        with writing(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            append_line(self._path, line)

    def clear(self) -> None:
        """Forget every row, also on disk.

        Raises
        ------
        UsageError
            If the file cannot be removed.
        """
        with writing(self._path):
            self._path.unlink(missing_ok=True)
        self._rows = {}

    def _read(self) -> dict[str, Record]:
        if not is_file(self._path):
            return {}
        try:
            content = read_whole(self._path, MOST_BYTES, "the journal of an ablation")
            whole, _, torn = content.rpartition(b"\n")
            entries = [json.loads(line) for line in whole.decode("utf-8").split("\n") if line]
            rows = {entry["key"]: entry["row"] for entry in entries}
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise DataError(
                f"{self._path}: not the journal of an ablation ({error}); run without --resume"
            ) from None
        if torn:  # only now is it known to be one
            with writing(self._path), self._path.open("r+b", buffering=0) as file:
                lock_file(file.fileno())
                cut_half_line(file)
        return rows


def fingerprint(plan: Plan, case: Case) -> str:
    """Return a digest of everything a row depends on: spec, scenario, files of extensions."""
    ablation = plan.ablation.model_dump(mode="json", include={"terms", "design", "figures"})
    held = plan.held.rows() if plan.held is not None else None
    parts = [ablation, held, case.study.to_data(), version("codesign")]
    digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode())
    digest.update(repr(build_scenario(case.study)).encode())
    for path in _extension_files(case.study, plan.folder or Path()):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _extension_files(study: Study, folder: Path) -> list[Path]:
    """Files of objectives and constraints given by path, and those their options name."""
    names: list[Any] = [choice.name for choice in study.objectives]
    for name, options in study.constraints.items():
        names += [name, *(options.values() if isinstance(options, dict) else ())]
    paths = [folder / name for name in names if isinstance(name, str)]
    return [path for path in paths if is_file(path)]
