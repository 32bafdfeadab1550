"""Every error a user can cause, one class per exit status, and the nearest valid name."""

import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Final

Location = tuple[str | int, ...]
"""Keys and indices that lead to a field of a spec."""

NAME: Final = ""
"""Last part of the location of a key itself, not of what stands behind it."""

ALIKE: Final = 0.8
"""Share of letters that a suggestion has in common with what was written."""

SHORT: Final = 5
SHORT_ALIKE: Final = 0.6


class CodesignError(Exception):
    """A problem the user can mend; shown as one message, without a traceback."""

    exit_status = 70
    at: Location | None = ()
    """Field of a spec that is wrong, as far as it is known; None: the message says its place."""

    def __str__(self) -> str:
        """Return the message; what it quotes of a file cannot steer a terminal."""
        return printable_lines(super().__str__())


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


@contextmanager
def field(*location: str | int) -> Iterator[None]:
    """Note which field of a spec is looked at; whoever knows its file adds line and column."""
    try:
        yield
    except UsageError as error:
        if error.at is not None:
            error.at = (*location, *error.at)
        raise


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the choice nearest to `name`, or an empty string.

    A choice that begins with the name counts as near, in a short name most letters must agree, in
    a longer one nearly all: a wrong guess costs more than none.

    Examples
    --------
    >>> did_you_mean("h10", ["h100-sxm", "h200-sxm"])
    "; did you mean 'h100-sxm'?"
    >>> did_you_mean("zebra", ["h100-sxm"])
    ''
    """
    options = {choice.lower(): choice for choice in choices}
    wanted = name.lower()
    begun = [option for option in options if len(wanted) > 1 and option.startswith(wanted)]
    alike = SHORT_ALIKE if len(wanted) <= SHORT else ALIKE
    near = get_close_matches(wanted, begun or options, n=1, cutoff=0.0 if begun else alike)
    return f"; did you mean {options[near[0]]!r}?" if near else ""


def printable(text: str) -> str:
    r"""Return text on one line with all that is not seen written out.

    Names come from files. Escape sequences and overrides of the reading direction in them could
    rewrite what a terminal, or a person, reads.

    Examples
    --------
    >>> printable("h100\x1b[2J\u202e é")
    'h100\\x1b[2J\\u202e é'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if _is_seen(c) else ascii(c)[1:-1] for c in text)


def printable_lines(text: str) -> str:
    """Return text with all that is not seen written out, but for the ends of its lines."""
    return "\n".join(map(printable, text.split("\n")))


def _is_seen(character: str) -> bool:
    """Return whether a character has a glyph of its own or is a space of some width."""
    return character.isprintable() or unicodedata.category(character) == "Zs"


def is_readable(text: str) -> bool:
    """Return whether all of a text is seen, but for tabs and the ends of its lines."""
    spaced = text.replace("\t", " ").replace("\n", " ")
    return printable(spaced) == spaced
