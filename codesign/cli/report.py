"""`codesign report`: a page, Markdown or tables of one result, or of several side by side."""

from pathlib import Path
from typing import Annotated, Final

import typer

from codesign.cli.output import emit

PICTURES: Final = ("png", "svg", "pdf")


def report(
    results: Annotated[
        list[Path], typer.Argument(help="result.json, or the folder that holds it.")
    ],
    format_: Annotated[
        str, typer.Option("--format", help="html, md, csv, or several with commas.")
    ] = "html",
    figures: Annotated[
        str | None,
        typer.Option("--figures", help="Charts as files too: png, svg, pdf, with commas."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder to write to [the first result's].")
    ] = None,
) -> None:
    """Make a page of one or several results."""
    from codesign.errors import printable
    from codesign.report.comparison import Comparison
    from codesign.report.files import FORMATS, read_report, write_report

    formats = _chosen("--format", format_, FORMATS)
    kinds = _chosen("--figures", figures, PICTURES) if figures else ()
    reports = tuple(read_report(path) for path in results)
    made = reports[0] if len(reports) == 1 else Comparison(reports)
    own = results[0] if results[0].is_dir() else results[0].parent
    for path in write_report(made, out or own, formats, kinds):
        emit(f"{printable(str(path))}\n")


def _chosen(option: str, written: str, known: tuple[str, ...]) -> tuple[str, ...]:
    from codesign.errors import UsageError, did_you_mean

    chosen = tuple(dict.fromkeys(part.strip() for part in written.split(",") if part.strip()))
    for each in chosen:
        if each not in known:
            hint = did_you_mean(each, known)
            raise UsageError(f"{option}: {each!r} is none of {', '.join(known)}{hint}")
    if not chosen:
        raise UsageError(f"{option}: choose from {', '.join(known)}")
    return chosen
