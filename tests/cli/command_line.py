"""Run the command line in this process, or in one of its own."""

import contextlib
import io
import os
import subprocess
import sys
from dataclasses import dataclass
from unittest.mock import patch

from codesign.cli import main


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    status: int
    out: str
    err: str


def run(*arguments: str) -> Done:
    """Run one command here; its output is no terminal."""
    out, err = io.StringIO(), io.StringIO()
    status: object = None
    with (
        patch.object(sys, "argv", ["codesign", *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as ended:
            status = ended.code
    assert isinstance(status, int)
    return Done(status, out.getvalue(), err.getvalue())


def run_apart(*arguments: str, **environment: str) -> Done:
    """Run one command in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", "from codesign.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    return Done(done.returncode, done.stdout, done.stderr)
