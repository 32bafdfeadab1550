"""What must not happen before a command needs it."""

import subprocess
import sys

import pytest

HEAVY = {
    "optuna", "pandas", "scipy", "plotly", "numpy", "matplotlib", "moocore", "yaml", "sqlalchemy",
    "torch",
}  # fmt: skip

PROBE = """
import sys
sys.argv = ["codesign", *sys.argv[1:]]
from codesign.cli import main
try:
    main()
except SystemExit as ended:
    assert ended.code == 0, ended.code
print("MODULES", *sys.modules)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["optimize", "--help"],
        ["predict", "--help"],
        ["list", "--help"],
        ["show", "--help"],
        ["init", "--help"],
        ["schema", "--help"],
    ],
)
def test_help_imports_nothing_that_takes_time(arguments: list[str]) -> None:
    # search.md, start-up: help imports only Typer.
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], capture_output=True, text=True, check=True
    )
    output, _, modules = done.stdout.partition("MODULES ")
    assert output.strip()
    assert {name.partition(".")[0] for name in modules.split()} & HEAVY == set()


def test_writing_a_starter_needs_no_numbers() -> None:
    probe = PROBE.replace('"codesign", *sys.argv[1:]', '"codesign", "schema", "study"')
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    modules = {name.partition(".")[0] for name in done.stdout.partition("MODULES ")[2].split()}
    assert modules & {"optuna", "pandas", "scipy", "plotly", "matplotlib", "moocore"} == set()
