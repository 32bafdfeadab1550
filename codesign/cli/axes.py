"""Lists of whole numbers on the command line."""

from codesign.errors import UsageError
from codesign.spec.axis import parse_axis


def axis_option(option: str, written: str | None, least: int = 0) -> tuple[int, ...] | None:
    """Read an option such as ``1,2,4``; nothing where it was not given.

    Raises
    ------
    UsageError
        If it is malformed or has a value below `least`.
    """
    if written is None:
        return None
    try:
        values = parse_axis(written)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
    if values[0] < least:
        raise UsageError(f"{option}: must be at least {least} ({values[0]})")
    return values
