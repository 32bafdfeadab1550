"""Files made to exhaust memory, time or the stack, and files that are none: refused at once."""

import gzip
import io
import json
import os
import pickle
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codesign.calibration.options import CalibrationOptions
from codesign.calibration.routing import calibrate_routing
from codesign.calibration.stream import ALWAYS_ALLOWED
from codesign.errors import CodesignError, DataError
from codesign.starters import starter_text
from tests.calibration.routing_files import ids, npy_bytes
from tests.cli.command_line import run
from tests.cli.test_exit_statuses import MOE

LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
STUDY = "hardware: h100\nworkload: {target_batch_size: 8}\n"
DIGITS = 10_000_000
ASKED = ["--target-bs", "8", "--draft-tokens", "0:1"]

COMMANDS: dict[str, Callable[[str], list[str]]] = {
    "study": lambda path: ["predict", "--study", path],
    "hardware": lambda path: ["predict", *ASKED, "--hw", path],
    "architecture": lambda path: ["predict", *ASKED, "--hw", "h100", "--arch", path],
    "calibration": lambda path: ["predict", *ASKED, "--hw", "h100", "--calibration", path],
    "ablation": lambda path: ["ablate", path],
    "result": lambda path: ["report", path],
    "served": lambda path: ["export", path],
    "shown": lambda path: ["show", "calibration", path],
    **{
        section: lambda path, section=section: ["calibrate", section, path]  # type: ignore[misc]
        for section in ("routing", "acceptance", "latency", "profile", "quality")
    },
}
"""Every command that reads a file, by the kind of file."""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def bounded(kind: str, path: str | Path, most: float = 300e6) -> str:
    """The same in bounded memory, which takes several times as long to see."""
    tracemalloc.start()
    try:
        message = refused(kind, path)
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()
    return message


def refused(kind: str, path: str | Path) -> str:
    """What a command says of a file that it cannot take."""
    done = run(*COMMANDS[kind](str(path)))
    assert done.status in (2, 4, 5), done.err
    assert done.out == ""
    assert done.err.startswith("error: ")
    assert "Traceback" not in done.err
    assert len(done.err) < 12_000
    return done.err


@pytest.mark.parametrize("kind", ["study", "hardware", "calibration", "ablation", "routing"])
def test_billion_laughs(kind: str) -> None:
    Path("bomb.yaml").write_text(LAUGHS)
    found = refused(kind, "bomb.yaml")
    if kind != "routing":
        assert "aliases are not allowed" in found


@pytest.mark.parametrize("kind", COMMANDS)
@pytest.mark.parametrize("opening", ["[", '{"a":', "- ", "? ", "a:\n ", "&a "])
def test_deep_nesting(kind: str, opening: str) -> None:
    path = Path("deep.json" if kind in ("result", "served", "architecture") else "deep.yaml")
    path.write_text(opening * 20_000)
    refused(kind, path)


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_number_of_ten_million_digits(kind: str) -> None:
    path = Path("long.json" if kind in ("result", "served", "architecture") else "long.yaml")
    path.write_text(json.dumps(MOE).replace("2048", "9" * DIGITS))
    refused(kind, path)


@pytest.mark.parametrize("value", ["1" * 4000, "9" * 5000, "1e400", "-1", "nan", ".inf", "-5e-324"])
@pytest.mark.parametrize("field", ["target_batch_size", "context", "tpot_limit"])
def test_numbers_that_are_none_of_a_study(field: str, value: str) -> None:
    fields = {"target_batch_size": "8"} | {field: value}
    inner = ", ".join(f"{name}: {text}" for name, text in fields.items())
    Path("s.yaml").write_text(f"hardware: h100\nworkload: {{{inner}}}\n")
    assert refused("study", "s.yaml").startswith("error: s.yaml:2:")


@pytest.mark.parametrize("value", ["-80 GiB", "1e400 GB", "nan GB", "inf GB", "0 GB", "-0.0 GB"])
def test_quantities_that_are_none(value: str) -> None:
    Path("gpu.yaml").write_text(starter_text("hardware").replace("80 GiB", value))
    assert refused("hardware", "gpu.yaml").startswith("error: gpu.yaml:")


@pytest.mark.parametrize("kind", COMMANDS)
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/stdin", "/dev/null"])
def test_a_device_is_no_file(kind: str, device: str) -> None:
    found = bounded(kind, device)
    assert device in found


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_pipe_is_no_file(kind: str) -> None:
    os.mkfifo("pipe")
    assert "a pipe or a device, not a file" in refused(kind, Path("pipe").absolute())


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_link_to_itself(kind: str) -> None:
    Path("a").symlink_to("b")
    Path("b").symlink_to("a")
    refused(kind, "a")


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_folder_is_no_file(kind: str) -> None:
    Path("folder").mkdir()
    (Path("folder") / "loop").symlink_to("..")
    refused(kind, "folder")


@pytest.mark.parametrize("kind", COMMANDS)
@pytest.mark.parametrize("name", ["a" * 5000, "a/" * 3000 + "b", "none/../../../../etc/none"])
def test_a_name_that_no_file_has(kind: str, name: str) -> None:
    refused(kind, name)


