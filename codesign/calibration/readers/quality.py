"""Reader of ablation tables."""

from typing import Any, Final

import pandas as pd

from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.quality import COLUMNS, read_ablations
from codesign.calibration.sample import Sample


def lacks_ablations(sample: Sample) -> str | None:
    """Say what a sample lacks to be a table of ablations."""
    if sample.container != "text" or sample.text is None:
        return "is not a text table"
    header = {name.strip().strip('"') for name in sample.text.split("\n", 1)[0].split(",")}
    missing = [name for name in COLUMNS if name not in header]
    return f"its first line has no column {', '.join(missing)}" if missing else None


def _read(sample: Sample, _: CalibrationOptions) -> pd.DataFrame:
    return read_ablations(sample.path)


READERS: Final[tuple[Reader[Any], ...]] = (
    Reader("ablations-csv", "table of ablations", lacks_ablations, _read),
)
