"""Every form of routed experts gives the same ids; every trap is met."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codesign.calibration.detect import read_files
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.router.scan import scan
from codesign.calibration.router.trace import ExpertCounts, RoutingTrace
from codesign.calibration.routing import calibrate_routing
from codesign.errors import CalibrationError, DataError
from tests.calibration.routing_files import (
    LAYERS,
    PROMPT,
    ROWS,
    TOP_K,
    Ids,
    encoded,
    ids,
    npz,
    payload,
    sglang_response,
    vllm_nested,
    vllm_response,
    written,
)

SHAPED = CalibrationOptions(layers=LAYERS, top_k=TOP_K)
OPTIONS = CalibrationOptions(experts=16, layers=LAYERS, top_k=TOP_K, replicates=20)


def read(path: Path, options: CalibrationOptions = SHAPED) -> Any:
    """What the reader of one file returns."""
    (reading,) = read_files([path], "routing", options)
    (item,) = reading.data
    return item


def rows_of(trace: RoutingTrace) -> Ids:
    """All ids of a trace."""
    return np.asarray(trace.selections.rows(0, trace.selections.shape[0]))


@pytest.mark.parametrize(
    "make",
    [
        lambda a: a,
        vllm_response,
        lambda a: vllm_response(a, "chat"),
        lambda a: vllm_response(a, "generate"),
        vllm_nested,
        sglang_response,
        lambda a: sglang_response(a, openai=True),
        payload,
        lambda a: {"routed_experts": payload(a)},
        lambda a: {
            "prompt_routed_experts": payload(a[:PROMPT]),
            "routed_experts": payload(a[PROMPT:].astype(np.int16)),
        },
    ],
)
def test_all_forms_hold_the_same_ids(tmp_path: Path, make: Any) -> None:
    array = ids()
    trace = read(written(tmp_path, "trace", make(array)))
    assert (rows_of(trace) == array).all()
    found = scan(trace, None)
    assert (found.layers, found.dense, found.rows, found.padding) == ((1, 2, 3), (0,), ROWS, 0)
    assert found.highest == array.max()


def test_numpy_archive_with_boundaries(tmp_path: Path) -> None:
    array = ids(30, dense=0)
    path = npz(
        tmp_path, "t.npz", routed_experts=array, sequence_lengths=[10, 15, 5], num_experts=16,
        k=TOP_K, layers=[3, 5, 7, 9],
    )  # fmt: skip
    trace = read(path)
    assert trace.sequences == (((0, 10),), ((10, 25),), ((25, 30),))
    assert (trace.experts, trace.layers) == (16, (3, 5, 7, 9))
    offsets = npz(tmp_path, "o.npz", experts=array, offsets=[0, 10, 25, 30])
    assert read(offsets).sequences == trace.sequences
    four = npz(tmp_path, "f.npz", experts=array.reshape(3, 10, LAYERS, TOP_K))
    assert read(four).sequences == (((0, 10),), ((10, 20),), ((20, 30),))


def test_left_padding_by_mask_or_by_zeros(tmp_path: Path) -> None:
    array = ids(20, dense=0).reshape(2, 10, LAYERS, TOP_K)
    array[0, :3] = 0
    array[:, -1] = 0
    mask = np.ones((2, 10), int)
    mask[0, :3] = 0
    masked = scan(read(npz(tmp_path, "m.npz", routed_experts=array, attention_mask=mask)), 16)
    plain = scan(read(npz(tmp_path, "p.npz", routed_experts=array)), 16)
    for found in (masked, plain):
        assert [part.runs for part in found.parts] == [((3, 9),), ((10, 19),)]


def test_columnwise_and_big_endian_arrays(tmp_path: Path) -> None:
    array = ids(dense=0)
    for changed in (np.asfortranarray(array), array.astype(">i4")):
        assert (rows_of(read(written(tmp_path, "a.npy", changed))) == array).all()


def test_large_array_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codesign.calibration.router.rows.WHOLE_BYTES", 10)
    array = ids(500, dense=0)
    for path in (
        written(tmp_path, "a.npy", array),
        npz(tmp_path, "a.npz", experts=array),
    ):
        trace = read(path)
        assert not hasattr(trace.selections, "ids")
        assert (trace.selections.rows(100, 130) == array[100:130]).all()
    with pytest.raises(DataError, match="column by column"):
        read(written(tmp_path, "f.npy", np.asfortranarray(array)))


def test_id_zero_is_an_expert_and_minus_one_is_padding(tmp_path: Path) -> None:
    array = ids(dense=0, dtype=np.int16)
    array[:, :, 0], array[:, :, 1:] = 0, np.maximum(array[:, :, 1:], 1)
    array = np.array([[[0, 1, 2, 3]] * LAYERS, [[4, 5, 6, 0]] * LAYERS, [[-1] * 4] * LAYERS] * 4)
    found = scan(read(written(tmp_path, "a.npy", array)), 16)
    assert (found.rows, found.padding) == (8, 4)


def test_several_choices_share_a_prompt(tmp_path: Path) -> None:
    array = ids()
    response = vllm_response(array)
    response["choices"] = [response["choices"][0], dict(response["choices"][0], index=1)]
    trace = read(written(tmp_path, "r.json", response))
    assert trace.sequences == (((0, ROWS), (ROWS, 2 * ROWS - PROMPT)),)


def test_many_responses_in_json_lines(tmp_path: Path) -> None:
    import json

    lines = "\n".join(json.dumps(vllm_response(ids(seed=seed))) for seed in range(3))
    assert len(read(written(tmp_path, "r.jsonl", lines)).sequences) == 3


def test_speculative_decoding_costs_plane_zero(tmp_path: Path) -> None:
    response = vllm_response(ids(dense=0), metrics={"speculative_decoding": {"num_spec_steps": 3}})
    found = scan(read(written(tmp_path, "r.json", response)), 16)
    assert found.layers == (1, 2, 3)
    assert any("layer 0 left out" in warning for warning in found.warnings)


def test_sglang_ids_have_no_shape(tmp_path: Path) -> None:
    path = written(tmp_path, "s.json", sglang_response(ids()))
    with pytest.raises(CalibrationError, match=r"12 tokens, so layers x k = 16; possible: "):
        read(path, CalibrationOptions())
    with pytest.raises(DataError, match="192 ids are not 12 tokens x 3 layers x k = 4"):
        read(path, CalibrationOptions(layers=3, top_k=4))
    with pytest.raises(DataError, match="another model"):
        read(path, CalibrationOptions(architecture="qwen3-30b-a3b"))


def test_wrapped_ids_lose_the_file(tmp_path: Path) -> None:
    wide = ids(12, 4, 512, 22, dense=0, dtype=np.uint16)
    wrapped = {"num_experts": 512, "top_k": 22, "routed_experts": payload(wide.astype(np.uint8))}
    path = written(tmp_path, "w.json", wrapped)
    with pytest.raises(DataError, match=r"of 48 rows repeat an id.*N = 512.*uint8"):
        calibrate_routing([path], CalibrationOptions())


def test_ids_of_another_model(tmp_path: Path) -> None:
    path = written(tmp_path, "a.npy", ids(dense=0))
    with pytest.raises(DataError, match="another model, or physical ids"):
        calibrate_routing([path], CalibrationOptions(experts=8))
    with pytest.raises(DataError, match="4 experts per token, but 8 elsewhere"):
        calibrate_routing([path], CalibrationOptions(architecture="qwen3-30b-a3b"))
    other = written(tmp_path, "b.npy", ids(layers=3, dense=0))
    with pytest.raises(DataError, match="4 and 3 routed layers: not the same model"):
        calibrate_routing([path, other], OPTIONS)


def test_experts_are_never_guessed_from_ids(tmp_path: Path) -> None:
    path = written(tmp_path, "r.json", vllm_response(ids()))
    with pytest.raises(
        CalibrationError, match=r"5 prompt rows\nN is missing: .* N >= 16"
    ) as caught:
        calibrate_routing([path], CalibrationOptions())
    assert "read 12 tokens of 1 sequences, 3 routed layers, k = 4" in str(caught.value)


def test_the_same_request_counts_once(tmp_path: Path) -> None:
    array = ids()
    paths = [
        written(tmp_path, "a.npy", array),
        written(tmp_path, "b.json", vllm_response(array)),
        written(tmp_path, "c.json", sglang_response(array)),
    ]
    section = calibrate_routing(paths, OPTIONS)
    assert section.samples == ROWS
    assert any("2 sequences repeat another one" in warning for warning in section.warnings)


def test_counts_keep_only_popularity(tmp_path: Path) -> None:
    counts = np.random.default_rng(0).integers(0, 60, (3, 4, 16))
    counts[:, 0] = 0
    path = written(tmp_path, "c.json", {"logical_count": counts.tolist()})
    item = read(path)
    assert isinstance(item, ExpertCounts)
    assert item.counts.shape == (3, 3, 16)
    assert item.layers == (1, 2, 3)
    section = calibrate_routing([path], CalibrationOptions(top_k=4))
    assert set(section.parameters) == {"popularity", "skew"}
    assert set(section.defaults) == {"request", "recency", "decay"}
    assert not section.window_correlations
    with pytest.raises(CalibrationError, match="k is missing"):
        calibrate_routing([path], CalibrationOptions())


def test_load_weights_are_no_tokens(tmp_path: Path) -> None:
    path = written(tmp_path, "w.json", [[5, 1, 3, 7, 2, 9], [4, 4, 4, 2, 2, 8]])
    item = read(path)
    assert item.estimated and item.counts.shape == (1, 2, 6)
    section = calibrate_routing([path], CalibrationOptions(top_k=2))
    assert section.samples == 0
    assert any("estimated loads" in warning for warning in section.warnings)


def test_a_map_of_experts_is_no_routing(tmp_path: Path) -> None:
    path = written(tmp_path, "m.json", {"physical_to_logical_map": [[0, 1], [0, 1]]})
    with pytest.raises(DataError, match="no routing in it; looked for counts"):
        read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (np.zeros((4, 8), int), "shape here is"),
        (np.random.default_rng(0).random((5, 3, 4)), "router logits or weights"),
        (np.zeros((6, 3, 4), int), "every row of every plane is constant"),
        (np.array([[[1, 2, 2, 5]] * 3] * 4), "12 of 12 rows repeat an id"),
        ({"choices": [{"routed_experts": "!!!"}]}, "not valid base64"),
        ({"choices": [{"routed_experts": encoded(b"raw ids")}]}, "no .npy"),
        ({"choices": [{"routed_experts": [[[1, 2]], [[1]]]}]}, "unequal lengths"),
        ({"data": encoded(b"1234"), "shape": [1, 2, 3], "dtype": "int32"}, "4 bytes of ids"),
        ({"data": encoded(b"12"), "shape": [1, 1, 2], "dtype": "object"}, "whole numbers"),
        ({"logical_count": [[[1, -2]]]}, "finite and not negative"),
        ({"logical_count": [[[1, 2], [3]]]}, "equal length"),
    ],
)
def test_wrong_contents(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        calibrate_routing([written(tmp_path, "x", content)], OPTIONS)


@pytest.mark.parametrize("lengths", [[10, 10], [40], [-5, 35]])
def test_boundaries_must_add_up(tmp_path: Path, lengths: list[int]) -> None:
    path = npz(tmp_path, "t.npz", experts=ids(30), sequence_lengths=lengths)
    with pytest.raises(DataError, match="boundaries do not add up"):
        read(path)
