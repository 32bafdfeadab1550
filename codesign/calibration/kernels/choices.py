"""Engines and number formats as asked for."""

from typing import cast

from codesign.calibration.kernels.tables import BACKENDS, FORMATS
from codesign.errors import UsageError, did_you_mean
from codesign.spec.hardware import Backend
from codesign.spec.precision import Dtype


def chosen_backends(names: list[str] | None) -> tuple[Backend, ...]:
    """Return the engines asked for, all where none is.

    Raises
    ------
    UsageError
        If one is unknown.
    """
    return cast(tuple[Backend, ...], _known("--backend", names, BACKENDS))


def chosen_dtypes(names: list[str] | None) -> tuple[Dtype, ...]:
    """Return the formats asked for, all that the tables have where none is.

    Raises
    ------
    UsageError
        If the tables have none of that name.
    """
    return cast(tuple[Dtype, ...], _known("--dtype", names, tuple(FORMATS)))


def _known(option: str, names: list[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    for name in names or ():
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(f"{option}: {name!r} is not among {', '.join(known)}{hint}")
    return tuple(names or known)
