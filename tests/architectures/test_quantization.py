"""Number formats of each component, from the schemes that checkpoints carry."""

import json
from pathlib import Path
from typing import Any

import pytest

from codesign.architectures import load_architecture
from codesign.errors import DataError
from codesign.spec.precision import BYTES_PER_ELEMENT, Precision
from tests.architectures.random_configs import random_config

LAYERS = 4
DEEPSEEK: dict[str, Any] = random_config("deepseek_v3", 1) | {
    "num_hidden_layers": LAYERS,
    "first_k_dense_replace": 1,
}
FLOAT4 = {"num_bits": 4, "type": "float", "group_size": 16}
INT4 = {"num_bits": 4, "type": "int", "group_size": 32, "strategy": "group"}


def _read(tmp_path: Path, scheme: dict[str, Any] | None, **fields: Any) -> Precision:
    path = tmp_path / "config.json"
    quantization = {"quantization_config": scheme} if scheme is not None else {}
    path.write_text(json.dumps(DEEPSEEK | quantization | fields))
    return load_architecture(path).precision


def _groups(weights: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"config_groups": {"group_0": {"weights": weights, "targets": ["Linear"]}}} | rest


@pytest.mark.parametrize(
    ("scheme", "weights"),
    [
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8_block"),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "nvfp4"),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8"),
        ({"quant_algo": "FP8"}, "fp8"),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, "int4"),
        ({"quant_method": "awq", "bits": 4, "group_size": 32}, "int4_g32"),
        ({"quant_method": "gptq", "bits": 8}, "int8"),
        (_groups(INT4, quant_method="compressed-tensors"), "int4_g32"),
        (_groups({"num_bits": 8, "type": "int"}, quant_method="compressed-tensors"), "int8"),
        (_groups({"num_bits": 8, "type": "float"}, quant_method="compressed-tensors"), "fp8"),
        (
            _groups(
                {"num_bits": 8, "type": "float", "strategy": "block"},
                quant_method="compressed-tensors",
            ),
            "fp8_block",
        ),
        (_groups(FLOAT4, quant_method="compressed-tensors"), "nvfp4"),
        (
            _groups(
                FLOAT4 | {"group_size": 32},
                quant_method="compressed-tensors",
                format="mxfp4-pack-quantized",
            ),
            "mxfp4",
        ),
    ],
)
def test_whole_checkpoint(tmp_path: Path, scheme: dict[str, Any], weights: str) -> None:
    """Without an ignore list every linear layer has the format; embeddings keep theirs."""
    assert _read(tmp_path, scheme) == Precision.from_data({"weights": weights})


@pytest.mark.parametrize(
    ("dtype", "format_"), [("bfloat16", "bf16"), ("float16", "fp16"), ("float32", "fp32")]
)
def test_plain(tmp_path: Path, dtype: str, format_: str) -> None:
    """Without a scheme the file's own type is everywhere."""
    expected = Precision.from_data({"weights": format_, "embeddings": format_})
    assert _read(tmp_path, None, dtype=dtype) == expected
    assert _read(tmp_path, None, torch_dtype=dtype) == expected


@pytest.mark.parametrize(
    "ignored",
    [
        ["model.layers.*.self_attn"],  # gpt-oss
        ["re:.*self_attn.*"],  # compressed-tensors
        [f"model.layers.{layer}.self_attn*" for layer in range(LAYERS)],  # modelopt
        [f"language_model.model.layers.{layer}.self_attn*" for layer in range(LAYERS)],
        [f"model.layers.{layer}.self_attn.o_proj" for layer in range(LAYERS)],
        ["self_attn"],  # by part of the name
    ],
)
def test_attention_left_as_it_was(tmp_path: Path, ignored: list[str]) -> None:
    """Every spelling of an ignore list: routed weights 4-bit, attention bf16."""
    for name in ("ignore", "modules_to_not_convert", "exclude_modules"):
        precision = _read(
            tmp_path, {"quant_method": "modelopt", "quant_algo": "NVFP4", name: ignored}
        )
        assert precision.of("attention") == "bf16"
        assert precision.of("routed_experts") == "nvfp4"
        assert precision.of("shared_experts") == "nvfp4"
        assert precision.of("dense") == "nvfp4"


