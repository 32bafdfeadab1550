"""The shared routing files: the numbers that a correct reader gets."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from codesign.calibration.detect import read_files
from codesign.calibration.options import CalibrationOptions
from codesign.calibration.router.cells import Part, count_cells
from codesign.calibration.router.expected import ExpectedRouting
from codesign.calibration.router.scan import scan
from codesign.calibration.router.statistics import (
    measure,
    unique_of_batches,
    unique_of_windows,
)
from codesign.calibration.router.trace import ArraySelections
from codesign.calibration.routing import calibrate_routing
from codesign.errors import CalibrationError, DataError
from codesign.model.latent_router import unique_experts
from codesign.model.routing import RouterParameters, overlap_independent, unique_experts_measured
from codesign.spec.calibration import RoutingSection
from tests.shared_data import SHARED, needs_shared

SAMPLES = SHARED / "data/trace_samples/routing"
CASES = SHARED / "cases/files/routing"
REAL = SHARED / "data/routing/gptoss20b_small.npz"
SHAPED = CalibrationOptions(layers=4, top_k=4)

SAME = (
    "vllm_routed_experts_request0.npy",
    "vllm_v0.22-0.33_completions_response.json",
    "vllm_v0.22-0.33_chat_response.json",
    "vllm_v0.22-0.33_inference_v1_generate.json",
    "sglang_generate_response.json",
    "sglang_chat_response_sglext.json",
    "slime_debug_rollout_0.pt",
)


def read(name: str, options: CalibrationOptions = SHAPED) -> Any:
    if name.endswith(".pt"):
        pytest.importorskip("torch")
    (reading,) = read_files([SAMPLES / name], "routing", options)
    (item,) = reading.data
    return item


def scanned(name: str, options: CalibrationOptions = SHAPED) -> Any:
    """Routed ids of a trace, shape (rows, layers, k), and the scan."""
    trace = read(name, options)
    found = scan(trace, None)
    ids = trace.selections.rows(0, trace.selections.shape[0])
    return np.asarray(ids)[:, [trace.layers.index(layer) for layer in found.layers]], found


def overlaps(ids: Any, runs: Any = None) -> list[float]:
    """Overlap at lag 1 of each layer, pairs inside runs."""
    cells = count_cells(
        [Part(ArraySelections(ids), tuple(range(ids.shape[1])), runs or ((0, len(ids)),))],
        16, ids.shape[2],
    )  # fmt: skip
    return [float(each.overlap[0]) for each in measure(cells)[1]]


@needs_shared
@pytest.mark.parametrize("name", SAME)
def test_seven_files_hold_one_array(name: str) -> None:
    ids, found = scanned(name)
    assert (found.layers, found.dense) == ((1, 2, 3), (0,))
    assert (found.rows, found.padding, found.highest) == (12, 0, 15)
    assert ids.sum(axis=(0, 2)).tolist() == [375, 396, 295]
    assert ids[0].tolist() == [[11, 12, 13, 6], [15, 6, 5, 14], [0, 7, 6, 12]]
    assert ids[11].tolist() == [[9, 4, 2, 5], [11, 14, 12, 5], [3, 14, 9, 7]]
    assert overlaps(ids) == pytest.approx([0.522727, 0.568182, 0.590909], abs=5e-7)
    means = [unique_experts_measured(ids[:, layer], 4) for layer in range(3)]
    assert means == pytest.approx([9.0, 8.111111, 7.333333], abs=5e-7)
    counts = [np.bincount(ids[:, layer].ravel(), minlength=16).tolist() for layer in range(3)]
    assert counts[0] == [2, 5, 1, 2, 5, 1, 5, 0, 0, 4, 3, 10, 3, 5, 0, 2]
    assert counts[2][0] == 7  # id 0 is an expert here


@needs_shared
def test_one_array_counts_once() -> None:
    paths = [SAMPLES / name for name in SAME if not name.endswith(".pt")]
    options = CalibrationOptions(experts=16, layers=4, top_k=4)
    section = calibrate_routing(paths, options)
    assert section.samples == 12
    assert any("5 sequences repeat another one" in warning for warning in section.warnings)
    assert any("5 prompt rows" in note for note in section.notes)


@needs_shared
def test_what_sglang_leaves_open() -> None:
    for name in ("sglang_generate_response.json", "sglang_chat_response_sglext.json"):
        with pytest.raises(CalibrationError) as caught:
            read(name, CalibrationOptions())
        message = str(caught.value)
        assert "192 ids" in message and "layers x k = 16" in message
        assert "8 layers x k = 2" in message and "16 layers x k = 1" in message
        assert "2 layers x k = 8" not in message and "1 layers x k = 16" not in message


@needs_shared
@pytest.mark.parametrize(
    "name",
    [
        "sglang_init_expert_location_logical_count.json",
        "expert_distribution_recorder_1790000000.123.pt",
    ],
)
def test_statistics_are_popularity_only(name: str) -> None:
    item = read(name)
    assert item.counts.shape == (3, 3, 16)
    assert item.layers == (1, 2, 3)
    totals = item.counts.sum(axis=0)
    assert totals.sum(axis=1).tolist() == [72, 72, 72]
    assert totals[0].tolist() == [4, 5, 4, 11, 5, 3, 4, 2, 1, 4, 6, 3, 3, 4, 13, 0]
    chosen = 4 * totals / 72
    alike = overlap_independent(chosen)
    assert alike == pytest.approx([0.376543, 0.353395, 0.358025], abs=5e-7)
    section = calibrate_routing([SAMPLES / name], CalibrationOptions(top_k=4))
    table = section.table("popularity")
    assert table is not None
    assert table.numbers("most popular / uniform") == pytest.approx(
        [2.888889, 2.222222, 2.0], abs=5e-7
    )
    assert table.column("never used") == (1, 2, 2)


@needs_shared
def test_eplb_weights() -> None:
    item = read("deepseek_eplb_weight.json")
    assert item.estimated
    assert item.counts.sum(axis=2).tolist() == [[1033, 1156]]
    share = item.counts[0] / item.counts[0].sum(axis=1, keepdims=True)
    assert share[0, :3] == pytest.approx([0.087125, 0.127783, 0.038722], abs=5e-7)
    assert (share**2).sum(axis=1) == pytest.approx([0.112243, 0.122360], abs=5e-7)
    assert 12 * share.max(axis=1) == pytest.approx([2.125847, 2.044983], abs=5e-7)


@needs_shared
def test_recorder_passes() -> None:
    item = read("expert_distribution_recorder_per_pass_1790000000.5_0.pt")
    loaded = (item.counts > 0).sum(axis=2)
    assert loaded.tolist() == [[8, 6, 6], [7, 9, 6], [6, 7, 7]]
    assert "6.888889 experts loaded per pass and layer" in item.facts


@needs_shared
def test_recorder_tokens() -> None:
    name = "expert_distribution_recorder_per_token_1790000000.5_0.pt"
    ids, found = scanned(name)
    trace = read(name)
    assert (trace.experts, trace.selections.shape[2], found.layers) == (16, 4, (1, 2, 3))
    assert trace.sequences == (((0, 4), (4, 8), (8, 12)),)
    assert ids[0].tolist() == [[11, 9, 5, 1], [13, 7, 14, 15], [11, 13, 10, 15]]
    assert ids[11].tolist() == [[3, 14, 5, 6], [7, 9, 15, 4], [4, 0, 9, 11]]
    assert ids.sum(axis=(0, 2)).tolist() == [360, 428, 392]
    found_overlap = overlaps(ids, trace.sequences[0])
    assert found_overlap == pytest.approx([0.694444, 0.722222, 0.694444], abs=5e-7)
    assert "acceptance length 4 over 2 cycles" in trace.facts


@needs_shared
def test_router_logits() -> None:
    trace = read("hf_router_logits_tuple.pt")
    ids = trace.selections.ids
    assert (trace.experts, trace.facts) == (16, ("raw logits",))
    assert ids[0].tolist() == [[6, 11, 15, 7], [0, 8, 5, 1], [15, 9, 7, 3]]
    assert ids.sum(axis=(0, 2)).tolist() == [341, 310, 399]
    assert overlaps(ids) == pytest.approx([0.340909, 0.25, 0.204545], abs=5e-7)
    eight = read("hf_router_logits_tuple.pt", CalibrationOptions(top_k=8)).selections.ids
    assert eight[0, 0].tolist() == [6, 11, 15, 7, 1, 3, 2, 0]


@needs_shared
def test_an_expert_map_is_refused() -> None:
    with pytest.raises(DataError, match="no routing in it; looked for counts"):
        read("sglang_init_expert_location_mapping.json")


@needs_shared
def test_c11_payloads() -> None:
    options = CalibrationOptions(experts=512)
    (reading,) = read_files([CASES / "c11_uint16_k22.npy"], "routing", options)
    found = scan(reading.data[0], 512)
    assert (found.rows, found.layers, found.dense, found.padding) == (12, (1, 2, 3, 4), (0,), 1)
    with pytest.raises(DataError, match=r"20 of 48 rows repeat an id.*N = 512.*uint8"):
        calibrate_routing([CASES / "c11_uint8_wrapped.json"], CalibrationOptions())
    section = calibrate_routing([CASES / "c11_mixed_dtypes.json"], CalibrationOptions())
    assert (section.samples, section.experts, section.top_k) == (16, 128, 8)


# ---- gpt-oss-20b -------------------------------------------------------------------------------


def truncated(top_k: int) -> Any:
    """Cells of the real trace with the k best of the recorded 4 experts."""
    ids = np.load(REAL, allow_pickle=False)["experts"]
    sequences, tokens, layers, _ = ids.shape
    flat = ArraySelections(ids.reshape(-1, layers, 4)[..., :top_k])
    planes = tuple(range(layers))
    runs = [((s * tokens, (s + 1) * tokens),) for s in range(sequences)]
    return count_cells([Part(flat, planes, run) for run in runs], 32, top_k)


@pytest.fixture(scope="module")
def section() -> RoutingSection:
    return calibrate_routing([REAL], CalibrationOptions(architecture="gpt-oss-20b"))


def router_of(section: RoutingSection) -> RouterParameters:
    value = {name: figure.value for name, figure in section.parameters.items()}
    return RouterParameters(
        value["popularity"], value["request"], value["recency"], value["decay"], value["skew"]
    )


def relative_errors(router: RouterParameters, cells: Any, top_k: int) -> tuple[Any, Any]:
    """Of unique experts: windows 2-16 and cells; and those of independent tokens."""
    windows = zip((2, 4, 8, 16), unique_of_windows(cells), strict=True)
    measured = {(1, q): float(value) for q, value in windows}
    for q in (2, 4, 8, 16):
        measured |= {(b, q): value for b, value in unique_of_batches(cells, q).items()}
    chosen = cells.selected.sum(axis=0) / cells.tokens.sum()
    pairs = []
    for (batch, window), value in measured.items():
        fitted = float(unique_experts(32, top_k, batch, window, router))
        independent = float((1 - (1 - chosen) ** (batch * window)).sum(axis=1).mean())
        pairs.append((fitted / value - 1, independent / value - 1))
    return tuple(np.array(pairs).T)


@needs_shared
def test_real_trace_windows_and_cells_are_predicted(section: RoutingSection) -> None:
    fitted, independent = relative_errors(router_of(section), truncated(4), 4)
    print(f"MAPE {np.abs(fitted).mean():.2%}, independent {np.abs(independent).mean():.2%}")
    assert np.abs(fitted).mean() <= 0.03
    assert np.abs(fitted[:4]).mean() <= 0.03  # windows alone
    assert np.abs(independent).mean() > 3 * np.abs(fitted).mean()
    assert section.residual is not None
    assert section.residual.value == pytest.approx(np.abs(fitted).mean(), abs=1e-4)


@needs_shared
@pytest.mark.parametrize("top_k", [2, 3])
def test_real_trace_with_fewer_experts_per_token(section: RoutingSection, top_k: int) -> None:
    router, cells = router_of(section), truncated(top_k)
    fitted, _ = relative_errors(router, cells, top_k)
    lags = np.arange(1, 17)
    alike = np.asarray(
        float(router.popularity)
        + float(router.request)
        + float(router.recency) * float(router.decay) ** (lags - 1.0)
    )
    expected = ExpectedRouting(32, top_k, np.array([2.0]))
    own = np.array([float(router.popularity)]), np.array([float(router.skew)])
    overlap = expected.overlap(*own, alike[None])[0] / measure(cells)[0].overlap - 1
    print(f"top-{top_k}: unique {np.abs(fitted).mean():.2%}, overlap {np.abs(overlap).mean():.2%}")
    assert np.abs(fitted).mean() <= 0.05
    assert np.abs(overlap).mean() <= 0.05


@needs_shared
def test_real_trace_says_what_it_misses(section: RoutingSection) -> None:
    assert (section.experts, section.top_k, len(section.layers)) == (32, 4, 9)
    assert any("9 routed and 0 dense layers recorded" in line for line in section.warnings)
    middle = max(section.layers, key=lambda layer: layer.window_correlations["4"].value)
    assert middle.layer == 12
    assert section.window_correlations["4"].value == pytest.approx(0.61, abs=0.03)


def test_paths_are_not_needed_to_import() -> None:
    assert isinstance(SAMPLES, Path)
