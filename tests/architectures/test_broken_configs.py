"""A config.json that is broken in any way gives one clear error, never a traceback or a guess."""

import json
from pathlib import Path
from typing import Any

import pytest

from codesign.architectures import load_architecture
from codesign.errors import DataError
from tests.architectures.random_configs import random_config

QWEN3_MOE: dict[str, Any] = {
    "model_type": "qwen3_moe",
    "hidden_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 100,
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
}


def _error(tmp_path: Path, raw: bytes) -> str:
    path = tmp_path / "config.json"
    path.write_bytes(raw)
    with pytest.raises(DataError) as error:
        load_architecture(path)
    return str(error.value).replace(str(path), "FILE")


def _changed(tmp_path: Path, **fields: Any) -> str:
    return _error(tmp_path, json.dumps(QWEN3_MOE | fields).encode())


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "FILE: not valid JSON (Expecting value: line 1 column 1 (char 0))"),
        (b"hello", "FILE: not valid JSON (Expecting value: line 1 column 1 (char 0))"),
        (b"[1]", "FILE: must hold one JSON object ([1])"),
        (b"null", "FILE: must hold one JSON object (None)"),
        (b"NaN", "FILE: must hold one JSON object (nan)"),
        (b"[" * 100_000, "FILE: nested too deeply to be a config.json"),
        (b'{"a":' * 100_000, "FILE: nested too deeply to be a config.json"),
        (
            b" " * (17 * 2**20),
            "FILE: cannot be read (too large to be a config.json: 17,825,792 > 16,777,216 bytes)",
        ),
        (b"{}", "FILE: field model_type is missing"),
        (b'{"model_type": 3}', "FILE: field model_type is missing"),
        (b'{"text_config": 3}', "FILE: field text_config must be an object (3)"),
    ],
)
def test_not_a_config(tmp_path: Path, raw: bytes, message: str) -> None:
    """Empty, no JSON, no object, too deep, too large."""
    assert _error(tmp_path, raw) == message


@pytest.mark.parametrize("length", [10, 100, 200])
def test_truncated(tmp_path: Path, length: int) -> None:
    """A download that was cut."""
    assert "not valid JSON" in _error(tmp_path, json.dumps(QWEN3_MOE).encode()[:length])


def test_not_text(tmp_path: Path) -> None:
    """Bytes that are no UTF-8, and a number of thousands of digits."""
    assert "not valid JSON" in _error(tmp_path, b'{"a": "\xff"}')
    assert "not valid JSON" in _error(tmp_path, b'{"a": ' + b"9" * 5000 + b"}")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_experts": None}, "FILE: field num_experts or num_local_experts is missing"),
        ({"num_experts": float("nan")}, "FILE: field num_experts must be a whole number (nan)"),
        ({"num_experts": float("inf")}, "FILE: field num_experts must be a whole number (inf)"),
        ({"num_experts": 8.0}, "FILE: field num_experts must be a whole number (8.0)"),
        ({"num_experts": "8"}, "FILE: field num_experts must be a whole number ('8')"),
        ({"num_experts": True}, "FILE: field num_experts must be a whole number (True)"),
        ({"num_experts": 0}, "FILE: field num_experts must be from 1 to 100,000,000 (0)"),
        ({"num_experts": -8}, "FILE: field num_experts must be from 1 to 100,000,000 (-8)"),
        (
            {"vocab_size": 10**9},
            "FILE: field vocab_size must be from 1 to 100,000,000 (1000000000)",
        ),
        (
            {"num_hidden_layers": 10**6},
            "FILE: field num_hidden_layers must be at most 10,000 (1000000)",
        ),
        (
            {"num_key_value_heads": 3},
            "FILE: field num_attention_heads must be a multiple of 3 (4)",
        ),
        (
            {"num_experts": [8, 8, 4, 8]},
            "FILE: field num_experts differs at layer 2, and one value is counted (4)",
        ),
        (
            {"tie_word_embeddings": "yes"},
            "FILE: field tie_word_embeddings must be true or false ('yes')",
        ),
        (
            {"mlp_only_layers": "x"},
            "FILE: field mlp_only_layers must be a list of whole numbers ('x')",
        ),
        ({"mlp_only_layers": [0]}, "FILE: field intermediate_size is missing"),
    ],
)
def test_fields(tmp_path: Path, fields: dict[str, Any], message: str) -> None:
    """Missing, of the wrong type, out of range, or differing between layers."""
    assert _changed(tmp_path, **fields) == message


def test_more_experts_per_token_than_experts(tmp_path: Path) -> None:
    """k > N."""
    message = _changed(tmp_path, num_experts_per_tok=9)
    assert message.startswith("FILE: moe: top_k must not exceed experts: 9 > 8")


def test_no_model_is_that_large(tmp_path: Path) -> None:
    """Each size is possible, all together are not; counts would overflow."""
    message = _changed(tmp_path, hidden_size=10**8, num_experts=10**8, head_dim=16)
    assert "more than 1e+15 parameters: not a model" in message


def test_infinity_where_nothing_is_counted(tmp_path: Path) -> None:
    """Published Nemotron files hold a bare Infinity; JSON has none, but it does no harm."""
    fields = random_config("nemotron_h", 1) | {"time_step_limit": [0.0, float("inf")]}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(fields))
    assert "Infinity" in path.read_text()
    assert load_architecture(path).family == "nemotron_h"


def test_equal_lists_are_one_number(tmp_path: Path) -> None:
    """A list with one value per layer, all the same."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(QWEN3_MOE | {"num_experts": [8] * 4}))
    moe = load_architecture(path).moe
    assert moe is not None
    assert moe.experts == 8
