"""Shipped cases: published numbers as YAML, with their source and tolerance."""

from pathlib import Path
from typing import Any, Final

from pydantic import Field

from codesign.spec.base import Items, Spec
from codesign.spec.load import load_spec

CASES: Final = Path(__file__).parent / "cases"


class Case(Spec):
    """One published number.

    Parameters
    ----------
    name : str
    quantity : str, optional
        What is predicted; the file's where absent.
    settings : dict
        Its arguments, on top of the file's.
    reported : float
    tolerance : float, optional
        Relative; the file's where absent.
    fitted : bool, optional
        The model was fitted to it; as the file says where absent.
    outside : str, optional
        Why the model does not predict it.
    note : str
    """

    name: str
    quantity: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    reported: float
    tolerance: float | None = Field(default=None, ge=0)
    fitted: bool | None = None
    outside: str | None = None
    note: str = ""


class CaseFile(Spec):
    """Cases of one source.

    Parameters
    ----------
    source : str
    quantity : str, optional
    settings : dict
    tolerance : float
    fitted : bool
    cases : list of Case
    """

    source: str
    quantity: str | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    tolerance: float = Field(ge=0)
    fitted: bool = False
    cases: Items[Case] = Field(min_length=1)


def case_files(folder: Path = CASES) -> list[tuple[str, CaseFile]]:
    """Read every file of cases, by name.

    Raises
    ------
    UsageError
        If one breaks a rule.
    """
    return [(path.stem, load_spec(path, CaseFile)) for path in sorted(folder.glob("*.yaml"))]
