"""Run the shipped cases."""

from collections.abc import Callable
from inspect import signature
from pathlib import Path

from codesign.errors import UsageError, did_you_mean
from codesign.validation.case import CASES, Case, CaseFile, case_files
from codesign.validation.quantities import QUANTITIES
from codesign.validation.rows import ValidationRow

Progress = Callable[[str, int, int], None]


def shipped_rows(folder: Path = CASES, progress: Progress | None = None) -> list[ValidationRow]:
    """Predict every shipped case.

    Parameters
    ----------
    folder : Path
        Of case files.
    progress : callable, optional
        Told the stage, how much more of it is done, and how much there is.

    Raises
    ------
    UsageError
        If a case asks for an unknown quantity or setting.
    """
    files = case_files(folder)
    total = sum(len(file.cases) for _, file in files)
    rows = []
    for name, file in files:
        for case in file.cases:
            rows.append(_row(name, file, case))
            if progress:
                progress("cases", 1, total)
    return rows


def _row(name: str, file: CaseFile, case: Case) -> ValidationRow:
    quantity = case.quantity or file.quantity or "outside"
    predicted = None
    if case.outside is None:
        predicted = _predicted(f"{name}/{case.name}", quantity, file.settings, case.settings)
    return ValidationRow(
        case=f"{name}/{case.name}",
        quantity=quantity,
        predicted=predicted,
        reported=case.reported,
        tolerance=file.tolerance if case.tolerance is None else case.tolerance,
        source=file.source,
        fitted=file.fitted if case.fitted is None else case.fitted,
        note=case.outside or case.note,
    )


def _predicted(
    where: str, quantity: str, shared: dict[str, object], own: dict[str, object]
) -> float:
    """Call a quantity; of what the cases of a file share it is given what it takes."""
    if quantity not in QUANTITIES:
        hint = did_you_mean(quantity, QUANTITIES)
        raise UsageError(f"{where}: unknown quantity {quantity!r}{hint}")
    function = QUANTITIES[quantity]
    taken = signature(function).parameters
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken.values()):
        shared = {name: value for name, value in shared.items() if name in taken}
    try:
        return float(function(**(shared | own)))
    except TypeError as error:
        raise UsageError(f"{where}: {quantity}: {error}") from None
