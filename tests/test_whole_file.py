"""Files are whole, as they were or new: whatever is full, killed, or there at the same time."""

import errno
import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import codesign
from codesign.errors import UsageError
from codesign.whole_file import (
    append_line,
    cut_half_line,
    locked,
    whole_file,
    write_files,
    write_whole,
)

WRITERS = {"whole_file.py", "storage.py", "output.py", "field_fits.py", "field_predictions.py"}
"""May open files for writing: this, the half line of a journal, /dev/null, scratch folders."""

WRITING = re.compile(r"write_text\(|write_bytes\(|savefig\(path|open\(\"[wax]|to_csv\(path")


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Make the disk full from the n-th file on."""

    def from_file(number: int) -> None:
        left = [number - 1]

        def fsync(descriptor: int) -> None:
            if not left[0]:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            left[0] -= 1

        monkeypatch.setattr(os, "fsync", fsync)

    return from_file


def test_nothing_else_opens_a_file_for_writing() -> None:
    package = Path(codesign.__file__).parent
    others = [path for path in package.rglob("*.py") if path.name not in WRITERS]
    assert len(others) > 100
    assert [path for path in others if WRITING.search(path.read_text("utf-8"))] == []


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, full: Callable[[int], None]) -> None:
    target = tmp_path / "a.txt"
    write_whole(target, "old")
    full(1)
    with pytest.raises(UsageError, match=r"a\.txt: cannot be written \(No space .*; make room"):
        write_whole(target, "new")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert target.read_text() == "old"


def test_files_that_belong_together_are_all_written_or_none(
    tmp_path: Path, full: Callable[[int], None]
) -> None:
    write_files(tmp_path, {"a": "1", "b": "1", "c": "1"})
    full(1)
    with pytest.raises(UsageError, match="cannot be written"):
        write_files(tmp_path, {"a": "2", "b": "2", "c": "2"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "a": "1", "b": "1", "c": "1",
    }  # fmt: skip


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not(
    tmp_path: Path,
) -> None:
    target = tmp_path / "a[1].txt"
    left = tmp_path / f".{target.name}.0123abcd.part"
    left.write_text("half")
    with whole_file(target) as slow:
        slow.write(b"slow")
        write_whole(target, "quick")
        assert not left.exists()
        assert target.read_text() == "quick"
    assert target.read_text() == "slow"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    write_whole(tmp_path / "link", "text")
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "precious"
    assert (tmp_path / "link").read_text() == "text"


def test_a_pipe_is_written_to_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "text")
    assert os.read(reader, 9) == b"text"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_line_that_does_not_fit_leaves_no_half(
    tmp_path: Path, full: Callable[[int], None]
) -> None:
    journal = tmp_path / "rows"
    append_line(journal, "one")
    full(1)
    with pytest.raises(OSError, match="No space"):
        append_line(journal, "two")
    assert journal.read_text() == "one\n"


def test_a_line_does_not_continue_the_half_line_of_a_killed_process(tmp_path: Path) -> None:
    journal = tmp_path / "rows"
    journal.write_text("one\nhal")
    append_line(journal, "two")
    assert journal.read_text() == "one\ntwo\n"


@pytest.mark.parametrize(
    ("text", "kept", "cut"),
    [("", "", ""), ("a\n", "a\n", ""), ("half", "", "half"), ("a\nb", "a\n", "b")],
)
def test_half_lines_are_cut(tmp_path: Path, text: str, kept: str, cut: str) -> None:
    path = tmp_path / "rows"
    path.write_text(text)
    with path.open("r+b", buffering=0) as file:
        assert cut_half_line(file).decode() == cut
    assert path.read_text() == kept


def test_a_folder_is_held_by_one_at_a_time_and_let_go_by_the_dead(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys, time\nfrom codesign.whole_file import locked\n"
        "with locked(pathlib.Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        got = threading.Event()

        def take() -> None:
            with locked(tmp_path):
                got.set()

        thread = threading.Thread(target=take)
        thread.start()
        assert not got.wait(0.3)
        holder.kill()
        assert got.wait(30)
        thread.join()
