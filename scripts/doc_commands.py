"""Run the commands in README and tutorials, and keep the output shown beneath them true.

README's table of accuracy is taken from docs/accuracy.md. A page's ``bash`` blocks run in order in
one empty folder. A ``text`` block right after one shows as many of the first lines of its standard
output as it has; a line ``...`` ends it early. A block after a line "File `NAME`:" is written to
NAME first. A block after ``<!-- not run: REASON -->`` is not run.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = (
    ROOT / "README.md",
    ROOT / "docs" / "index.md",
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
)
TIMEOUT: Final = 300
TOLERANCE: Final = 0.02
"""Numbers shown may differ by this share from those printed: the last digit is no one's promise."""

PICTURED: Final = "which-mechanism"

ACCURACY_START: Final = "<!-- accuracy: filled from docs/accuracy.md by scripts/doc_commands.py -->"
ACCURACY_END: Final = "<!-- /accuracy -->"

_BLOCK: Final = re.compile(
    r"(?:^(?:<!-- (?P<mark>[^\n]*) -->|File `(?P<file>[^`\n]+)`:)\n+)?"
    r"^```(?P<kind>\w+)[^\n]*\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_NUMBER: Final = re.compile(r"[-+]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
_SET_UP: Final = ("python3 -m venv", ".venv/bin/pip install")


@dataclass(frozen=True)
class Block:
    """One fenced block of a page.

    Parameters
    ----------
    kind : str
        What it is fenced as.
    text : str
    mark : str
        The comment right before it.
    file : str, optional
        The file that the reader writes.
    start, end : int
        Where its text lies in the page.
    """

    kind: str
    text: str
    mark: str
    file: str | None
    start: int
    end: int

    @property
    def runs(self) -> bool:
        """Commands that a reader types; the test command would run itself."""
        skipped = self.mark.startswith("not run:") or self.mark == "tests"
        return self.kind == "bash" and not skipped


@dataclass(frozen=True)
class Shown:
    """An output as the page shows it, and as it is.

    Parameters
    ----------
    block : Block
    printed : str
        The lines that the block should have.
    """

    block: Block
    printed: str

    @property
    def holds(self) -> bool:
        """Words are the same, numbers nearly."""
        return alike(self.block.text, self.printed)


def blocks_of(page: str) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    return [
        Block(m["kind"], m["text"], m["mark"] or "", m["file"], m.start("text"), m.end("text"))
        for m in _BLOCK.finditer(page)
    ]


def run_page(path: Path, folder: Path) -> list[Shown]:
    """Run a page's commands in an empty folder, and return the outputs that it shows.

    Raises
    ------
    RuntimeError
        If a command fails.
    """
    shown = []
    output = ""
    for block in blocks_of(path.read_text(encoding="utf-8")):
        if block.file:
            (folder / block.file).parent.mkdir(parents=True, exist_ok=True)
            (folder / block.file).write_text(block.text, encoding="utf-8")
        elif block.runs:
            output = _run(block.text, folder, path)
        elif block.kind == "text":
            shown.append(Shown(block, _first_lines(output, block.text)))
    return shown


def _run(commands: str, folder: Path, page: Path) -> str:
    """Run one block; its own environment stands in for the one it would install."""
    lines = [line for line in commands.splitlines() if not line.startswith(_SET_UP)]
    script = "set -euo pipefail\n" + "\n".join(lines).replace(".venv/bin/", "")
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "100",
    }
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True,
        check=False, timeout=TIMEOUT,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{page.name}: {commands}exit {done.returncode}\n{done.stderr[-4000:]}")
    return done.stdout


def _first_lines(output: str, shown: str) -> str:
    """As many lines as are shown, which may end with an ellipsis."""
    count = len(shown.splitlines())
    lines = output.splitlines()
    if shown.endswith("...\n"):
        return "\n".join([*lines[: count - 1], "..."]) + "\n"
    return "\n".join(lines[:count]) + "\n"


def alike(one: str, two: str) -> bool:
    """Return whether words are the same, and numbers nearly."""
    if one == two:
        return True
    if _NUMBER.sub("#", one).split() != _NUMBER.sub("#", two).split():
        return False
    pairs = zip(_NUMBER.findall(one), _NUMBER.findall(two), strict=True)
    return all(_close(float(a.replace(",", "")), float(b.replace(",", ""))) for a, b in pairs)


def _close(one: float, two: float) -> bool:
    return abs(one - two) <= TOLERANCE * max(abs(one), abs(two))


def rewritten(page: str, shown: list[Shown]) -> str:
    """Return the page with its outputs as they are."""
    for each in reversed(shown):
        page = page[: each.block.start] + each.printed + page[each.block.end :]
    return page


def accuracy_table() -> str:
    """Return the first table of docs/accuracy.md, which sets what was asked beside what is reached.

    Raises
    ------
    ValueError
        If there is none.
    """
    lines = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8").splitlines()
    start = next((place for place, line in enumerate(lines) if line.startswith("|")), None)
    if start is None:
        raise ValueError("docs/accuracy.md has no table")
    return "\n".join(takewhile(lambda line: line.startswith("|"), lines[start:])) + "\n"


def with_accuracy(page: str) -> str:
    """Return README with the table of docs/accuracy.md between its two marks."""
    before, start, rest = page.partition(ACCURACY_START)
    if not start:
        return page
    return f"{before}{start}\n\n{accuracy_table()}\n{ACCURACY_END}{rest.partition(ACCURACY_END)[2]}"


def draw_pictures() -> None:
    """Draw README's picture anew, by the command that README names."""
    with tempfile.TemporaryDirectory() as folder:
        _run(f"codesign ablate {PICTURED} --out {folder}", Path(folder), ROOT / "README.md")
        text = (Path(folder) / "mechanisms.svg").read_text(encoding="utf-8")
    (ROOT / "docs" / "images" / "mechanisms.svg").write_text(text, encoding="utf-8")


def main() -> int:
    """Rewrite every page, or check them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument(
        "--check", action="store_true", help="say what no longer holds, write nothing"
    )
    check, wrong = parser.parse_args().check, 0
    if not check:
        draw_pictures()
    for path in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            shown = run_page(path, Path(folder))
        stale = [each for each in shown if not each.holds]
        wrong += len(stale)
        print(f"{path.relative_to(ROOT)}: {len(shown)} outputs, {len(stale)} changed")
        if not check:
            page = rewritten(path.read_text(encoding="utf-8"), shown)
            path.write_text(with_accuracy(page), encoding="utf-8")
    return 1 if wrong and check else 0


if __name__ == "__main__":
    sys.exit(main())
