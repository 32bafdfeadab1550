"""Measurement sets as CSV files: found by name, columns checked."""

from pathlib import Path
from typing import TYPE_CHECKING

from codesign.errors import DataError, UsageError

if TYPE_CHECKING:
    from pandas import DataFrame


def find_table(folder: Path, stem: str) -> Path | None:
    """Return ``stem*.csv`` or ``stem*.csv.gz`` in a folder or below it, the first by name.

    Raises
    ------
    UsageError
        If the folder does not exist.
    """
    if not folder.is_dir():
        raise UsageError(f"--data: no folder {folder}")
    found = [*folder.rglob(f"{stem}*.csv"), *folder.rglob(f"{stem}*.csv.gz")]
    return min(found, default=None)


def read_table(path: Path, columns: tuple[str, ...]) -> "DataFrame":
    """Read a table that has these columns.

    Raises
    ------
    DataError
        If it cannot be read, or a column is missing.
    """
    import pandas as pd

    try:
        rows = pd.read_csv(path)
    except (OSError, ValueError, EOFError) as error:
        raise DataError(f"{path}: not a table ({error})") from None
    missing = [name for name in columns if name not in rows]
    if missing:
        raise DataError(
            f"{path}: no column {', '.join(missing)}; it has {', '.join(map(str, rows.columns))}"
        )
    return rows
