"""The site builds without a warning, and pages that repeat a table repeat it truly."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.doc_commands import ROOT, with_accuracy

README = ROOT / "README.md"


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the extra 'docs' is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    assert "WARNING" not in done.stderr
    assert (tmp_path / "model" / "index.html").is_file()


def test_readme_shows_the_accuracy_that_was_measured() -> None:
    """After docs/accuracy.md was written anew: python scripts/doc_commands.py."""
    page = README.read_text(encoding="utf-8")
    assert with_accuracy(page) == page


def test_links_of_the_readme_lead_somewhere() -> None:
    page = README.read_text(encoding="utf-8") + (ROOT / "CONTRIBUTING.md").read_text()
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page)
    local = [target for target in targets if not target.startswith("http")]
    assert local
    for target in local:
        assert (ROOT / target).exists(), target


def test_every_decision_is_listed() -> None:
    listed = (ROOT / "docs" / "decisions" / "index.md").read_text(encoding="utf-8")
    for path in (ROOT / "docs" / "decisions").glob("0*.md"):
        assert f"({path.name})" in listed, path.name


def test_a_constraint_of_ones_own_takes_under_ten_lines() -> None:
    """A newcomer with README alone: a file and a study."""
    page = README.read_text(encoding="utf-8")
    written = re.search(r"File `half_the_gpu.py`:\n\n```python\n(.*?)```", page, re.DOTALL)
    assert written is not None
    assert len([line for line in written[1].splitlines() if line.strip()]) < 10
