"""Annotations by which engines mark a step in a profile."""

import re
from typing import NamedTuple

_VLLM = re.compile(r"execute_context_(\d+)\((\d+)\)_generation_(\d+)\((\d+)\)")
_GENERIC = re.compile(r"step\[DECODE bs=(\d+) toks=(\d+)\]")


class Marker(NamedTuple):
    """A step; times in seconds."""

    start: float
    duration: float
    batch_size: int
    tokens: int
    prefills: int


def read_marker(name: str, start: float, duration: float) -> Marker | None:
    """Return the step that an annotation marks, nothing where it marks none.

    Examples
    --------
    >>> read_marker("execute_context_0(0)_generation_8(32)", 0.0, 1.0)
    Marker(start=0.0, duration=1.0, batch_size=8, tokens=32, prefills=0)
    """
    if match := _VLLM.search(name):
        prefills, _, batch, tokens = map(int, match.groups())
        return Marker(start, duration, batch, tokens, prefills)
    if match := _GENERIC.search(name):
        batch, tokens = map(int, match.groups())
        return Marker(start, duration, batch, tokens, 0)
    return None
