"""The command line: parse, call, render. Every import that costs time waits for its command."""

import sys
import traceback
from typing import Annotated, Final

import typer

from codesign.cli import calibrate, catalogue, optimize, predict
from codesign.errors import CodesignError

ISSUES: Final = "please report it with the command and this traceback"
INTERRUPTED: Final = 130
BUG: Final = 70

app = typer.Typer(
    name="codesign",
    help="Co-design Mixture-of-Experts architectures and draft length for speculative decoding.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(optimize.optimize)
app.command()(predict.predict)
app.add_typer(calibrate.calibrate)
catalogue.add_commands(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"codesign {version('codesign')}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run one command; what a user can cause ends in one message and its exit status."""
    try:
        status = app(standalone_mode=False)
    except CodesignError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(error.exit_status)
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("interrupted; nothing was written", err=True)
        sys.exit(INTERRUPTED)
    except Exception as error:
        sys.exit(_other(error))
    if status == INTERRUPTED:  # Typer turns Ctrl-C into a status of its own
        typer.echo("interrupted; nothing was written", err=True)
    sys.exit(status if isinstance(status, int) else 0)


def _other(error: Exception) -> int:
    """Usage errors of the command line's own parser, and bugs."""
    show = getattr(error, "show", None)
    if show is not None:
        show()
        return 2
    if isinstance(error, BrokenPipeError):
        sys.stderr.close()
        return 0
    traceback.print_exc()
    typer.echo(f"this is a bug in codesign: {ISSUES}", err=True)
    return BUG
