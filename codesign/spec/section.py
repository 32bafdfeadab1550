"""What every section of a calibration file says: parameters, where they come from, how good."""

from collections.abc import Mapping
from math import inf
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from codesign.errors import printable
from codesign.spec.base import Count, Items, Spec

Text = Annotated[str, AfterValidator(printable)]
"""Words, often out of a measured file, that a terminal and this project's YAML take as they are."""


class Parameter(Spec):
    """One fitted number.

    Parameters
    ----------
    value : float
    standard_error : float, optional
        In the unit of the value; absent where the data cannot say.
    unit : str
        ``-`` for a pure number.
    """

    value: float
    standard_error: float | None = Field(default=None, ge=0)
    unit: Text = "-"


class Source(Spec):
    """One file that was read.

    Parameters
    ----------
    file : str
        As given on the command line.
    sha256 : str
        Of its bytes; of a folder, of the files in it that were read.
    format : str
        Name of the reader, as `--input-format` takes it.
    """

    file: Text
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    format: Text


class Residual(Spec):
    """How far the fit is from its data; `meaning` says of what and over what."""

    value: float = Field(ge=0)
    unit: Text = "-"
    meaning: Text


class Correlation(Spec):
    """Correlation of two parameters' errors."""

    first: Text
    second: Text
    value: float = Field(ge=-1, le=1)


Cell = float | int | Text | None


class Table(Spec):
    """Measured against fitted, or anything else a reader of the section should see.

    Parameters
    ----------
    name : str
        Stable key, such as ``overlap_by_lag``.
    title : str
    columns : list of str
        With the unit in brackets where there is one.
    rows : list of list
        One cell per column; nothing where there is no value.
    """

    name: Text
    title: Text
    columns: Items[Text] = Field(min_length=1)
    rows: Items[Items[Cell]] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        wide = next((row for row in self.rows if len(row) != len(self.columns)), None)
        if wide is not None:
            raise ValueError(f"a row has {len(wide)} cells for {len(self.columns)} columns")
        return self

    def column(self, name: str) -> tuple[Cell, ...]:
        """Return the cells of one column."""
        index = self.columns.index(name)
        return tuple(row[index] for row in self.rows)

    def numbers(self, name: str) -> list[float]:
        """Return one column as numbers, NaN where a cell has none."""
        cells = self.column(name)
        return [float("nan") if cell is None else float(cell) for cell in cells]


class Section(Spec):
    """What a fit of one kind of file yields.

    Parameters
    ----------
    date : str
        Day of the fit, YYYY-MM-DD.
    sources : list of Source
    samples : int
        How many `samples_unit` the fit rests on.
    samples_unit : str
    residual : Residual, optional
    parameters : dict
        By name; whatever the section fits and the model takes.
    correlations : list of Correlation
        Between the errors of two parameters; pairs that are not listed are uncorrelated.
    defaults : dict
        Parameters that stayed at their default, each with the reason.
    notes : list of str
        What was read, and how it was understood.
    warnings : list of str
        Traps of the files that were met.
    tables : list of Table
    """

    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    sources: Items[Source]
    samples: Count
    samples_unit: Text
    residual: Residual | None = None
    parameters: dict[Text, Parameter] = Field(default_factory=dict)
    correlations: Items[Correlation] = ()
    defaults: dict[Text, Text] = Field(default_factory=dict)
    notes: Items[Text] = ()
    warnings: Items[Text] = ()
    tables: Items[Table] = ()

    def table(self, name: str) -> Table | None:
        """Return a table by its key, nothing where the section has none of that name."""
        return next((table for table in self.tables if table.name == name), None)


def require_between(
    parameters: Mapping[str, Parameter], name: str, low: float, high: float = inf
) -> None:
    """Hold a parameter, where it is given, to its range.

    Raises
    ------
    ValueError
        If it is out of it.
    """
    found = parameters.get(name)
    if found is not None and not low <= found.value <= high:
        limits = f"at least {low:g}" if high == inf else f"from {low:g} to {high:g}"
        raise ValueError(f"parameters.{name}: must be {limits}, not {found.value:g}")