def test_a_list_of_other_modules_changes_nothing(tmp_path: Path) -> None:
    """Routers, norms and heads are not the components asked for."""
    ignored = ["lm_head", "gate", "e_score_correction_bias", "model.layers.1.mlp.gate"]
    scheme = {"quant_method": "fp8", "modules_to_not_convert": ignored}
    assert _read(tmp_path, scheme) == Precision.from_data({"weights": "fp8"})


def test_most_layers_decide(tmp_path: Path) -> None:
    """One layer kept apart does not change a component."""
    scheme = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["model.layers.0*"]}
    precision = _read(tmp_path, scheme)
    assert precision.of("attention") == "nvfp4"
    assert precision.of("dense") == "bf16"  # layer 0 is the only dense one


def test_mixed_precision(tmp_path: Path) -> None:
    """A format per module, as modelopt lists them."""
    layers: dict[str, Any] = {}
    for layer in range(LAYERS):
        layers[f"model.layers.{layer}.self_attn.o_proj"] = {"quant_algo": "MXFP8"}
        layers[f"model.layers.{layer}.mlp.experts.0.down_proj"] = {"quant_algo": "NVFP4"}
    scheme = {
        "quant_method": "modelopt",
        "quant_algo": "MIXED_PRECISION",
        "quantized_layers": layers,
    }
    precision = _read(tmp_path, scheme)
    assert precision.of("attention") == "mxfp8"
    assert precision.of("routed_experts") == "nvfp4"
    assert precision.of("shared_experts") == "bf16"


def test_mxfp4_is_for_experts(tmp_path: Path) -> None:
    """gpt-oss quantises its experts only."""
    precision = _read(tmp_path, {"quant_method": "mxfp4"})
    assert precision.of("routed_experts") == "mxfp4"
    assert precision.of("attention") == "bf16"


@pytest.mark.parametrize(
    "cache",
    [
        {"kv_cache_scheme": {"num_bits": 8, "type": "float"}},
        {"kv_cache_scheme": "FP8"},
        {"kv_cache_quant_algo": "FP8"},
    ],
)
def test_quantised_cache(tmp_path: Path, cache: dict[str, Any]) -> None:
    """The cache is fp8 only where the checkpoint says so."""
    assert _read(tmp_path, {"quant_method": "fp8"}).kv_cache == "bf16"
    assert _read(tmp_path, {"quant_method": "fp8"} | cache).kv_cache == "fp8"


def test_scheme_in_a_file_beside(tmp_path: Path) -> None:
    """Older modelopt checkpoints: hf_quant_config.json."""
    beside = tmp_path / "hf_quant_config.json"
    scheme = {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}
    beside.write_text(json.dumps({"quantization": scheme}))
    assert _read(tmp_path, None) == Precision.from_data({"weights": "nvfp4", "kv_cache": "fp8"})


@pytest.mark.parametrize(
    "scheme",
    [
        {"quant_method": "magic"},
        {"quant_method": "modelopt", "quant_algo": "FP2"},
        {"quant_method": "gptq", "bits": 3},
        {"quant_method": "gptq"},
        {"quant_method": "compressed-tensors"},
        _groups(
            {"num_bits": 4, "type": "float", "group_size": 7}, quant_method="compressed-tensors"
        ),
        {"quant_method": "compressed-tensors", "config_groups": 3},
        {"quant_method": "fp8", "ignore": ["re:("]},
    ],
)
def test_unknown_schemes_are_refused(tmp_path: Path, scheme: dict[str, Any]) -> None:
    """Bytes are never guessed."""
    with pytest.raises(DataError, match="quantization_config"):
        _read(tmp_path, scheme)


def test_bytes_include_scales() -> None:
    """NVFP4 has an 8-bit scale per 16 elements, INT4 a 16-bit one per 32 or 128."""
    assert BYTES_PER_ELEMENT["nvfp4"] == 0.5625
    assert BYTES_PER_ELEMENT["mxfp4"] == 0.53125
    assert BYTES_PER_ELEMENT["int4_g32"] == 0.5625
    assert BYTES_PER_ELEMENT["int4"] == 0.515625
