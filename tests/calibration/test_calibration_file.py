"""One file of sections: versioned, strict, merged by section, written whole or not at all."""

import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from codesign.calibration.file import load_calibration, merged, save_section
from codesign.errors import UsageError
from codesign.report.calibration_tables import render_calibration
from codesign.spec.calibration import AcceptanceSection, Calibration, RoutingSection
from codesign.spec.section import Section
from codesign.whole_file import locked, write_whole

COMMON: dict[str, Any] = {
    "date": "2026-01-01",
    "sources": [{"file": "a.npz", "sha256": "0" * 64, "format": "npz"}],
    "samples": 10,
    "samples_unit": "tokens",
}
ROUTING = RoutingSection.from_data(
    COMMON
    | {
        "experts": 64, "top_k": 8,
        "parameters": {"popularity": {"value": 0.25, "standard_error": 0.01}},
        "defaults": {"skew": "few sequences"},
        "tables": [
            {"name": "t", "title": "T", "columns": ["B", "m"], "rows": [[1, 2.5], [2, None]]}
        ],
    }
)  # fmt: skip
ACCEPTANCE = AcceptanceSection.from_data(
    COMMON | {"form": "positions", "survival": [0.8, 0.6], "warnings": ["a trap"]}
)


def test_sections_merge(tmp_path: Path) -> None:
    path = tmp_path / "new" / "calibration.yaml"
    save_section(path, "routing", ROUTING)
    save_section(path, "acceptance", ACCEPTANCE)
    found = load_calibration(path)
    assert found.routing == ROUTING and found.acceptance == ACCEPTANCE
    again = ROUTING.revised(samples=20)
    save_section(path, "routing", again)
    found = load_calibration(path)
    assert found.routing == again and found.acceptance == ACCEPTANCE
    assert list(found.sections()) == ["routing", "acceptance"]
    assert yaml.safe_load(path.read_text())["version"] == "codesign.calibration/1"


def test_two_commands_at_once_lose_no_section(tmp_path: Path) -> None:
    path = tmp_path / "calibration.yaml"
    other = threading.Thread(target=save_section, args=(path, "acceptance", ACCEPTANCE))
    with locked(tmp_path):  # as a command that has read the file and not written it yet
        other.start()
        other.join(0.3)
        write_whole(path, yaml.safe_dump(merged(None, "routing", ROUTING).to_data()))
    other.join()
    assert list(load_calibration(path).sections()) == ["routing", "acceptance"]


def test_nothing_is_lost_when_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "calibration.yaml"
    save_section(path, "routing", ROUTING)
    before = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UsageError, match="No space left"):
        save_section(path, "acceptance", ACCEPTANCE)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["calibration.yaml"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("version: codesign.calibration/2\n", "version: input should be"),
        ("routin: {}\n", "did you mean 'routing'"),
        ("version: codesign.calibration/1\n", "at least one section"),
        ("routing: {experts: 8}\n", "routing.top_k: field required"),
    ],
)
def test_faults_have_a_position(tmp_path: Path, change: str, message: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(change)
    with pytest.raises(UsageError, match=message) as caught:
        load_calibration(path)
    assert f"{path}:1:" in str(caught.value)


def test_an_existing_file_that_is_no_calibration_stays(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text("hardware: h100\n")
    with pytest.raises(UsageError, match="unknown field 'hardware'"):
        save_section(path, "routing", ROUTING)
    assert path.read_text() == "hardware: h100\n"


def test_tables_have_one_cell_per_column() -> None:
    table = {"name": "t", "title": "T", "columns": ["a", "b"], "rows": [[1, 2, 3]]}
    with pytest.raises(ValueError, match="3 cells for 2 columns"):
        Section.from_data(COMMON | {"tables": [table]})


def test_show_explains_every_section(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    save_section(path, "routing", ROUTING)
    save_section(path, "acceptance", ACCEPTANCE)
    text = render_calibration(path, "table")
    for part in ("routing: 10 tokens", "popularity", "0.25", "0.01", "few sequences", "a trap",
                 "a.npz (npz, sha256 000000000000)", "acceptance: 10"):  # fmt: skip
        assert part in text
    assert '"popularity"' in render_calibration(path, "json")
    rows = render_calibration(path, "csv").splitlines()
    assert rows[0] == "section,parameter,value,standard_error,unit"
    assert rows[1] == "routing,popularity,0.25,0.01,-"


def test_the_empty_calibration_is_none() -> None:
    with pytest.raises(ValueError, match="at least one section"):
        Calibration()
