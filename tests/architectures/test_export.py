"""Designs written as config.json of the reference's family, and what cannot be written."""

import json
from pathlib import Path
from typing import Any

import pytest

from codesign.architectures import load_architecture
from codesign.architectures.config import read_config
from codesign.architectures.counting import count_parameters
from codesign.architectures.export import export_config
from codesign.errors import UsageError
from codesign.spec.architecture import Architecture
from tests.architectures.random_configs import random_config

WRITABLE = [
    "command-a-plus",
    "deepseek-v2-lite",
    "deepseek-v3",
    "deepseek-v3.2",
    "dots.llm1",
    "ernie-4.5-21b-a3b",
    "glm-4.5",
    "glm-5",
    "gpt-oss-20b",
    "hunyuan-a13b",
    "hy3-preview",
    "kimi-k2",
    "llama-3.1-8b",
    "llama-4-scout",
    "minimax-m2.5",
    "mixtral-8x7b",
    "nemotron-3-nano-30b-a3b",
    "nemotron-3-super-120b-a12b",
    "olmoe-1b-7b",
    "phi-3.5-moe",
    "qwen1.5-moe-a2.7b",
    "qwen3-30b-a3b",
    "qwen3-8b",
    "qwen3-next-80b-a3b",
    "qwen3.5-27b",
    "qwen3.5-35b-a3b",
    "solar-open-100b",
]


def design_of(reference: Architecture, **changes: Any) -> Architecture:
    """A reference with other experts."""
    assert reference.moe is not None
    return reference.revised(moe=reference.moe.to_data() | changes)


def _load(tmp_path: Path, exported: dict[str, Any]) -> Architecture:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(exported))
    return load_architecture(path)


@pytest.mark.parametrize("name", WRITABLE)
def test_references_are_written_and_read_back(tmp_path: Path, name: str) -> None:
    """Equal counts, equal experts, equal mixers: so equal predictions."""
    reference = load_architecture(name)
    again = _load(tmp_path, export_config(reference))
    assert count_parameters(again) == count_parameters(reference)
    assert again.moe == reference.moe
    assert set(again.attention) == set(reference.attention)
    assert again.dense == reference.dense
    assert again.draft_ffn_width == reference.draft_ffn_width


def test_a_design_changes_only_its_own_fields(tmp_path: Path) -> None:
    """Over a base file the rotary base, the quantisation and the rest stay as they were."""
    fields = random_config("qwen3_moe", 3) | {
        "rope_theta": 5e6,
        "mlp_only_layers": [2],
        "decoder_sparse_step": 1,
        "quantization_config": {"quant_method": "fp8"},
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(fields))
    base = read_config(path)
    design = design_of(load_architecture(path), experts=48, top_k=5, expert_width=72)
    changed = {"num_experts": 48, "num_experts_per_tok": 5, "moe_intermediate_size": 72}
    assert export_config(design, base) == fields | changed
    assert json.loads(path.read_text()) == fields


def test_a_design_inside_another_model(tmp_path: Path) -> None:
    """The ``text_config`` of a vision model is changed where it stands."""
    fields = {
        "model_type": "qwen3_vl_moe",
        "text_config": random_config("qwen3_moe", 3) | {"model_type": "qwen3_vl_moe_text"},
        "vision_config": {"depth": 2},
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(fields))
    exported = export_config(design_of(load_architecture(path), experts=64), read_config(path))
    assert exported["text_config"]["num_experts"] == 64
    assert exported["vision_config"] == {"depth": 2}


def test_two_names_of_one_size_both_change(tmp_path: Path) -> None:
    """gpt-oss files name k twice; a stale second name would be believed by some engine."""
    fields = random_config("gpt_oss", 1)
    fields |= {"experts_per_token": fields["num_experts_per_tok"]}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(fields))
    exported = export_config(design_of(load_architecture(path), top_k=3), read_config(path))
    assert (exported["num_experts_per_tok"], exported["experts_per_token"]) == (3, 3)


def test_text_models_are_written_as_their_kin() -> None:
    """transformers has no class for kimi_k2, which is a DeepSeek-V3."""
    exported = export_config(load_architecture("kimi-k2"))
    assert exported["model_type"] == "deepseek_v3"
    assert exported["architectures"] == ["DeepseekV3ForCausalLM"]


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        (
            "qwen3-30b-a3b",
            {"shared_experts": 2},
            "qwen3_moe: its config.json cannot express this design: width of shared experts 1536 "
            "reads as 0, total parameters 30985107456 reads as 30532122624",
        ),
        (
            "mixtral-8x7b",
            {"shared_experts": 1},
            "mixtral: its config.json cannot express this design: width of shared experts 14336 "
            "reads as 0",
        ),
        (
            "llama-4-scout",
            {"shared_experts": 0},
            "llama4_text: its config.json cannot express this design: width of shared experts 0 "
            "reads as 8192",
        ),
        (
            "deepseek-v3",
            {"shared_width": 1024},
            "deepseek_v3: its config.json cannot express this design: width of shared experts 1024 "
            "reads as 2048",
        ),
        (
            "hunyuan-a13b",
            {"shared_experts": 2},
            "Hunyuan-A13B: transformers builds one shared expert, no other",
        ),
    ],
)
def test_what_a_family_cannot_express(name: str, changes: dict[str, Any], message: str) -> None:
    """It is said, with what would be lost, instead of being lost."""
    with pytest.raises(UsageError) as error:
        export_config(design_of(load_architecture(name), **changes))
    assert str(error.value).startswith(message)


def test_families_without_a_writer() -> None:
    """Facts alone are not enough; the reference's own file is."""
    with pytest.raises(UsageError, match=r"mimo_v2_flash: cannot be written .* own config\.json"):
        export_config(load_architecture("mimo-v2-flash"))
    unknown = load_architecture("llama-3.1-8b").revised(family="mine")
    with pytest.raises(UsageError, match="mine: cannot be written: no reader knows this family"):
        export_config(unknown)
