"""Every error a user can cause, one class per exit status, and the nearest valid name."""

from collections.abc import Iterable
from difflib import get_close_matches


class CodesignError(Exception):
    """A problem the user can mend; shown as one message, without a traceback."""

    exit_status = 70


class UsageError(CodesignError):
    """A command, study or spec that cannot be understood or asks for nothing."""

    exit_status = 2


class InfeasibleError(CodesignError):
    """A well-posed search in which no design satisfies every constraint."""

    exit_status = 3


class DataError(CodesignError):
    """A data file that exists but is broken or not understood."""

    exit_status = 4


class CalibrationError(CodesignError):
    """Well-formed data from which the requested fit cannot be made."""

    exit_status = 5


class InterruptedStudyError(CodesignError):
    """A study stopped by Ctrl-C after it was saved; the message says how to go on."""

    exit_status = 130


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the choice nearest to `name`, or an empty string.

    Examples
    --------
    >>> did_you_mean("h10", ["h100-sxm", "h200-sxm"])
    "; did you mean 'h100-sxm'?"
    >>> did_you_mean("zebra", ["h100-sxm"])
    ''
    """
    options = {choice.lower(): choice for choice in choices}
    near = get_close_matches(name.lower(), options, n=1, cutoff=0.5)
    return f"; did you mean {options[near[0]]!r}?" if near else ""
