"""The command line: parse, call, render. Every import that costs time waits for its command."""

import errno
import sys
import traceback
from contextlib import suppress
from typing import Annotated, Final

import typer

from codesign.cli import (
    ablate,
    calibrate,
    calibrate_kernels,
    catalogue,
    export,
    optimize,
    predict,
    report,
    validate,
)
from codesign.cli.output import close_stdout, emit, open_streams, say
from codesign.errors import CodesignError, InterruptedStudyError, UsageError
from codesign.search.interrupt import be_interrupted

ISSUES: Final = "please report it with the command and this traceback"
INTERRUPTED: Final = 130
BUG: Final = 70

REFUSALS: Final = (
    errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE,
    errno.ENFILE, errno.EAGAIN, errno.ENOMEM,
)  # fmt: skip
"""What a system refuses is no bug here, wherever it is met."""

app = typer.Typer(
    name="codesign",
    help="Co-design Mixture-of-Experts architectures and draft length for speculative decoding.\n\n"
    "Begin with: codesign optimize --target-bs 32 --hw h100",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(optimize.optimize)
app.command()(predict.predict)
app.command()(ablate.ablate)
app.command()(export.export)
app.command()(report.report)
app.command()(validate.validate)
calibrate.calibrate.command()(calibrate_kernels.kernels)
app.add_typer(calibrate.calibrate)
catalogue.add_commands(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        emit(f"codesign {version('codesign')}\n")
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
    open_streams()
    be_interrupted()
    try:
        status = app(prog_name="codesign", standalone_mode=False)
        sys.stdout.flush()
    except InterruptedStudyError as error:
        say(str(error))
        sys.exit(error.exit_status)
    except CodesignError as error:
        say(f"error: {error}")
        status = error.exit_status
    except (KeyboardInterrupt, typer.Abort):
        status = INTERRUPTED
    except SystemExit as error:  # Typer's own end where the reader of a pipe has left
        status = _other(error.__context__) if error.__context__ else error.code
    except Exception as error:  # the last stop; bugs end in their own status
        status = _other(error)
    if status == INTERRUPTED:  # which Typer also makes of Ctrl-C by itself
        say("interrupted; every file is whole, and the same command begins again")
    sys.exit(status if isinstance(status, int) else 0)


def _other(error: BaseException) -> int:
    """Usage errors of the command line's own parser, and bugs."""
    show = getattr(error, "show", None)
    if show is not None:
        # Only the parser's errors have `show`; pydantic begins its messages so, which says nothing.
        error.message = error.message.replace("Value error, ", "")  # type: ignore[attr-defined]
        with suppress(OSError):
            show()
        return UsageError.exit_status
    if isinstance(error, BrokenPipeError):  # and nothing is left to say to it
        close_stdout()
        return 0
    if isinstance(error, OSError) and error.errno in REFUSALS:
        where = f"{error.filename}: " if error.filename else ""
        say(f"error: {where}{error.strerror}")
        return UsageError.exit_status
    with suppress(OSError):
        traceback.print_exception(error)
    say(f"this is a bug in codesign: {ISSUES}")
    return BUG
