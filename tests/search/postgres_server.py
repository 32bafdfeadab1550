"""A PostgreSQL server of a test's own: scratch data, a socket of its own, no network."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def _program(name: str) -> str:
    """Return a server program; Debian keeps them out of the PATH."""
    beside = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = str(beside[-1]) if beside else shutil.which(name)
    if found is None:
        if os.environ.get("CI"):
            pytest.fail("PostgreSQL is not installed: apt-get install postgresql")
        pytest.skip("needs PostgreSQL: apt-get install postgresql")
    return found


@contextmanager
def postgres() -> Iterator[str]:
    """Start a server with its data in a new folder, and give its URL.

    It refuses to run as root, and is then given to the user that Debian's package makes; pytest's
    own folders are closed to that user.
    """
    initdb, server = _program("initdb"), _program("pg_ctl")
    user = "postgres" if os.geteuid() == 0 else None
    data = Path(tempfile.mkdtemp(prefix="codesign-postgres-"))
    if user:
        shutil.chown(data, user)
    options = f"-k {data} -c listen_addresses= -c fsync=off -c log_min_messages=fatal"

    def run(*command: str) -> None:
        subprocess.run(command, user=user, check=True, capture_output=True, cwd="/", timeout=120)

    run(initdb, "-D", str(data), "-U", "codesign", "-A", "trust", "-E", "UTF8")
    run(server, "-D", str(data), "-o", options, "-w", "-l", str(data / "log"), "start")
    try:
        yield f"postgresql://codesign@/postgres?host={data}"
    finally:
        run(server, "-D", str(data), "-m", "immediate", "stop")
        shutil.rmtree(data)
