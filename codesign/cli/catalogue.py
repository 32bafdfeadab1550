"""`codesign list`, `show`, `schema` and `init`: what is there to choose from, and a start."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from codesign.cli.completion import complete_schema, complete_shown
from codesign.cli.options import Format, FormatOption
from codesign.cli.output import emit


class Catalogue(StrEnum):
    """What `list` lists."""

    HARDWARE = "hardware"
    ARCHITECTURES = "architectures"
    OBJECTIVES = "objectives"
    CONSTRAINTS = "constraints"
    FIGURES = "figures"
    STUDIES = "studies"
    ABLATIONS = "ablations"
    TERMS = "terms"


class Shown(StrEnum):
    """What `show` explains."""

    HARDWARE = "hardware"
    ARCHITECTURE = "architecture"
    OBJECTIVE = "objective"
    CONSTRAINT = "constraint"
    STUDY = "study"
    ABLATION = "ablation"
    CALIBRATION = "calibration"


class Starter(StrEnum):
    """What `init` writes."""

    STUDY = "study"
    HARDWARE = "hardware"
    ABLATION = "ablation"


def add_commands(app: typer.Typer) -> None:
    """Register the commands of this module."""
    app.command("list")(list_)
    app.command("show")(show)
    app.command("schema")(schema)
    app.command("init")(init)


def list_(
    what: Annotated[Catalogue, typer.Argument(help="Which catalogue.")],
    format_: FormatOption = Format.TABLE,
) -> None:
    """List everything bundled of one kind."""
    from codesign.report.catalogue_tables import render_list

    emit(render_list(what.value, format_.value))


def show(
    what: Annotated[Shown, typer.Argument(help="What kind of thing.")],
    name: Annotated[
        str,
        typer.Argument(help="Bundled name, or a path.", autocompletion=complete_shown),
    ],
    format_: FormatOption = Format.TABLE,
) -> None:
    """Explain one thing: its facts and where they come from."""
    if what is Shown.CALIBRATION:
        from codesign.report.calibration_tables import render_calibration

        emit(render_calibration(Path(name), format_.value))
        return
    from codesign.report.catalogue_tables import render_one

    emit(render_one(what.value, name, format_.value))


def schema(
    name: Annotated[
        str,
        typer.Argument(
            help="hardware, architecture, study, ablation, ...", autocompletion=complete_schema
        ),
    ],
) -> None:
    """Print the JSON schema of a file, for editors."""
    from codesign.report.formats import to_json
    from codesign.spec.schemas import json_schema

    emit(to_json(json_schema(name)))


def init(
    what: Annotated[Starter, typer.Argument(help="What to start.")] = Starter.STUDY,
    path: Annotated[Path | None, typer.Argument(help="File to write [study.yaml].")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:
    """Write a commented starter file."""
    from codesign.errors import UsageError, printable
    from codesign.paths import exists
    from codesign.starters import starter_text
    from codesign.whole_file import write_whole

    target = path or Path(f"{what.value}.yaml")
    if exists(target) and not force:
        raise UsageError(f"{target} exists; --force overwrites it")
    write_whole(target, starter_text(what.value))
    emit(f"wrote {printable(str(target))}\n")
