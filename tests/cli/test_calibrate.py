"""`codesign calibrate`: output, merging, pictures, exit statuses."""

import json
from pathlib import Path

import numpy as np
import pytest

from codesign.model.routing import GENERIC_ROUTER
from tests.calibration.acceptance_files import prometheus, v1_line, written
from tests.calibration.routing_files import npz, simulated
from tests.cli.command_line import run


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    array = simulated(32, 4, GENERIC_ROUTER, sequences=32, tokens=48, layers=3, seed=0)
    return npz(tmp_path_factory.mktemp("trace"), "trace.npz", experts=array, N=32)


def test_sections_merge_into_one_file(trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "calibration.yaml"
    done = run("calibrate", "routing", str(trace), "--out", str(out), "--replicates", "20")
    assert done.status == 0
    assert "routing: 1,536 tokens of 32 sequences in 3 layers" in done.out
    assert f"merged section routing into {out}" in done.err
    log = written(tmp_path, "v.log", v1_line(1000, (800, 600, 400)))
    assert run("calibrate", "acceptance", str(log), "--out", str(out)).status == 0
    shown = run("show", "calibration", str(out), "--format", "json")
    assert set(json.loads(shown.out)) == {"version", "routing", "acceptance"}
    done = run(
        "predict", "--hw", "h100", "--target-bs", "8", "--draft-tokens", "3",
        "--calibration", str(out), "--format", "json",
    )  # fmt: skip
    assert done.status == 0
    assert json.loads(done.out)[0]["acceptance_length"] == pytest.approx(2.8)


def test_without_out_nothing_is_written(trace: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    done = run("calibrate", "routing", str(trace), "--replicates", "20", "--format", "json")
    assert done.status == 0
    assert "not saved" in done.err
    section = json.loads(done.out)["routing"]
    assert set(section["parameters"]) == {"popularity", "skew", "request", "recency", "decay"}
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("ending", [".png", ".svg", ".pdf"])
def test_pictures(trace: Path, tmp_path: Path, ending: str) -> None:
    log = written(tmp_path, "v.log", v1_line(1000, (800, 600, 400)))
    for section, file in (("routing", trace), ("acceptance", log)):
        picture = tmp_path / f"{section}{ending}"
        done = run("calibrate", section, str(file), "--plot", str(picture))
        assert done.status == 0, done.err
        assert picture.stat().st_size > 2000


def test_every_kind_of_section_can_be_drawn(tmp_path: Path) -> None:
    """A table, counts, and lengths alone have fewer panels."""
    table = "experts: 128\ntop_k: 8\nunique_by_batch: {2: 14.7, 8: 40.6}\n"
    counts = np.random.default_rng(0).integers(1, 50, (1, 2, 16)).tolist()
    for section, name, content, more in (
        ("routing", "t.yaml", table, []),
        ("routing", "c.json", {"logical_count": counts}, ["--top-k", "2"]),
        ("acceptance", "l.yaml", "{2: 2.3, 4: 3.0, 8: 3.4}", []),
        ("acceptance", "s.prom", "sglang:spec_accept_length 2.7\n", ["--draft-tokens", "3"]),
    ):
        path = written(tmp_path, name, content)
        picture = tmp_path / f"{name}.png"
        done = run("calibrate", section, str(path), *more, "--plot", str(picture))
        assert done.status == 0, done.err
        assert picture.exists()


def test_exit_statuses(trace: Path, tmp_path: Path) -> None:
    off = written(tmp_path, "off.prom", prometheus((0, (0, 0))))
    for arguments, status, message in (
        (("routing", str(tmp_path / "none.npz")), 2, "no such file"),
        (("routing", str(trace), "--arch", "qwen3-30b-a3b"), 4, "not the same model"),
        (("routing", str(off)), 4, "use 'codesign calibrate acceptance'"),
        (("acceptance", str(trace)), 4, "use 'codesign calibrate routing'"),
        (("acceptance", str(off)), 5, "speculative decoding was off"),
        (("routing", str(trace), "--plot", "fit.gif"), 2, "a picture ends in"),
        (("routing", str(trace), "--input-format", "npx"), 2, "did you mean 'npz'"),
    ):
        done = run("calibrate", *arguments)
        assert (done.status, message in done.err) == (status, True), done.err


def test_a_section_that_is_no_calibration(tmp_path: Path) -> None:
    done = run("show", "calibration", str(written(tmp_path, "c.yaml", "routing: 3\n")))
    assert done.status == 2
    done = run(
        "predict", "--hw", "h100", "--target-bs", "8", "--calibration", str(tmp_path / "none.yaml")
    )
    assert done.status == 2
