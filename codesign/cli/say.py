"""What a command says beside its answer."""

import typer

from codesign.errors import printable


def say(text: str) -> None:
    """Write one line to standard error; names of files in it cannot steer the terminal."""
    typer.echo(printable(text), err=True)
