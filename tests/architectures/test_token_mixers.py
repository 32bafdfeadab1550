"""Caches, states and scores of each kind of token mixer, with figures from reports."""

import pytest

from codesign.architectures import load_architecture
from codesign.architectures.caches import cache_sizes
from codesign.spec.attention import GroupedQueryAttention, LatentAttention
from codesign.spec.indexer import Indexer
from codesign.spec.mamba import Mamba2
from codesign.spec.recurrent import LightningAttention, ShortConvolution

GQA = GroupedQueryAttention(layers=1, heads=32, kv_heads=4, head_dim=128)
MLA = LatentAttention(
    layers=1,
    heads=128,
    q_lora_rank=1536,
    kv_lora_rank=512,
    qk_nope_head_dim=128,
    qk_rope_head_dim=64,
    v_head_dim=128,
)


@pytest.mark.parametrize(
    ("name", "kilobytes"),
    [
        ("deepseek-v3", 70.272),  # arXiv 2505.09343, table 1: KV cache per token
        ("llama-3.1-405b", 516.096),  # the same table
        ("qwen3-30b-a3b", 98.304),  # 48 layers x 2 x 4 heads x 128 x 2 bytes
    ],
)
def test_cache_per_token(name: str, kilobytes: float) -> None:
    """Published cache sizes, bf16."""
    sizes = cache_sizes(load_architecture(name))
    assert sizes.bytes_per_token == pytest.approx(1000 * kilobytes)
    assert sizes.bytes_per_sequence == 0


def test_a_window_bounds_the_cache() -> None:
    """Windowed layers keep a window of tokens, no more."""
    sizes = cache_sizes(load_architecture("gpt-oss-120b"))
    layer = 2 * 8 * 64 * 2
    assert sizes.bytes_per_token == 18 * layer
    assert sizes.bytes_per_sequence == 18 * layer * 128


def test_a_recurrent_state_does_not_grow() -> None:
    """Three of four layers of Qwen3-Next keep a matrix per head instead of tokens."""
    model = load_architecture("qwen3-next-80b-a3b")
    sizes = cache_sizes(model)
    assert sizes.bytes_per_token == 12 * 2 * 2 * 256 * 2
    assert sizes.bytes_per_sequence == 36 * (32 * 128 * 128 + 8192 * 3) * 2
    delta = model.attention[1]
    assert (delta.cache_elements_per_token, delta.flop_per_cached_token) == (0, 0)
    assert delta.window is None


def test_mamba2_state() -> None:
    """Nemotron-3-Nano: 64 heads x 64 x 128 states, 6144 convolved channels."""
    mamba = load_architecture("nemotron-3-nano-30b-a3b").attention[1]
    assert isinstance(mamba, Mamba2)
    assert mamba.state_elements_per_sequence == 64 * 64 * 128 + 6144 * 3


def test_small_states() -> None:
    """A square matrix per head; the last tokens of a convolution."""
    lightning = LightningAttention(layers=1, heads=64, head_dim=128)
    assert lightning.state_elements_per_sequence == 64 * 128 * 128
    convolution = ShortConvolution(layers=1, kernel=3, channels=2048)
    assert convolution.state_elements_per_sequence == 2 * 2048


def test_an_index_reads_all_so_that_attention_reads_few() -> None:
    """DeepSeek-V3.2: a key of 128 per token for the index, 2048 tokens for attention."""
    model = load_architecture("deepseek-v3.2")
    (group,) = model.attention
    assert group.selected_tokens == 2048
    assert group.index_elements_per_token == 128
    assert group.cache_elements_per_token == 512 + 64 + 128
    assert group.index_flop_per_cached_token == 2 * 64 * 128
    assert MLA.selected_tokens is None
    assert (MLA.index_elements_per_token, MLA.index_flop_per_cached_token) == (0, 0)


def test_layers_that_share_an_index_have_none() -> None:
    """GLM-5.3: three of four layers use an earlier layer's choice."""
    own, sharing = load_architecture("glm-5.3").attention
    assert (own.layers, sharing.layers) == (21, 57)
    assert sharing.index_elements_per_token == 0
    assert sharing.selected_tokens == own.selected_tokens == 2048
    difference = own.matrix_parameters(6144) - sharing.matrix_parameters(6144)
    assert difference == 2048 * 32 * 128 + 6144 * (128 + 32)


def test_traits_of_grouped_query_attention() -> None:
    """What each trait adds."""
    base = GQA.matrix_parameters(2048)
    gated = GQA.model_copy(update={"output_gate": True})
    assert gated.matrix_parameters(2048) - base == 2048 * 32 * 128
    per_head = GQA.model_copy(update={"head_gate": True})
    assert per_head.matrix_parameters(2048) - base == 2048 * 32
    shared = GQA.model_copy(update={"shared_key_value": True})
    assert base - shared.matrix_parameters(2048) == 2048 * 4 * 128
    assert shared.cache_elements_per_token == GQA.cache_elements_per_token
    wide = GQA.model_copy(update={"qk_norm": True, "qk_norm_span": "all_heads"})
    assert wide.vector_parameters(2048) == (32 + 4) * 128
    index = Indexer(heads=4, head_dim=128, selected_tokens=2048, head_weights=False)
    indexed = GQA.model_copy(update={"indexer": index})
    assert indexed.matrix_parameters(2048) - base == 2048 * 5 * 128
    assert indexed.vector_parameters(2048) == 256


def test_limits_of_latent_attention() -> None:
    """A full-rank query projection; every rank of tensor parallelism holds the whole latent."""
    full = MLA.model_copy(update={"q_lora_rank": None})
    assert full.matrix_parameters(7168) > MLA.matrix_parameters(7168)
    assert full.norm_parameters == 512
    assert (MLA.cache_shards, GQA.cache_shards) == (1, 4)
    assert MLA.window is None
    biased = MLA.model_copy(update={"projection_bias": True})
    assert biased.vector_parameters(7168) == 1536 + 512 + 64 + 7168


def test_heads_come_in_equal_groups() -> None:
    """Query heads are a multiple of key-value heads."""
    with pytest.raises(ValueError, match="kv_heads must divide heads: 32 % 3 != 0"):
        GroupedQueryAttention(layers=1, heads=32, kv_heads=3, head_dim=128)
