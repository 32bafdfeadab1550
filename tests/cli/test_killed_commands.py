"""A few of the kills of scripts/kill_commands.py; what it says of more of them is in its table."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def test_killed_commands_leave_whole_files_and_end_in_the_same_answer() -> None:
    root = Path(__file__).parents[2]
    commands = ["optimize, hybrid", "export"]
    done = subprocess.run(
        [sys.executable, "scripts/kill_commands.py", "--kills", "6", "--only", *commands],
        capture_output=True, text=True, cwd=root, timeout=600,
        env=os.environ | {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("none") == len(commands), done.stdout
