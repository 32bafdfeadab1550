"""Kill every command again and again, at random moments, and see what is left.

    python scripts/kill_commands.py [--kills 300] [--seed 0] [--only NAME ...]

Every command is first run undisturbed. Then, in a folder of its own, it is killed (SIGKILL) up to
four times at moments drawn over its duration, and run again until it ends. After every kill each
file is compared with the undisturbed one: under its final name it must be whole and the same, or
not there. In the end the printed answer and every file must be the same, with nothing left beside
them and no process left over. Exits 1 if anything is not as it must be.

Commands are forked from a process that has loaded everything, so that a kill meets the command and
not its imports. A PostgreSQL server of Debian's package is started for them.
"""

import argparse
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from codesign.cli import main as codesign
from codesign.model.routing import GENERIC_ROUTER
from tests.calibration.routing_files import npz, simulated
from tests.search.postgres_server import postgres

MARK = "CODESIGN_KILLED_RUN"
"""In the environment of everything that a command starts, by which it is found again."""

JOURNALS = re.compile(r"study\.journal(\.driver|\.torn-\d+)?|rows\.jsonl")
"""Grow line by line; whether one is whole is seen by whether the command goes on."""

BESIDE = (".part", ".lock")
"""Endings of what a killed command may leave until the next one."""

LET_GO = 5.0
"""Workers notice within moments that their driver is gone [s]."""

QUESTION = "optimize --hw h100 --target-bs 32 --resume --out OUT"
SMALL = "--experts 32:160:16 --top-k 4:10"

COMMANDS = {
    "optimize, optuna": f"{QUESTION} --engine optuna --trials 120 --draws 0",
    "optimize, optuna, draws, 2 workers": f"{QUESTION} {SMALL} --engine optuna --trials 60 "
    "--draws 8 --workers 2",
    "optimize, hybrid": f"{QUESTION} --engine hybrid --trials 80 --draws 0",
    "optimize, exact, all designs, 2 workers": f"{QUESTION} --engine exact --draws 0 --workers 2 "
    "--all-designs",
    "optimize, auto, draws, Parquet": f"{QUESTION} {SMALL} --draws 8 --trials 40 --parquet",
    "optimize, auto, PostgreSQL": f"{QUESTION} --storage DATABASE --trials 80 --draws 0",
    "ablate": "ablate which-mechanism --resume --out OUT",
    "ablate, 2 workers": "ablate design-rule-shared --resume --out OUT --workers 2",
    "report": "report RESULT --format html,md,csv --figures png,svg,pdf --out OUT",
    "export": "export RESULT --out OUT",
    "calibrate routing": "calibrate routing TRACE --experts 32 --top-k 4 --out OUT/mine.yaml "
    "--plot OUT/mine.svg",
    "calibrate kernels": "calibrate kernels --device l40s --backend vllm --out OUT/mine.yaml",
    "predict": "predict --hw h100 --target-bs 1:64 --plot OUT/mine.pdf",
    "validate": "validate",
}


@dataclass
class Ended:
    """How an undisturbed run ended."""

    status: int
    out: bytes
    files: dict[str, bytes]
    seconds: float


@dataclass
class Tally:
    """What was seen of one command."""

    kills: int = 0
    early: int = 0
    sequences: int = 0
    identical: int = 0
    beside: int = 0
    faults: list[str] = field(default_factory=list)


def start(arguments: list[str], output: Path, mark: str) -> int:
    """Fork a process that runs one command, and return its id."""
    child = os.fork()
    if child:
        return child
    os.setsid()
    os.environ[MARK] = mark
    for number, path in ((1, output), (2, output.with_suffix(".err"))):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.argv = ["codesign", *arguments]
    status = 70
    try:
        codesign()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0
    finally:
        sys.stdout.flush()
        os._exit(status)


