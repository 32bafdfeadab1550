"""Readers of the profile section."""

from typing import Any, Final

from codesign.calibration.detect import Reader

READERS: Final[tuple[Reader[Any], ...]] = ()
