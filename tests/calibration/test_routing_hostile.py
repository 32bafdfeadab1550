"""Broken and misplaced routing files: one message, exit status 4 or 5, nothing executed."""

import gzip
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codesign.calibration.options import CalibrationOptions
from codesign.calibration.routing import calibrate_routing
from codesign.errors import CodesignError
from tests.calibration.routing_files import ids, npy_bytes, npz, vllm_response, written


def refused(*paths: Path, **options: Any) -> CodesignError:
    """The error that these files give."""
    with pytest.raises(CodesignError) as caught:
        calibrate_routing(list(paths), CalibrationOptions(**options))
    return caught.value


class Harmful:
    """Unpickling it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (exec, (f"open({str(self.path)!r}, 'w').write('ran')",))


@pytest.mark.parametrize("form", ["pickle", "object npy", "object npz"])
def test_pickles_are_refused_unopened(tmp_path: Path, form: str) -> None:
    mark = tmp_path / "ran"
    harmful = np.array([Harmful(mark)], dtype=object)
    path = tmp_path / "trace"
    with path.open("wb") as stream:
        if form == "pickle":
            pickle.dump(Harmful(mark), stream)
        elif form == "object npy":
            np.save(stream, harmful, allow_pickle=True)
        else:
            np.savez(stream, experts=harmful)
    error = refused(path)
    assert error.exit_status == 4
    assert "run" in str(error)
    assert not mark.exists()


def test_without_the_extra_torch_files_say_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    path = tmp_path / "t.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02}q\x00.")
    error = refused(path)
    assert error.exit_status == 4
    assert "pip install 'codesign[torch]'" in str(error)


def test_empty_and_binary_files(tmp_path: Path) -> None:
    assert "empty" in str(refused(written(tmp_path, "a.npy", b"")))
    assert "empty" in str(refused(written(tmp_path, "b.json", "  \n")))
    error = refused(written(tmp_path, "c.bin", bytes(range(256)) * 4))
    assert error.exit_status == 4
    assert "tried:" in str(error) and "npz" in str(error) and "vllm-response" in str(error)


def test_cut_off_files(tmp_path: Path) -> None:
    whole = npy_bytes(ids(4000))
    assert "cut off" in str(refused(written(tmp_path, "a.npy", whole[:-100])))
    assert "readable" in str(refused(written(tmp_path, "h.npy", whole[:40])))
    archive = npz(tmp_path, "a.npz", experts=ids(4000))
    half = written(tmp_path, "b.npz", archive.read_bytes()[:3000])
    assert "cut off or broken" in str(refused(half))
    text = json.dumps(vllm_response(ids()))
    assert "cut off or broken" in str(refused(written(tmp_path, "a.json", text[:-30])))
    packed = gzip.compress(text.encode())
    assert "gzip" in str(refused(written(tmp_path, "a.gz", packed[:-12])))
    assert "N is missing" in str(refused(written(tmp_path, "b.gz", packed)))  # seen through


def test_gzip_bomb(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "bomb.json.gz", "wb") as stream:
        stream.write(b'{"choices": [')
        for _ in range(300):
            stream.write(b" " * (1 << 20))
    error = refused(tmp_path / "bomb.json.gz")
    assert error.exit_status == 4
    assert "expand" in str(error)


def test_a_file_of_another_section_is_named(tmp_path: Path) -> None:
    log = (
        "SpecDecoding metrics: Mean acceptance length: 2.73, Accepted: 5 tokens, Drafted: 9 tokens"
    )
    error = refused(written(tmp_path, "v.log", log))
    assert error.exit_status == 4
    assert "use 'codesign calibrate acceptance'" in str(error)


def test_forced_format(tmp_path: Path) -> None:
    path = written(tmp_path, "a.npy", ids())
    error = refused(path, input_format="npyy")
    assert error.exit_status == 2
    assert "did you mean 'npy'" in str(error)
    error = refused(path, input_format="vllm-response")
    assert error.exit_status == 4
    assert "no vLLM response with routed experts: is not JSON" in str(error)
    assert "N is missing" in str(refused(path, input_format="npy"))


def test_missing_and_mixed_inputs(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.npy").exit_status == 2
    assert refused().exit_status == 2
    counts = written(tmp_path, "c.json", {"logical_count": [[[1, 2, 3]]]})
    table = written(tmp_path, "t.yaml", "experts: 8\ntop_k: 2\nunique_by_batch: {2: 3.5}\n")
    assert "one kind at a time" in str(refused(counts, table))


def test_architecture_must_agree(tmp_path: Path) -> None:
    path = npz(tmp_path, "a.npz", experts=ids(dense=0), N=16)
    assert refused(path, architecture="qwen3-30b-a3b").exit_status == 4
    assert refused(path, architecture="qwen3-32b").exit_status == 2  # dense
    assert refused(path, architecture="gpt-oss-20b", top_k=8).exit_status == 2


def test_table_faults_have_a_position(tmp_path: Path) -> None:
    path = written(tmp_path, "t.yaml", "experts: 8\ntop_k: 2\nunique_by_batch: {2: 3.5}\nskew: 1\n")
    error = refused(path)
    assert error.exit_status == 4
    assert f"{path}:4:1" in str(error)
    bad = written(tmp_path, "u.yaml", "experts: 8\ntop_k: 2\nunique_by_batch: {2: 5.5}\n")
    assert "cannot be" in str(refused(bad))
