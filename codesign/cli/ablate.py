"""`codesign ablate`: factors of a study varied, terms of the model taken out."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from codesign.cli.completion import complete_ablation
from codesign.cli.output import deliver, say


class TableFormat(StrEnum):
    """How the tables are written to standard output."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    MARKDOWN = "markdown"


def ablate(
    ablation: Annotated[
        str,
        typer.Argument(
            help="Ablation file, or bundled ablation.", autocompletion=complete_ablation
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for tables, pictures and the journal.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep the rows that an interrupted run had finished.")
    ] = False,
    calibration: Annotated[
        Path | None, typer.Option("--calibration", help="Calibration file of every row.")
    ] = None,
    workers: Annotated[int, typer.Option("--workers", help="Local processes.")] = 1,
    cluster: Annotated[
        str | None, typer.Option("--cluster", help="Dask scheduler: tcp://host:8786.")
    ] = None,
    format_: Annotated[
        TableFormat, typer.Option("--format", help="How the tables are written.")
    ] = TableFormat.TABLE,
) -> None:
    """Say what an answer owes to each assumption.

    Factors of a study are varied, or terms taken out of the model, and what changes is tabulated.
    """
    from codesign.ablation import ablate as run
    from codesign.ablation import load_ablation
    from codesign.ablation.driver import located_study
    from codesign.ablation.journal import Journal
    from codesign.cli.progress import progress_bars
    from codesign.errors import InterruptedStudyError, UsageError
    from codesign.report.ablation_files import check_ablation, write_ablation
    from codesign.report.ablation_tables import render_ablation

    if resume and out is None:
        raise UsageError("--resume needs the --out folder of the interrupted run")
    spec, folder = load_ablation(ablation)
    if calibration is not None:
        spec = spec.revised(overrides=spec.overrides | {"calibration": str(calibration.resolve())})
    if out is not None:
        check_ablation(spec, out)
    journal = None if out is None else Journal(out / "rows.jsonl")
    if journal is not None and not resume:
        journal.clear()
    elif journal is not None and journal.empty:
        say(f"nothing to resume in {out}: every row is computed")
    try:
        with located_study(ablation, spec), progress_bars() as progress:
            result = run(
                spec, folder=folder, journal=journal, workers=workers, cluster=cluster,
                progress=progress,
            )  # fmt: skip
    except KeyboardInterrupt:
        if journal is None:
            raise
        raise InterruptedStudyError(
            f"interrupted; the rows that were finished are kept in {out}: the same command with "
            "--resume does the others"
        ) from None
    save = None if out is None else partial(write_ablation, result, out)
    deliver(render_ablation(result, format_.value), save)