def files_in(folder: Path) -> dict[str, bytes]:
    """Everything in a folder but journals, by path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not JOURNALS.fullmatch(path.name)
    }


def undisturbed(arguments: list[str], folder: Path, output: Path) -> Ended:
    """Run a command to its end."""
    begun = time.monotonic()
    _, status = os.waitpid(start(arguments, output, "undisturbed"), 0)
    seconds = time.monotonic() - begun
    code = os.waitstatus_to_exitcode(status)
    return Ended(code, output.read_bytes(), files_in(folder), seconds)


def killed(arguments: list[str], output: Path, after: float, mark: str) -> bool:
    """Run a command and kill it after a while; return whether it was still at work."""
    child = start(arguments, output, mark)
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def left_over(mark: str) -> list[int]:
    """Processes of a killed command that still run after a moment."""
    until = time.monotonic() + LET_GO
    while (found := _marked(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    return found


def _marked(mark: str) -> list[int]:
    sought, found = f"{MARK}={mark}".encode(), []
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            if sought in environment.read_bytes().split(b"\0"):
                found.append(int(environment.parent.name))
        except OSError:
            continue
    return found


def compare(seen: dict[str, bytes], whole: Ended, tally: Tally) -> None:
    """Note files that are not as the undisturbed run left them."""
    for name, content in seen.items():
        if name.endswith(BESIDE):
            tally.beside += 1
        elif content != whole.files.get(name):
            tally.faults.append(f"{name} differs")


def torment(
    arguments: list[str], folder: Path, output: Path, whole: Ended, chance: random.Random,
    kills: int, tally: Tally,
) -> None:  # fmt: skip
    """Kill one command so often, then let it finish."""
    mark = f"{os.getpid()}-{chance.getrandbits(64):x}"
    for _ in range(kills):
        if killed(arguments, output, chance.uniform(0.0, whole.seconds), mark):
            tally.kills += 1
        else:
            tally.early += 1
        tally.faults += [f"process {left} is left" for left in left_over(mark)]
        compare(files_in(folder), whole, tally)
    ended = undisturbed(arguments, folder, output)
    tally.sequences += 1
    if (ended.status, ended.out, ended.files) == (whole.status, whole.out, whole.files):
        tally.identical += 1
    else:
        tally.faults.append(
            f"ended with {ended.status}, {_differing(ended, whole)}: "
            f"{output.with_suffix('.err').read_text()[-500:]}"
        )


def _differing(ended: Ended, whole: Ended) -> str:
    names = [
        name for name in sorted({*ended.files, *whole.files})
        if ended.files.get(name) != whole.files.get(name)
    ]  # fmt: skip
    return ", ".join([*names, *(["another answer"] if ended.out != whole.out else [])])


@contextmanager
def scratch(server: bool) -> Iterator[tuple[Path, str]]:
    """A folder, and the URL of a PostgreSQL server if one is needed."""
    with tempfile.TemporaryDirectory() as folder, postgres() if server else nullcontext("") as url:
        yield Path(folder), url


def new_database(url: str, number: int) -> str:
    """Make an empty database."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE run{number}")
    return url.replace("/postgres?", f"/run{number}?")


def main() -> None:
    """Print a table of all commands."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], help="beginnings of names")
    given = parser.parse_args()
    chosen = {
        name: command for name, command in COMMANDS.items()
        if not given.only or name.startswith(tuple(given.only))
    }  # fmt: skip
    chance, tallies = random.Random(given.seed), {}
    needed = any("DATABASE" in command for command in chosen.values())
    with scratch(needed) as (root, server):
        output = root / "printed"
        trace = simulated(32, 4, GENERIC_ROUTER, sequences=32, tokens=48, layers=3, seed=0)
        names = {"TRACE": str(npz(root, "trace.npz", experts=trace, N=32))}
        names["RESULT"] = str(root / "result")
        made = f"{QUESTION} {SMALL} --draws 8 --trials 40".replace("OUT", names["RESULT"])
        assert undisturbed(made.split(), Path(names["RESULT"]), output).status == 0
        databases = 0

        def arguments(command: str) -> list[str]:
            nonlocal databases
            databases += 1
            folder = root / "out"
            shutil.rmtree(folder, ignore_errors=True)
            own = names | {"OUT": str(folder)}
            if "DATABASE" in command:
                own["DATABASE"] = new_database(server, databases)
            for name, value in own.items():
                command = command.replace(name, value)
            return command.split()

        for name, command in chosen.items():
            whole = undisturbed(arguments(command), root / "out", output)
            assert whole.status == 0, f"{name}: {output.with_suffix('.err').read_text()}"
            tally = tallies[name] = Tally()
            while tally.kills < given.kills / len(chosen) and len(tally.faults) < 20:
                kills = chance.randint(1, 4)
                torment(arguments(command), root / "out", output, whole, chance, kills, tally)
            seen = f"{tally.kills} kills, {len(tally.faults)} faults"
            print(f"{name}: {seen}", file=sys.stderr, flush=True)
    show(tallies)
    sys.exit(any(tally.faults for tally in tallies.values()))


def show(tallies: dict[str, Tally]) -> None:
    """Print what was seen."""
    table = Table(
        "command", "kills", "ended before", "runs to the end", "the same answer and files",
        "temporary files seen", "faults",
    )  # fmt: skip
    for name, tally in tallies.items():
        table.add_row(
            name, *map(str, (tally.kills, tally.early, tally.sequences, tally.identical)),
            str(tally.beside), "; ".join(dict.fromkeys(tally.faults)) or "none",
        )  # fmt: skip
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
