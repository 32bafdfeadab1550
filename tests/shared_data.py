"""Where the shared files are, and the mark of tests that need them."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

SHARED = Path(__file__).parents[2] / "shared"

Test = TypeVar("Test", bound=Callable[..., object])


def needs_shared(test: Test) -> Test:
    """Mark a test that reads `SHARED`, and skip it where that folder is absent."""
    for mark in (
        pytest.mark.shared,
        pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared"),
    ):
        test = mark(test)
    return test
