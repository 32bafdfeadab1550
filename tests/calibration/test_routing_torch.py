"""Torch files: read as tensors only, and refused where they hold anything else."""

import pickle
import subprocess
import sys
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
from tests.calibration.routing_files import EXPERTS, LAYERS, PROMPT, TOP_K, ids

torch = pytest.importorskip("torch")


def saved(folder: Path, content: Any) -> Path:
    """Write a torch file."""
    path = folder / "trace.pt"
    torch.save(content, path)
    return path


def read(path: Path, **options: Any) -> Any:
    """What the reader of one file returns."""
    (reading,) = read_files([path], "routing", CalibrationOptions(**options))
    (item,) = reading.data
    return item


def test_slime_rollouts(tmp_path: Path) -> None:
    arrays = [ids(seed=seed, dtype=np.int32) for seed in range(3)]
    samples = [
        {"tokens": list(range(13)), "response_length": 8, "status": "completed",
         "rollout_routed_experts": torch.from_numpy(array)}
        for array in arrays
    ]  # fmt: skip
    trace = read(saved(tmp_path, {"rollout_id": 0, "samples": samples}))
    assert (trace.selections.ids == np.concatenate(arrays)).all()
    assert len(trace.sequences) == 3
    assert trace.facts == (f"{PROMPT} prompt rows",)
    samples[0]["tokens"] = list(range(12))
    with pytest.raises(DataError, match="12 rows for 12 tokens"):
        read(saved(tmp_path, {"samples": samples}))


def test_verl_batches_are_padded_on_the_left(tmp_path: Path) -> None:
    array = ids(40, dense=0).reshape(2, 20, LAYERS, TOP_K)
    array[0, :6] = 0
    mask = torch.ones(2, 20, dtype=torch.int64)
    mask[0, :6] = 0
    trace = read(
        saved(tmp_path, {"routed_experts": torch.from_numpy(array), "attention_mask": mask})
    )
    assert trace.sequences == (((6, 20),), ((20, 40),))


def test_recorder_statistics_and_passes(tmp_path: Path) -> None:
    counts = torch.randint(0, 9, (3, LAYERS, EXPERTS), dtype=torch.int32)
    counts[:, 0] = 0
    item = read(saved(tmp_path, {"rank": 0, "logical_count": counts}))
    assert isinstance(item, ExpertCounts)
    assert (item.counts == counts[:, 1:].numpy()).all()
    # Two physical copies of expert 0: counts of both belong to it.
    physical = torch.zeros(2, 5, dtype=torch.int32)
    physical[1] = torch.tensor([3, 1, 4, 0, 2])
    mapping = torch.tensor([[0, 1, 2, 3, 0]] * 2)
    record = {"forward_pass_id": 1, "rank": 0, "global_physical_count": physical}
    item = read(saved(tmp_path, {"records": [record], "last_physical_to_logical_map": mapping}))
    assert item.counts.tolist() == [[[5, 1, 4, 0]]]
    assert item.layers == (1,)
    assert "3.000000 experts loaded per pass and layer" in item.facts


def recorded(positions: list[int], mode: int = 5, seed: int = 0) -> dict[str, Any]:
    """One pass of `per_token`: 8 columns whatever k is, dense layer all -1."""
    array = np.full((LAYERS, len(positions), 8), -1, np.int32)
    array[1:, :, :TOP_K] = ids(len(positions), seed=seed).transpose(1, 0, 2)[1:]
    return {"positions": positions, "forward_mode": mode, "rank": 0,
            "topk_ids_of_layer": torch.from_numpy(array)}  # fmt: skip


def test_recorder_tokens_of_verify_passes(tmp_path: Path) -> None:
    records = [
        recorded([50, 51, 52, 53, 90, 91, 92, 93]),
        recorded([54, 55, 56, 57, 92, 93, 94, 95], seed=1),
    ]
    mapping = torch.arange(EXPERTS).repeat(LAYERS, 1)
    trace = read(saved(tmp_path, {"records": records, "last_physical_to_logical_map": mapping}))
    assert isinstance(trace, RoutingTrace)
    assert trace.selections.shape == (16, LAYERS, TOP_K)
    # Runs of one sequence stay apart: a rejected draft's row is no neighbour of the next token.
    assert trace.sequences == (((0, 4), (8, 12)), ((4, 8), (12, 16)))
    assert "acceptance length 3 over 2 cycles" in trace.facts
    found = scan(trace, None)
    assert (found.layers, trace.experts) == ((1, 2, 3), EXPERTS)


def test_recorder_maps_physical_to_logical_ids(tmp_path: Path) -> None:
    mapping = torch.stack([torch.randperm(EXPERTS) for _ in range(LAYERS)])
    record = recorded([1, 2, 3])
    trace = read(saved(tmp_path, {"records": [record], "last_physical_to_logical_map": mapping}))
    physical = ids(3).astype(int)
    logical = np.stack([mapping[layer].numpy()[physical[:, layer]] for layer in (1, 2, 3)], axis=1)
    assert (trace.selections.ids[:, 1:] == logical).all()


def test_router_logits(tmp_path: Path) -> None:
    logits = tuple(torch.randn(12, EXPERTS) for _ in range(3))
    trace = read(saved(tmp_path, logits), top_k=4)
    best = np.stack([np.argsort(-layer.numpy(), axis=1)[:, :4] for layer in logits], axis=1)
    assert (trace.selections.ids == best).all()
    assert trace.facts == ("raw logits",)
    with pytest.raises(CalibrationError, match="k is missing"):
        read(saved(tmp_path, logits))
    soft = tuple(layer.softmax(dim=1) for layer in logits)
    assert read(saved(tmp_path, soft), top_k=4).facts == ("softmax probabilities",)
    sparse = torch.zeros(12, EXPERTS).scatter(1, logits[0].topk(4).indices, 0.25)
    assert read(saved(tmp_path, (sparse,))).selections.shape[2] == 4  # k is seen
    logits[0][2, 3] = float("nan")
    with pytest.raises(DataError, match="NaN"):
        read(saved(tmp_path, logits), top_k=4)


class Harmful:
    """Unpickling it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (exec, (f"open({str(self.path)!r}, 'w').write('ran')",))


def test_nothing_of_a_harmful_torch_file_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    path = saved(tmp_path, {"samples": [Harmful(mark)]})
    with pytest.raises(DataError, match=r"refused: .* nothing of it was run"):
        calibrate_routing([path], CalibrationOptions(top_k=4))
    assert not mark.exists()


def test_torch_is_not_imported_for_other_files(tmp_path: Path) -> None:
    path = tmp_path / "a.npy"
    np.save(path, ids())
    code = (
        "import sys; from pathlib import Path; from codesign.calibration.detect import read_files;"
        "from codesign.calibration.options import CalibrationOptions;"
        f"read_files([Path({str(path)!r})], 'routing', CalibrationOptions());"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_pickled_harm_is_told_from_torch(tmp_path: Path) -> None:
    mark, path = tmp_path / "ran", tmp_path / "t.pt"
    path.write_bytes(pickle.dumps(Harmful(mark)))
    with pytest.raises(DataError, match="pickle"):
        calibrate_routing([path], CalibrationOptions())
    assert not mark.exists()
