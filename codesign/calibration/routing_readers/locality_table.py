"""A published table as YAML: unique experts by batch size, overlap by lag."""

from typing import Final, Self

from pydantic import Field, model_validator

from codesign.calibration.detect import Reader
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.router.trace import LocalityTable
from codesign.calibration.sample import Sample
from codesign.errors import DataError, UsageError
from codesign.spec.base import PositiveCount, Spec
from codesign.spec.load import load_spec

KEYS: Final = ("unique_by_batch", "overlap_by_lag")


class LocalitySpec(Spec):
    """The file.

    Parameters
    ----------
    source : str
        Where the figures were published.
    experts, top_k : int
        N and k [-].
    unique_by_batch : dict
        Mean unique experts of so many independent tokens [-].
    overlap_by_lag : dict
        Share of a token's experts that the token so far behind has too [-].
    """

    source: str = ""
    experts: PositiveCount
    top_k: PositiveCount
    unique_by_batch: dict[str, float] = Field(default_factory=dict)
    overlap_by_lag: dict[str, float] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.top_k >= self.experts:
            raise ValueError("top_k must be below experts")
        for name in (*self.unique_by_batch, *self.overlap_by_lag):
            if not name.isdecimal() or int(name) < 1:
                raise ValueError(f"batch sizes and lags are whole numbers from 1, not {name!r}")
        for size, value in self.unique_by_batch.items():
            if not self.top_k <= value <= min(self.experts, self.top_k * int(size)):
                raise ValueError(f"{value} unique experts of {size} tokens cannot be")
        if any(not 0 < value < 1 for value in self.overlap_by_lag.values()):
            raise ValueError("overlaps lie between 0 and 1")
        return self


def _lacks(sample: Sample) -> str | None:
    if sample.container != "text" or sample.text is None:
        return "is no YAML"
    lines = sample.text.splitlines()
    if any(line.startswith(f"{key}:") for line in lines for key in KEYS):
        return None
    return f"has none of {', '.join(KEYS)}"


def _read(sample: Sample, _: CalibrationOptions) -> tuple[LocalityTable, ...]:
    try:
        spec = load_spec(sample.path, LocalitySpec)
    except UsageError as error:
        raise DataError(str(error)) from None
    table = LocalityTable(
        str(sample.path), spec.experts, spec.top_k,
        {int(size): value for size, value in spec.unique_by_batch.items()},
        {int(lag): value for lag, value in spec.overlap_by_lag.items()},
    )  # fmt: skip
    return (table,)


READER: Final = Reader("locality-table", "table of routing locality", _lacks, _read)
