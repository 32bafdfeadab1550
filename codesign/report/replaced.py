"""A folder that holds the answer to another question is not written over."""

import json
from collections.abc import Callable
from pathlib import Path

from codesign.errors import UsageError
from codesign.paths import exists, read_whole
from codesign.records import Record, differences
from codesign.stored import MOST_BYTES


def check_replaceable(path: Path, asked: Record, question: Callable[[Record], Record]) -> Record:
    """Look at what an answer is about to replace.

    Parameters
    ----------
    path : Path
        A result, if there is one.
    asked : dict
        The question that is asked now.
    question : callable
        Returns the question of a result.

    Returns
    -------
    dict
        The result that is there; empty where there is none.

    Raises
    ------
    UsageError
        If the result answers another question, or is none.
    """
    if path.is_symlink() or not exists(path):  # what a link leads to stays as it is
        return {}
    try:
        kept: Record = json.loads(read_whole(path, MOST_BYTES, "a result"))
        differ = differences(question(kept), asked)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"{path} is there and no result: choose another --out") from None
    if differ:
        raise UsageError(
            f"{path} answers another question ({', '.join(differ)} differ): choose another --out"
        )
    return kept
