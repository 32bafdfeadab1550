"""Every command in README and tutorials runs, and prints what the page shows."""

from pathlib import Path

import pytest

from scripts.doc_commands import PAGES, blocks_of, run_page


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_run_and_print_what_is_shown(page: Path, tmp_path: Path) -> None:
    """After a change of the model: python scripts/doc_commands.py writes the outputs anew."""
    for shown in run_page(page, tmp_path):
        assert shown.holds, f"shown:\n{shown.block.text}\nprinted:\n{shown.printed}"


def test_readme_has_the_two_quick_starts_that_ci_runs() -> None:
    [readme] = [page for page in PAGES if page.name == "README.md"]
    marks = [block.mark for block in blocks_of(readme.read_text()) if block.kind == "bash"]
    assert marks[:2] == ["main job", "tests"]
    assert marks.count("main job") == marks.count("tests") == 1


def test_what_is_not_run_says_why() -> None:
    for page in PAGES:
        for block in blocks_of(page.read_text()):
            if block.kind == "bash" and not block.runs and block.mark != "tests":
                assert len(block.mark.removeprefix("not run:").split()) >= 3, page
