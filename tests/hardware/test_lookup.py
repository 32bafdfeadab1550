"""A profile by path, by name, by alias."""

from pathlib import Path

import pytest

from codesign.errors import UsageError
from codesign.hardware import load_hardware
from codesign.starters import starter_text


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        # model.md, section 3: h100, h200, b200, a100 mean the SXM parts.
        ("h100", "h100-sxm"),
        ("h200", "h200-sxm"),
        ("b200", "b200-sxm"),
        ("a100", "a100-sxm"),
        ("H100", "h100-sxm"),
        ("h100.yaml", "h100-sxm"),  # product.md: the profile of that name where no file is
        ("h100.yml", "h100-sxm"),
        ("h100-sxm.yaml", "h100-sxm"),
        ("./h100.yaml", "h100-sxm"),
        ("h100-pcie", "h100-pcie"),
        ("MI300X", "mi300x"),
    ],
)
def test_by_name(asked: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_hardware(asked).name == found


def test_a_file_wins_over_a_bundled_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("h100.yaml").write_text(starter_text("hardware"))
    assert load_hardware("h100.yaml").name == "my-gpu"
    assert load_hardware("h100").name == "h100-sxm"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (
            "h10",
            "unknown hardware 'h10': no such file and no bundled profile; did you mean 'h100'?; "
            "see 'codesign list hardware'",
        ),
        (
            "mi300",
            "unknown hardware 'mi300': no such file and no bundled profile; did you mean "
            "'mi300x'?; see 'codesign list hardware'",
        ),
        (
            "toaster",
            "unknown hardware 'toaster': no such file and no bundled profile; see 'codesign list "
            "hardware'",
        ),
        # A folder was named, so that no bundled profile is meant.
        ("profiles/h100.yaml", "profiles/h100.yaml: no such file"),
        ("/etc/h100.yaml", "/etc/h100.yaml: no such file"),
    ],
)
def test_unknown(asked: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as caught:
        load_hardware(asked)
    assert str(caught.value) == message
