"""Caches and workspace."""

import pytest

from codesign.model.memory import cache_bytes, workspace_bytes


def test_workspace_of_the_model_notes() -> None:
    # model.md, section 3: 1 GiB + 32 x tokens x hidden size bytes.
    assert float(workspace_bytes(0, 2048)) == 2**30
    assert float(workspace_bytes(100, 2048)) == 2**30 + 32 * 100 * 2048


def test_cache_of_qwen3_30b_a3b() -> None:
    # 48 layers x 2 x 4 heads x 128 elements in bf16: 96 KiB per token; 32 x 4,096 tokens: 12 GiB.
    elements = 48 * 2 * 4 * 128
    assert elements * 2 == 96 * 2**10
    assert float(cache_bytes(32, 4096, elements, 0, 2.0)) == 12 * 2**30


def test_cache_of_deepseek_v3() -> None:
    # 61 layers x (512 + 64) elements in bf16: 70,272 bytes per token (arXiv 2405.04434: MLA keeps
    # one latent and one rotary key).
    assert float(cache_bytes(1, 1, 61 * 576, 0, 2.0)) == 70_272


def test_a_recurrent_state_does_not_grow_with_the_context() -> None:
    assert float(cache_bytes(3, 0, 0, 50, 2.0)) == 3 * 50 * 2
    assert float(cache_bytes(3, 10_000, 0, 50, 2.0)) == pytest.approx(3 * 50 * 2)
