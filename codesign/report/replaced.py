"""A folder that holds the answer to another question is not written over."""

from collections.abc import Callable
from pathlib import Path

from codesign.errors import CodesignError, UsageError
from codesign.paths import exists
from codesign.records import Record, differences


def check_replaceable(
    path: Path, asked: Record, read: Callable[[Path], Record], question: Callable[[Record], Record]
) -> Record:
    """Look at what an answer is about to replace.

    Parameters
    ----------
    path : Path
        A result, if there is one.
    asked : dict
        The question that is asked now.
    read : callable
        Reads a result.
    question : callable
        Returns the question of one.

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
        kept = read(path)
        differ = differences(question(kept), asked)
    except (
        CodesignError,
        OSError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ):
        raise UsageError(f"{path} is there and no result: choose another --out") from None
    if differ:
        raise UsageError(
            f"{path} answers another question ({', '.join(differ)} differ): choose another --out"
        )
    return kept