def gzip_bomb(start: bytes, megabytes: int = 300) -> bytes:
    """A little gzip that expands to much: spaces after the start of a file."""
    packed = io.BytesIO()
    with gzip.open(packed, "wb") as stream:
        stream.write(start)
        for _ in range(megabytes):
            stream.write(b" " * 2**20)
    return packed.getvalue()


@pytest.mark.parametrize(
    ("kind", "start"),
    [
        ("routing", b'{"choices": ['), ("acceptance", b'{"accept_length": '),
        ("latency", b'{"mean_tpot_ms": '), ("profile", b'{"traceEvents": ['),
    ],
)  # fmt: skip
def test_gzip_bombs(kind: str, start: bytes) -> None:
    Path("bomb.gz").write_bytes(gzip_bomb(start))
    found = refused(kind, "bomb.gz")
    assert "expand to more than" in found or "a line is longer than" in found


def declared_npy(shape: tuple[int, ...]) -> bytes:
    """A .npy header that announces more than there is."""
    whole = npy_bytes(ids(4))
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}"
    header = text.encode().ljust(117) + b"\n"
    return whole[:8] + struct.pack("<H", len(header)) + header + bytes(64)


@pytest.mark.parametrize("shape", [(10**12, 4, 4), (2**63, 4, 4), (10**400, 1, 1), (-1, 4, 4)])
def test_arrays_that_announce_more_than_they_hold(shape: tuple[int, ...]) -> None:
    Path("a.npy").write_bytes(declared_npy(shape))
    refused("routing", "a.npy")
    for member in ("routed_experts.npy", "offsets.npy"):
        with zipfile.ZipFile("a.npz", "w") as archive:
            if member != "routed_experts.npy":
                archive.writestr("routed_experts.npy", npy_bytes(ids(dense=0)))
            archive.writestr(member, declared_npy(shape))
        refused("routing", "a.npz")


def test_a_zip_bomb() -> None:
    size = ALWAYS_ALLOWED + 2**20
    with (
        zipfile.ZipFile("bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("routed_experts.npy", "w", force_zip64=True) as member,
    ):
        member.write(declared_npy((size // 16, 4, 4)))
        for _ in range(size // 2**20):
            member.write(bytes(2**20))
    assert "expand" in bounded("routing", "bomb.npz")


class Harmful:
    """Unpickling it leaves a mark."""

    def __reduce__(self) -> Any:
        return (exec, ("open('ran', 'w').write('ran')",))


@pytest.mark.parametrize("kind", ["routing", "acceptance", "latency", "profile", "quality"])
@pytest.mark.parametrize("form", ["p0", "p2", "p4", "npy", "npz", "pt", "gz"])
def test_nothing_is_unpickled(kind: str, form: str) -> None:
    path, harmful = Path(f"file.{form}"), np.array([Harmful()], dtype=object)
    with path.open("wb") as stream:
        if form == "npy":
            np.save(stream, harmful, allow_pickle=True)
        elif form == "npz":
            np.savez(stream, routed_experts=harmful, offsets=harmful)
        elif form == "pt":
            with zipfile.ZipFile(stream, "w") as archive:
                archive.writestr("archive/data.pkl", pickle.dumps(Harmful(), protocol=2))
                archive.writestr("archive/version", "3\n")
        elif form == "gz":
            stream.write(gzip.compress(pickle.dumps(Harmful())))
        else:
            pickle.dump(Harmful(), stream, protocol=int(form[1]))
    refused(kind, path)
    assert not Path("ran").exists()


@pytest.mark.parametrize("experts", [10**5, 10**9, 2**62])
def test_a_number_of_experts_that_no_memory_holds(experts: int) -> None:
    Path("r.json").write_text(
        json.dumps({"num_experts": experts, "routed_experts": payload_of(ids(dense=0))})
    )
    with pytest.raises(DataError, match=r"experts; up to 8,192 are fitted|cannot be"):
        calibrate_routing([Path("r.json")], CalibrationOptions(top_k=4))


def payload_of(array: Any) -> Any:
    """As the builders write it."""
    from tests.calibration.routing_files import payload

    return payload(array)


@pytest.mark.parametrize("drafted", [10**4, 10**9, 10**14])
def test_a_draft_length_that_no_memory_holds(drafted: int) -> None:
    histogram = {"0": 5, str(drafted): 1}
    steps = {"avg": 6.0}
    item = {
        "total_spec_decode_steps": steps, "total_accepted_draft_tokens": steps,
        "total_draft_tokens": {"avg": 6.0 * drafted},
        "pooled_spec_decode_acceptance_histogram": histogram,
    }  # fmt: skip
    Path("a.json").write_text(json.dumps(item))
    assert "no draft is that long" in refused("acceptance", "a.json")
    Path("l.yaml").write_text(f"{{{drafted}: 1.8}}")
    assert "no draft is that long" in refused("acceptance", "l.yaml")


def test_more_drafted_tokens_than_any_draft_has() -> None:
    done = run("predict", "--hw", "h100", "--target-bs", "8", "--draft-tokens", "0:5000")
    assert done.status == 2
    assert done.err.startswith("error: --draft-tokens: a draft has at most 1,024 tokens")


def test_an_error_class_is_told(tmp_path: Path) -> None:
    """The files here are refused by this project's own errors, not by chance."""
    (tmp_path / "x").write_bytes(b"\x80\x04.")
    with pytest.raises(CodesignError):
        calibrate_routing([tmp_path / "x"], CalibrationOptions())
