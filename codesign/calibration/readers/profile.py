"""Readers of the profile section, the most specific first."""

from typing import Any, Final

from codesign.calibration.detect import Reader
from codesign.calibration.profile_readers import chrome_trace, kernel_summary, nsight

READERS: Final[tuple[Reader[Any], ...]] = (
    chrome_trace.READER,
    kernel_summary.READER,
    nsight.SQLITE_READER,
    nsight.CSV_READER,
)
