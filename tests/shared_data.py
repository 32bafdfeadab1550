"""Where the shared files are, and the mark of tests that need them."""

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared"


def needs_shared(test):  # type: ignore[no-untyped-def]
    return pytest.mark.shared(pytest.mark.skipif(not SHARED.is_dir(), reason="no ../shared")(test))
