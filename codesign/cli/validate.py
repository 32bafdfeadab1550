"""`codesign validate`: published and user-supplied measurements against the model."""

from pathlib import Path
from typing import Annotated

import typer

from codesign.cli.options import Format, FormatOption
from codesign.cli.output import emit, say
from codesign.cli.progress import progress_bars

DRIFTED = 1


def validate(
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder of measurement sets; see docs/validation.md."),
    ] = None,
    accept: Annotated[
        bool, typer.Option("--accept", help="Make today's predictions the drift baseline.")
    ] = False,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Compare predictions with measurements.

    Published numbers, and a committed baseline of the predictions themselves.

    Exits 1 if predictions drifted from the baseline; how far they are from measurements never
    fails.
    """
    from codesign.validation import accept_drift, drift_rows, shipped_rows

    if accept:
        say(f"accepted {accept_drift()} predictions as the drift baseline")
        return
    from codesign.report.validation_tables import render_validation
    from codesign.validation.measured import measured_errors

    with progress_bars() as progress:
        cases = shipped_rows(progress=progress)
        drift = drift_rows()
        measured = measured_errors(data, progress) if data is not None else None
    emit(render_validation(cases, drift, measured, format_.value))
    if drift:
        say(
            f"error: {len(drift)} predictions drifted; if that is meant, 'codesign validate "
            "--accept' makes them the baseline"
        )
        raise typer.Exit(DRIFTED)
