"""Integer axes as people write them: ``8``, ``4,8,16``, ``8:128:8`` and joins of these."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

MAX_VALUES = 100_000
MAX_VALUE = 10**8  # above any expert count or width; keeps products of axes exact

_RANGE = re.compile(r"\s*(\d+)\s*(?::\s*(\d+)\s*(?::\s*(x?\d+)\s*)?)?")


def parse_axis(written: object) -> tuple[int, ...]:
    """Read the values of one axis, sorted and without repeats.

    Parameters
    ----------
    written : int, str or list of these
        ``lo:hi`` and ``lo:hi:step`` include both ends; ``lo:hi:xF`` multiplies by F.

    Raises
    ------
    ValueError
        If it is malformed, empty, has more than 100,000 values or one above 10^8.

    Examples
    --------
    >>> parse_axis("4, 8:16:4")
    (4, 8, 12, 16)
    >>> parse_axis([1, "2:3"])
    (1, 2, 3)
    >>> parse_axis("512:4096:x2")
    (512, 1024, 2048, 4096)
    """
    if isinstance(written, bool) or not isinstance(written, int | str | list | tuple):
        raise ValueError("write a whole number, a list or lo:hi:step")
    if isinstance(written, int):
        parts = [str(written)]
    elif isinstance(written, str):
        parts = written.split(",")
    else:
        if not written:
            raise ValueError("the axis is empty")
        return tuple(sorted({value for item in written for value in parse_axis(item)}))
    return tuple(sorted({value for part in parts for value in _range(part)}))


def _range(part: str) -> Sequence[int]:
    match = _RANGE.fullmatch(part)
    if match is None:
        raise ValueError(f"write whole numbers, a list or lo:hi:step, not {part.strip()!r}")
    written = match.group(3) or "1"
    low, step = int(match.group(1)), int(written.removeprefix("x"))
    high = int(match.group(2)) if match.group(2) else None
    if step == 0:
        raise ValueError(f"the step must be at least 1 in {part.strip()!r}")
    if high is not None and high < low:
        raise ValueError(f"the range {part.strip()!r} is empty: {high} < {low}")
    last = low if high is None else high
    if last > MAX_VALUE:
        raise ValueError(f"must be at most {MAX_VALUE:,}, not {part.strip()!r}")
    if written.startswith("x"):
        return _powers(low, last, step)
    values = range(low, last + 1, step)
    if len(values) > MAX_VALUES:
        raise ValueError(f"more than {MAX_VALUES:,} values on one axis")
    return values


def _powers(low: int, last: int, factor: int) -> list[int]:
    """Values in equal ratios: a logarithmic axis."""
    if low == 0 or factor == 1:
        raise ValueError("a range in equal ratios begins at 1 or more and has a ratio of 2 or more")
    values = [low]
    while values[-1] * factor <= last:
        values.append(values[-1] * factor)
    return values


def axis_schema() -> dict[str, Any]:
    """JSON schema of an axis."""
    item = {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]}
    return {
        "anyOf": [*item["anyOf"], {"type": "array", "items": item, "minItems": 1}],
        "examples": [8, [4, 8], "8:128:8,144:256:16"],
    }


Axis = Annotated[tuple[int, ...], BeforeValidator(parse_axis), WithJsonSchema(axis_schema())]
