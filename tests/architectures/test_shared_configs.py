"""Every config.json of ../shared: counted exactly, or refused clearly; and cases B01 to B11."""

import csv
from pathlib import Path

import pytest

from codesign.architectures import load_architecture
from codesign.architectures.counting import (
    ParameterCounts,
    count_parameters,
    prediction_parameters,
)
from codesign.spec.architecture import Architecture
from tests.shared_data import SHARED, needs_shared

FOLDER = SHARED / "data" / "architectures"
CASES = SHARED / "cases" / "files" / "configs"
COLUMNS = {  # of param_counts.csv
    "total": "total",
    "active": "active",
    "routed": "routed",
    "shared": "shared",
    "router": "router",
    "attention": "attention_params",
    "dense": "dense_mlp",
    "embedding": "embed",
    "lm_head": "lm_head",
    "norm": "norm",
    "other": "other",
}
BUNDLED = {  # rows whose config is not in the folder
    "Qwen/Qwen1.5-MoE-A2.7B": "qwen1.5-moe-a2.7b",
    "microsoft/Phi-3.5-MoE-instruct": "phi-3.5-moe",
    "tencent/Hy3-preview": "hy3-preview",
}


def _rows() -> list[dict[str, str]]:
    if not FOLDER.is_dir():
        return []
    with (FOLDER / "param_counts.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def _of_row(row: dict[str, str]) -> Architecture:
    if row["model"] in BUNDLED:
        return load_architecture(BUNDLED[row["model"]])
    stem = row["model"].removesuffix(" (text)").replace("/", "--")
    found = [path for path in FOLDER.glob("*.json") if path.name.startswith(f"{stem}.")]
    found = [path for path in found if path.name.split(stem)[1] in SUFFIXES]
    return load_architecture(found[0])


SUFFIXES = (".json", ".RECONSTRUCTED.json", ".text.RECONSTRUCTED.json")


@needs_shared
@pytest.mark.parametrize("row", _rows(), ids=lambda row: row["model"])
def test_every_row_to_the_parameter(row: dict[str, str]) -> None:
    """All components of param_counts.csv, counted there from the model classes."""
    architecture = _of_row(row)
    counts = count_parameters(architecture)
    found = {ours: getattr(counts, ours) for ours in COLUMNS}
    assert found == {ours: int(row[theirs]) for ours, theirs in COLUMNS.items()}
    moe = architecture.moe
    assert moe is not None
    assert (moe.experts, moe.top_k) == (int(row["N"]), int(row["k"]))
    assert (moe.layers, moe.expert_width) == (
        int(row["num_moe_layers"]),
        int(row["expert_intermediate"]),
    )
    assert moe.shared_experts == float(row["S_config"] or row["S_equiv_experts"])


@needs_shared
@pytest.mark.parametrize(
    "path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.name.removesuffix(".json")
)
def test_every_file_is_read(path: Path) -> None:
    """No file of the folder is refused; names that state a size agree with the count."""
    architecture = load_architecture(path)
    total = count_parameters(architecture).total
    stated = [part for part in path.name.replace("_", "-").split("-") if part[:1].isdigit()]
    sizes = [float(part[:-1]) for part in stated if part[-1] == "B" and _number(part[:-1])]
    if sizes and "Scout" not in path.name:  # whose 17B are the active ones
        assert total / 1e9 == pytest.approx(max(sizes), rel=0.15)


def _number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _counted(name: str) -> tuple[Architecture, ParameterCounts]:
    architecture = load_architecture(CASES / name)
    return architecture, count_parameters(architecture)


@needs_shared
def test_b01_deepseek_v3() -> None:
    """671 or 685, 37 or 36.7: the prediction layer apart, both embeddings in."""
    architecture, counts = _counted("b01_deepseek_v3.json")
    assert (counts.total, counts.active) == (671_026_404_352, 37_552_282_624)
    assert counts.active - counts.embedding == 36_625_603_584
    assert (architecture.layers, architecture.prediction_layers) == (61, 1)
    assert architecture.moe is not None
    assert architecture.moe.layers == 58
    assert "1 multi-token-prediction layer left out of the counts" in architecture.notes
    with_its_own_tables = prediction_parameters(architecture) + 2 * counts.embedding
    assert (counts.total + with_its_own_tables) / 1e9 == pytest.approx(685, rel=2e-3)


@needs_shared
def test_b02_gpt_oss() -> None:
    """The vendor's active count leaves the input embedding out; expert biases count."""
    _, counts = _counted("b02_gpt_oss_120b.json")
    assert (counts.total, counts.active) == (116_829_156_672, 5_711_982_912)
    assert counts.active - counts.embedding == 5_132_849_472
    assert counts.routed == 36 * 128 * 24_891_840
    small = count_parameters(load_architecture("gpt-oss-20b"))
    assert (small.total, small.active) == (20_914_757_184, 4_187_440_704)
    assert small.active - small.embedding == 3_608_307_264


@needs_shared
def test_b03_kimi_k3() -> None:
    """Latent experts, two shared ones, and a top_k that is sampling."""
    architecture, counts = _counted("b03_kimi_k3.json")
    moe = architecture.moe
    assert moe is not None
    assert (moe.layers, moe.experts, moe.top_k, moe.shared_experts) == (92, 896, 16, 2)
    assert counts.routed == 2_722_740_830_208
    assert counts.latent == 4_726_980_608
    assert counts.shared == 92 * 132_120_576
    assert counts.total == pytest.approx(2.8e12, rel=0.02)
    assert counts.active == pytest.approx(104e9, rel=0.02)


def test_b05_active_is_not_a_share_of_the_total() -> None:
    """Qwen3.5-397B-A17B: k/N of the total would be 7.75B."""
    counts = count_parameters(load_architecture("qwen3.5-397b-a17b"))
    assert counts.active == 17_349_040_896
    assert counts.total * 10 / 512 == pytest.approx(7.74e9, rel=1e-3)


@needs_shared
def test_b06_nested_config() -> None:
    """Everything in text_config, head_dim is not hidden/heads, the vision tower is left out."""
    architecture, counts = _counted("b06_qwen3_vl_30b.json")
    assert (counts.total, counts.active) == (30_532_122_624, 3_353_032_704)
    assert counts.attention == 905_981_952
    assert counts == count_parameters(load_architecture("qwen3-30b-a3b"))
    assert any("vision tower left out" in note for note in architecture.notes)


def test_b07_totals_not_names() -> None:
    """What must be resident: all experts, whatever the name says."""
    totals = {
        name: count_parameters(load_architecture(name)).total
        for name in ("qwen1.5-moe-a2.7b", "mixtral-8x7b", "qwen3.5-122b-a10b")
    }
    assert totals["qwen1.5-moe-a2.7b"] == 14_315_784_192
    assert totals["mixtral-8x7b"] == 46_702_792_704
    assert totals["qwen3.5-122b-a10b"] == pytest.approx(122.1e9, rel=1e-3)


def test_b08_routed_weights_of_kimi_k2() -> None:
    """60 layers x 384 experts x 44,040,192; one of eight ranks holds an eighth."""
    counts = count_parameters(load_architecture("kimi-k2.5"))
    assert counts.routed == 60 * 384 * 44_040_192 == 1_014_686_023_680
    assert counts.routed / 8 / 1e9 == pytest.approx(126.8, abs=0.05)
    assert (counts.total - counts.routed) / 1e9 == pytest.approx(11.7, abs=0.05)


@needs_shared
def test_b10_lists() -> None:
    """Per-layer lists of equal values are the same as scalars."""
    architecture, counts = _counted("b10_hunyuan_lists.json")
    assert (counts.total, counts.routed, counts.shared) == (7_614_976, 6_291_456, 393_216)
    assert (counts.router, counts.embedding, counts.lm_head) == (16_384, 256_000, 0)
    assert architecture.moe is not None
    assert architecture.moe.layers == 4


@needs_shared
def test_b11_latent_experts() -> None:
    """Nemotron-3-Super: experts of two matrices in a latent space, k above 16."""
    architecture, counts = _counted("b11_nemotron3_super.json")
    moe = architecture.moe
    assert moe is not None
    assert (moe.layers, moe.experts, moe.top_k, moe.latent_width) == (40, 512, 22, 1024)
    assert counts.routed == 40 * 512 * 2 * 1024 * 2688 == 112_742_891_520
    assert (counts.total, counts.active) == (120_668_687_360, 12_770_216_960)
