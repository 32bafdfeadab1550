"""`codesign export`: the answer in the form that engines and trainers read."""

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from codesign.cli.output import deliver


class Target(StrEnum):
    """Who is handed the answer."""

    VLLM = "vllm"
    SGLANG = "sglang"
    HUGGINGFACE = "huggingface"


class ExportFormat(StrEnum):
    """How it is written to standard output."""

    TEXT = "text"
    JSON = "json"


def export(
    result: Annotated[
        str,
        typer.Argument(help="Folder or result.json of 'optimize --out'; or a study, served as is."),
    ],
    to: Annotated[
        Target | None, typer.Option("--to", help="vllm, sglang or huggingface [all].")
    ] = None,
    max_batch: Annotated[
        int | None,
        typer.Option("--max-batch", help="Largest batch size of the table [what fits, to 1024]."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Folder to write files into.")] = None,
    format_: Annotated[
        ExportFormat, typer.Option("--format", help="How the answer is written.")
    ] = ExportFormat.TEXT,
) -> None:
    """Print engine flags and the config.json.

    Draft length by batch size goes with them, in each engine's own form.
    """
    from codesign.errors import UsageError
    from codesign.export import Handover, load_served
    from codesign.report.export_files import write_handover
    from codesign.report.export_text import render_handover

    if max_batch is not None and max_batch < 1:
        raise UsageError(f"--max-batch must be at least 1 ({max_batch})")
    handover = Handover(load_served(result), max_batch)
    target = to.value if to else None
    save = None if out is None else partial(write_handover, handover, target, out)
    deliver(render_handover(handover, target, format_.value), save)
