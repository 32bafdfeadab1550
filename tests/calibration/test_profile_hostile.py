"""Broken, hostile and very large profiles: one clear message, bounded memory."""

import gzip
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from codesign.calibration import stream
from codesign.calibration.profile_readers.json_stream import EventStream
from codesign.errors import DataError
from tests.calibration.profile_files import ROUTED, event, profiled, step, trace, written_trace

GOOD = json.dumps(trace([*step(0.0, 8, 4, 2), *step(5000.0, 8, 4, 2)]))


def test_gzip_cut_off(tmp_path: Path) -> None:
    many = [e for i in range(400) for e in step(5000.0 * i, 8, 4, 2)]
    packed = gzip.compress(json.dumps(trace(many)).encode())
    path = tmp_path / "t.json.gz"
    for kept in (12, len(packed) // 2, len(packed) - 4):
        path.write_bytes(packed[:kept])
        with pytest.raises(DataError, match="cut off or broken"):
            profiled(path)


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.999])
def test_json_cut_off(tmp_path: Path, kept: float) -> None:
    path = tmp_path / "t.json"
    path.write_text(GOOD[: int(kept * len(GOOD))])
    with pytest.raises(DataError, match="cut off or broken after"):
        profiled(path)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, None, "x"])
def test_times_that_are_none(tmp_path: Path, value: object) -> None:
    broken = event(ROUTED, 0.0, 1.0) | {"dur": value}
    with pytest.raises(DataError, match="needs a start and a duration"):
        profiled(written_trace(tmp_path, "t.json", trace([broken])))


def test_no_kernel_at_all(tmp_path: Path) -> None:
    launches = [event("cudaGraphLaunch", 0.0, 1.0, "cuda_runtime")]
    with pytest.raises(DataError, match="without any kernel"):
        profiled(written_trace(tmp_path, "t.json", trace(launches)))


def test_deep_nesting(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"traceEvents": [' + "[" * 100_000)
    with pytest.raises(DataError):
        profiled(path)


def test_other_kinds_of_file_are_named(tmp_path: Path) -> None:
    record = {"batch_size": 8, "input_len": 1, "output_len": 2, "median_decode_latency": 0.1}
    with pytest.raises(DataError, match="codesign calibrate latency"):
        profiled(written_trace(tmp_path, "o.json", record))
    (tmp_path / "e.json").write_text("")
    with pytest.raises(DataError, match="the file is empty"):
        profiled(tmp_path / "e.json")
    (tmp_path / "n.json").write_text('{"some": "thing"}')
    with pytest.raises(DataError, match=r"chrome-trace .*no 'traceEvents'"):
        profiled(tmp_path / "n.json")


def test_broken_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    path.write_bytes(b"SQLite format 3\x00" + bytes(range(256)) * 20)
    with pytest.raises(DataError, match="broken SQLite"):
        profiled(path)


def test_a_gzip_bomb_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "ALWAYS_ALLOWED", 1 << 20)
    path = tmp_path / "b.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents": [' + b" " * (1 << 26)))
    with pytest.raises(DataError, match="which no trace or log does"):
        profiled(path)


def test_events_are_read_in_pieces_of_any_size(tmp_path: Path) -> None:
    expected = json.loads(GOOD)["traceEvents"]
    for size in (1, 7, 64, 4096):
        pieces = iter([GOOD.encode()[i : i + size] for i in range(0, len(GOOD), size)])
        assert list(EventStream(tmp_path, pieces)) == expected


def test_memory_is_bounded_by_kernels_not_by_the_file(tmp_path: Path) -> None:
    """30 MB of host events beside few kernels take a few MB."""
    path = tmp_path / "big.json"
    noise = json.dumps(event("aten::addmm", 1.0, 2.0, "cpu_op") | {"args": {"pad": "x" * 400}})
    with path.open("w") as out:
        out.write('{"traceEvents": [')
        out.write(",".join([noise] * 50_000))
        out.write("," + json.dumps(event(ROUTED, 0.0, 1.0)) + "]}")
    tracemalloc.start()
    assert profiled(path).kernels[0].calls == 1
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size > 25e6
    assert peak < 12e6


def test_an_endless_value_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codesign.calibration.profile_readers.json_stream.LONGEST_VALUE", 1 << 16)

    def endless() -> Iterator[bytes]:
        yield b'{"traceEvents": [{"name": "'
        while True:
            yield b"x" * (1 << 14)

    with pytest.raises(DataError, match="cut off or broken"):
        list(EventStream(tmp_path, endless()))


def test_progress_adds_up_to_the_file(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(GOOD)
    told: list[tuple[str, int, int]] = []
    with stream.open_pieces(
        path, 100, lambda stage, done, total: told.append((stage, done, total))
    ) as pieces:
        assert b"".join(pieces).decode() == GOOD
    assert sum(done for _, done, _ in told) == told[0][2] == len(GOOD)
