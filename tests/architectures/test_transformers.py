"""Our counts against the model classes of transformers, built on the meta device.

Configs vary at random: layers, experts, heads, widths, biases, tying. Skipped where transformers
or torch is not installed; a family that the installed version lacks is skipped by name.
"""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from codesign.architectures import load_architecture
from codesign.architectures.config import read_config
from codesign.architectures.counting import count_parameters
from codesign.architectures.export import export_config
from codesign.spec.architecture import Architecture
from tests.architectures.example_configs import EXAMPLES
from tests.architectures.random_configs import MAKERS, random_config
from tests.architectures.test_export import design_of

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")

SEEDS = range(4)
EXPORTED = [
    "deepseek-v3",
    "glm-4.5-air",
    "gpt-oss-20b",
    "mixtral-8x7b",
    "nemotron-3-super-120b-a12b",
    "olmoe-1b-7b",
    "qwen1.5-moe-a2.7b",
    "qwen3-30b-a3b",
    "qwen3.5-35b-a3b",
]
DBRX_NEEDS = {"attn_config": {"kv_n_heads": 2, "rope_theta": 1e4}}  # its class reads it unasked
SHARED_WIDTH_OF_ITS_OWN = ("nemotron-3-super-120b-a12b", "qwen1.5-moe-a2.7b", "qwen3.5-35b-a3b")


def _config(fields: dict[str, Any]) -> Any:
    """The config object of transformers for these fields."""
    classes = pytest.importorskip("transformers.models.auto.configuration_auto").CONFIG_MAPPING
    given = {k: v for k, v in fields.items() if k not in ("model_type", "architectures")}
    try:
        return classes[fields["model_type"]](**given)
    except KeyError:
        pytest.skip(f"this transformers has no {fields['model_type']}")


def _counts_of_class(fields: dict[str, Any]) -> Counter[str]:
    """Parameters of a model class by component; one number per shared table."""
    config = _config(fields)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config)
    counts: Counter[str] = Counter()
    for name, parameter in model.named_parameters():
        counts["total"] += parameter.numel()
        counts[_component(name)] += parameter.numel()
    return counts


def _component(name: str) -> str:
    if re.search(r"shared_(expert|mlp)", name) and "shared_expert_gate" not in name:
        return "shared"
    if ".experts." in name:
        return "routed"
    if re.search(r"(self_attn|linear_attn|mamba|\.conv)\.", name) and not re.search(
        r"[qk]v?_a_(layer)?norm\.", name
    ):
        return "attention"
    return "rest"


def _read(tmp_path: Path, fields: dict[str, Any]) -> Architecture:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(fields))
    return load_architecture(path)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("model_type", MAKERS)
def test_random_configs(tmp_path: Path, model_type: str, seed: int) -> None:
    """Total, routed, shared and attention to the parameter."""
    fields = random_config(model_type, seed)
    theirs = _counts_of_class(fields)
    ours = count_parameters(_read(tmp_path, fields))
    assert ours.total == theirs["total"]
    assert ours.routed == theirs["routed"]
    if ours.routed:  # a hybrid without experts has its shared one as a dense layer
        assert ours.shared == theirs["shared"]
    if model_type != "nemotron_h":  # whose layers are all called mixer
        assert ours.attention == theirs["attention"]


@pytest.mark.parametrize("name", EXPORTED)
def test_exported_designs_load(tmp_path: Path, name: str) -> None:
    """A changed design, written, loaded by transformers: equal counts."""
    reference = load_architecture(name)
    assert reference.moe is not None
    moe = reference.moe
    changes = {
        "experts": 2 * moe.experts,
        "top_k": moe.top_k + 1,
        "expert_width": moe.expert_width // 2,
    }
    if moe.shared_experts and name in SHARED_WIDTH_OF_ITS_OWN:
        changes["shared_width"] = moe.shared_width or moe.expert_width
    design = design_of(reference, **changes)
    exported = export_config(design)
    assert _counts_of_class(exported)["total"] == count_parameters(design).total
    assert count_parameters(_read(tmp_path, exported)) == count_parameters(design)


@pytest.mark.parametrize("model_type", MAKERS)
def test_experts_changed_over_a_file(tmp_path: Path, model_type: str) -> None:
    """Every sparse family: N and k changed in the reference's own file."""
    fields = random_config(model_type, 1)
    reference = _read(tmp_path, fields)
    if reference.moe is None:
        pytest.skip("a dense model")
    design = design_of(reference, experts=reference.moe.experts + 4, top_k=3)
    exported = export_config(design, read_config(tmp_path / "config.json"))
    assert _counts_of_class(exported)["total"] == count_parameters(design).total


@pytest.mark.parametrize("model_type", ["dbrx", "mistral4", "step3p5"])
def test_classes_that_random_configs_leave_out(tmp_path: Path, model_type: str) -> None:
    """One config each of families whose class has another shape of config, or no LM head."""
    fields = EXAMPLES.get(model_type) or random_config("deepseek_v3", 2) | {
        "model_type": "mistral4",
        "q_lora_rank": 24,
    }
    counts = count_parameters(_read(tmp_path, fields))
    config = _config(fields | DBRX_NEEDS) if model_type == "dbrx" else _config(fields)
    with torch.device("meta"):
        if model_type == "dbrx":
            model = transformers.AutoModelForCausalLM.from_config(config)
        elif model_type == "mistral4":
            model = transformers.AutoModel.from_config(config)
        else:
            module = pytest.importorskip("transformers.models.step3p7.modeling_step3p7")
            model = module.Step3p7TextModel(config)
    head = 0 if model_type == "dbrx" else counts.lm_head
    assert sum(parameter.numel() for parameter in model.parameters()) == counts.total - head
