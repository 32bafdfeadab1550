"""Files are written whole or not at all."""

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Write beside the target, then rename: a reader never sees half a file.

    Raises
    ------
    OSError
        If the folder cannot be written; nothing is left behind.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
