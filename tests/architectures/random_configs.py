"""A random config.json of every family that transformers can build, small but complete.

Layers, experts, heads, widths, biases and tying vary; ratios that classes require are kept.
"""

from collections.abc import Callable
from random import Random
from typing import Any

Fields = dict[str, Any]
Maker = Callable[[Random], Fields]


def _body(draw: Random, *, tied: bool = True) -> Fields:
    """Fields that nearly every family has."""
    kv_heads = draw.choice([1, 2, 4])
    fields = {
        "hidden_size": 32 * draw.randint(2, 9),
        "num_hidden_layers": draw.randint(4, 9),
        "num_attention_heads": kv_heads * draw.choice([1, 2, 4]),
        "num_key_value_heads": kv_heads,
        "head_dim": 16 * draw.randint(1, 4),
        "vocab_size": draw.randint(300, 900),
        "pad_token_id": 0,
    }
    if tied:
        fields["tie_word_embeddings"] = draw.random() < 0.5
    return fields


def _flags(draw: Random, *names: str) -> Fields:
    return {name: draw.random() < 0.5 for name in names}


def _experts(
    draw: Random,
    experts: str,
    width: str = "moe_intermediate_size",
    top_k: str = "num_experts_per_tok",
) -> Fields:
    count = 4 * draw.randint(1, 8)
    return {experts: count, top_k: draw.randint(1, 4), width: 8 * draw.randint(1, 12)}


def _words(draw: Random, layers: int, *words: str) -> list[str]:
    """One word per layer; every word occurs."""
    rest = [draw.choice(words) for _ in range(layers - len(words))]
    return draw.sample([*words, *rest], layers)


def _latent(draw: Random) -> Fields:
    return _without(_body(draw), "head_dim") | {
        "num_key_value_heads": 4,
        "num_attention_heads": 4,
        "q_lora_rank": 8 * draw.randint(1, 9),
        "kv_lora_rank": 8 * draw.randint(1, 9),
        "qk_nope_head_dim": 8 * draw.randint(1, 5),
        "qk_rope_head_dim": 8,
        "v_head_dim": 8 * draw.randint(1, 5),
    }  # fmt: skip


def _without(fields: Fields, *names: str) -> Fields:
    return {name: value for name, value in fields.items() if name not in names}


def _mixtral(draw: Random) -> Fields:
    return _body(draw) | _experts(draw, "num_local_experts", "intermediate_size")


def _phimoe(draw: Random) -> Fields:
    body = _without(_body(draw, tied=False), "head_dim")
    heads = body["num_attention_heads"]
    return (
        body
        | {"hidden_size": heads * 2 * draw.randint(4, 16)}
        | _experts(draw, "num_local_experts", "intermediate_size")
        | _flags(draw, "attention_bias", "lm_head_bias")
    )


def _qwen2_moe(draw: Random) -> Fields:
    body = _without(_body(draw), "head_dim")
    return (
        body
        | {"hidden_size": body["num_attention_heads"] * 16}
        | _experts(draw, "num_experts")
        | {"intermediate_size": 96, "shared_expert_intermediate_size": 8 * draw.randint(1, 9)}
        | {"decoder_sparse_step": draw.randint(1, 2), "mlp_only_layers": [draw.randint(0, 3)]}
        | _flags(draw, "qkv_bias")
    )


def _qwen3_moe(draw: Random) -> Fields:
    return (
        _body(draw)
        | _experts(draw, "num_experts")
        | {"intermediate_size": 8 * draw.randint(1, 9), "mlp_only_layers": [draw.randint(0, 3)]}
        | {"decoder_sparse_step": draw.randint(1, 2)}
        | _flags(draw, "attention_bias")
    )


def _linear_heads(draw: Random) -> Fields:
    keys = draw.choice([1, 2])
    return {
        "linear_num_key_heads": keys,
        "linear_num_value_heads": keys * draw.choice([1, 2, 3]),
        "linear_key_head_dim": 8 * draw.randint(1, 4),
        "linear_value_head_dim": 8 * draw.randint(1, 4),
        "linear_conv_kernel_dim": draw.randint(2, 5),
    }


def _qwen3_next(draw: Random) -> Fields:
    body = _body(draw)
    return (
        body
        | _experts(draw, "num_experts")
        | _linear_heads(draw)
        | {"shared_expert_intermediate_size": 8 * draw.randint(1, 9), "intermediate_size": 64}
        | {"layer_types": _words(draw, body["num_hidden_layers"], *HYBRID)}
    )


def _qwen3_5(draw: Random) -> Fields:
    body = _body(draw) | _linear_heads(draw)
    words = _words(draw, body["num_hidden_layers"], *HYBRID)
    return body | {"layer_types": words, "intermediate_size": 8 * draw.randint(1, 9)}


def _qwen3_5_moe(draw: Random) -> Fields:
    return _without(_qwen3_next(draw), "intermediate_size")


def _dense(draw: Random) -> Fields:
    return _body(draw) | {"intermediate_size": 8 * draw.randint(1, 20)}


def _llama(draw: Random) -> Fields:
    body = _dense(draw)
    return (
        body
        | {"hidden_size": body["num_attention_heads"] * 16}
        | _flags(draw, "attention_bias", "mlp_bias")
    )


def _qwen2(draw: Random) -> Fields:
    body = _without(_dense(draw), "head_dim")
    return body | {"hidden_size": body["num_attention_heads"] * 16}


def _qwen3(draw: Random) -> Fields:
    return _dense(draw) | _flags(draw, "attention_bias")


def _deepseek(draw: Random) -> Fields:
    return (
        _latent(draw)
        | _experts(draw, "n_routed_experts")
        | {"intermediate_size": 8 * draw.randint(1, 20), "n_shared_experts": draw.randint(1, 3)}
        | {"first_k_dense_replace": draw.randint(0, 3), "n_group": 2, "topk_group": 1}
        | _flags(draw, "attention_bias")
    )


def _deepseek_v2(draw: Random) -> Fields:
    full_rank = draw.random() < 0.5
    fields = _deepseek(draw) | {"hidden_size": 128}
    return fields | ({"q_lora_rank": None} if full_rank else {})


def _glm4_moe_lite(draw: Random) -> Fields:
    fields = _without(_deepseek(draw), "first_k_dense_replace")
    words = _words(draw, fields["num_hidden_layers"], "dense", "sparse")
    return fields | {"mlp_layer_types": words}


def _deepseek_v32(draw: Random) -> Fields:
    return _deepseek(draw) | {"index_n_heads": 4, "index_head_dim": 16, "index_topk": 64}


def _glm_moe_dsa(draw: Random) -> Fields:
    fields = _deepseek_v32(draw)
    words = [
        "full",
        *(draw.choice(["full", "shared"]) for _ in range(fields["num_hidden_layers"] - 1)),
    ]
    return fields | {"indexer_types": words}


def _glm4_moe(draw: Random) -> Fields:
    return (
        _body(draw)
        | _experts(draw, "n_routed_experts")
        | {"intermediate_size": 8 * draw.randint(1, 20), "n_shared_experts": draw.randint(1, 3)}
        | {"first_k_dense_replace": draw.randint(0, 3), "n_group": 2, "topk_group": 1}
        | _flags(draw, "attention_bias", "use_qk_norm")
    )


def _solar_open(draw: Random) -> Fields:
    return _without(_glm4_moe(draw), "first_k_dense_replace", "use_qk_norm", "intermediate_size")


def _dots1(draw: Random) -> Fields:
    return _without(_glm4_moe(draw), "use_qk_norm")


def _gpt_oss(draw: Random) -> Fields:
    fields = _experts(draw, "num_local_experts", "intermediate_size")
    return _body(draw) | fields | {"sliding_window": 32}


def _llama4(draw: Random) -> Fields:
    return (
        _body(draw)
        | _experts(draw, "num_local_experts", "intermediate_size")
        | {"intermediate_size_mlp": 8 * draw.randint(1, 20), "attention_chunk_size": 64}
        | {"interleave_moe_layer_step": draw.randint(1, 2)}
        | _flags(draw, "attention_bias")
    )


def _minimax_m2(draw: Random) -> Fields:
    return _body(draw) | _experts(draw, "num_local_experts", "intermediate_size")


def _minimax_m3(draw: Random) -> Fields:
    body = _body(draw)
    layers = body["num_hidden_layers"]
    return (
        body
        | _experts(draw, "num_local_experts", "intermediate_size")
        | {"dense_intermediate_size": 8 * draw.randint(1, 20), "shared_intermediate_size": 40}
        | {"moe_layer_freq": [draw.randint(0, 1) for _ in range(layers - 1)] + [1]}
        | {
            "sparse_attention_config": {
                "sparse_attention_freq": [0, 1] * (layers // 2) + [0] * (layers % 2),
                "sparse_index_dim": 16,
                "sparse_num_index_heads": body["num_key_value_heads"],
                "sparse_topk_blocks": 2,
                "sparse_block_size": 16,
            }
        }
    )


def _minimax(draw: Random) -> Fields:
    body = _body(draw)
    words = _words(draw, body["num_hidden_layers"], *HYBRID)
    return body | _experts(draw, "num_local_experts", "intermediate_size") | {"layer_types": words}


def _nemotron_h(draw: Random) -> Fields:
    body = _body(draw, tied=False)
    pattern = _words(draw, body["num_hidden_layers"], "M", "*", "E", "-")
    return (
        body
        | _experts(draw, "n_routed_experts")
        | {"hybrid_override_pattern": "".join(pattern), "intermediate_size": 88}
        | {"n_shared_experts": 1, "moe_shared_expert_intermediate_size": 8 * draw.randint(1, 9)}
        | {"moe_latent_size": draw.choice([None, 24]), "mamba_num_heads": 2 * draw.randint(1, 4)}
        | {"mamba_head_dim": 8, "n_groups": 2, "ssm_state_size": 16, "conv_kernel": 4, "expand": 2}
        | _flags(draw, "use_conv_bias")
    )


def _cohere2_moe(draw: Random) -> Fields:
    return (
        _body(draw)
        | _experts(draw, "num_experts", "intermediate_size")
        | {"num_shared_experts": draw.randint(0, 3), "first_k_dense_replace": draw.randint(0, 3)}
        | {"prefix_dense_intermediate_size": 8 * draw.randint(1, 9), "sliding_window": 32}
        | _flags(draw, "attention_bias")
    )


def _olmoe(draw: Random) -> Fields:
    body = _without(_body(draw), "head_dim")
    return (
        body
        | {"hidden_size": body["num_attention_heads"] * 16}
        | _experts(draw, "num_experts", "intermediate_size")
        | _flags(draw, "attention_bias")
    )


def _ernie(draw: Random) -> Fields:
    body = _body(draw)
    return (
        body
        | _experts(draw, "moe_num_experts", top_k="moe_k")
        | {"moe_num_shared_experts": draw.randint(1, 3), "intermediate_size": 72}
        | {"moe_layer_start_index": draw.randint(0, 2), "moe_layer_interval": draw.randint(1, 2)}
        | {"moe_layer_end_index": body["num_hidden_layers"] - 2}
    )


def _granite(draw: Random) -> Fields:
    body = _without(_body(draw), "head_dim")
    return (
        body
        | {"hidden_size": body["num_attention_heads"] * 16}
        | _experts(draw, "num_local_experts", "intermediate_size")
        | _flags(draw, "attention_bias")
    )


def _granite_shared(draw: Random) -> Fields:
    return _granite(draw) | {"shared_intermediate_size": 8 * draw.randint(0, 9)}


def _granite_hybrid(draw: Random) -> Fields:
    fields = _granite_shared(draw) | {"shared_intermediate_size": 8 * draw.randint(1, 9)}
    heads = draw.choice([2, 4])
    return (
        fields
        | {"layer_types": _words(draw, fields["num_hidden_layers"], "mamba", "attention")}
        | {"mamba_n_heads": heads, "mamba_d_head": 2 * fields["hidden_size"] // heads}
        | {"mamba_expand": 2, "mamba_n_groups": 1, "mamba_d_state": 16, "mamba_d_conv": 4}
        | {"num_local_experts": draw.choice([0, 8])}
        | _flags(draw, "mamba_conv_bias", "mamba_proj_bias")
    )


def _hunyuan(draw: Random) -> Fields:
    return (
        _body(draw)
        | _experts(draw, "num_experts", "intermediate_size", "moe_topk")
        | _flags(draw, "attention_bias")
    )


def _hy_v3(draw: Random) -> Fields:
    return (
        _body(draw)
        | _experts(draw, "num_experts")
        | {"num_shared_experts": draw.randint(1, 3), "intermediate_size": 8 * draw.randint(1, 9)}
        | _flags(draw, "attention_bias")
    )


def _exaone(draw: Random) -> Fields:
    body = _body(draw)
    return (
        body
        | _experts(draw, "num_experts")
        | {"num_shared_experts": draw.randint(1, 3), "intermediate_size": 8 * draw.randint(1, 9)}
        | {"first_k_dense_replace": draw.randint(0, 3), "sliding_window": 32}
        | {"layer_types": _words(draw, body["num_hidden_layers"], *SLIDING)}
    )


def _afmoe(draw: Random) -> Fields:
    return (
        _body(draw)
        | _experts(draw, "num_experts")
        | {"num_shared_experts": draw.randint(1, 3), "intermediate_size": 8 * draw.randint(1, 9)}
        | {"num_dense_layers": draw.randint(0, 3), "sliding_window": 32}
    )


def _lfm2(draw: Random) -> Fields:
    body = _without(_body(draw), "head_dim")
    return (
        body
        | {"hidden_size": body["num_attention_heads"] * 16, "conv_L_cache": 3}
        | _experts(draw, "num_experts")
        | {"num_dense_layers": draw.randint(0, 3), "intermediate_size": 8 * draw.randint(1, 9)}
        | {"layer_types": _words(draw, body["num_hidden_layers"], "conv", "full_attention")}
        | _flags(draw, "conv_bias")
    )


def _jamba(draw: Random) -> Fields:
    body = _without(_body(draw), "head_dim")
    return (
        body
        | {"hidden_size": body["num_attention_heads"] * 16}
        | _experts(draw, "num_experts", "intermediate_size")
        | {"expert_layer_period": 2, "expert_layer_offset": draw.randint(0, 1)}
        | {"attn_layer_period": 4, "attn_layer_offset": draw.randint(0, 3)}
        | {"mamba_d_state": 8, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_dt_rank": 6}
        | _flags(draw, "mamba_conv_bias", "mamba_proj_bias")
    )


def _bailing_hybrid(draw: Random) -> Fields:
    return (
        _latent(draw)
        | _experts(draw, "num_experts", top_k="num_experts_per_token")
        | {"num_shared_experts": draw.randint(1, 3), "intermediate_size": 8 * draw.randint(1, 9)}
        | {"first_k_dense_replace": draw.randint(0, 3), "num_expert_group": 2, "topk_group": 1}
        | {"short_conv_kernel_size": 4, "layer_group_size": draw.randint(2, 4), "head_dim": 16}
        | {"q_lora_rank": draw.choice([None, 24]), "tie_word_embeddings": False}
    )


def _kimi_linear(draw: Random) -> Fields:
    fields = _latent(draw) | {"tie_word_embeddings": False}
    layers = list(range(1, fields["num_hidden_layers"] + 1))
    full = sorted(draw.sample(layers, 2))
    return (
        fields
        | _experts(draw, "num_experts", top_k="num_experts_per_token")
        | {"num_shared_experts": draw.randint(1, 3), "intermediate_size": 8 * draw.randint(1, 9)}
        | {"first_k_dense_replace": draw.randint(0, 3), "q_lora_rank": draw.choice([None, 24])}
        | {
            "linear_attn_config": {
                "full_attn_layers": full,
                "kda_layers": [layer for layer in layers if layer not in full],
                "num_heads": 2,
                "head_dim": 16,
                "short_conv_kernel_size": 4,
            }
        }
    )


def _mimo_v2(draw: Random) -> Fields:
    body = _body(draw) | {"num_key_value_heads": 2, "num_attention_heads": 8}
    layers = body["num_hidden_layers"]
    return (
        body
        | _experts(draw, "n_routed_experts")
        | {"v_head_dim": 24, "intermediate_size": 8 * draw.randint(1, 9), "sliding_window": 32}
        | {"layer_types": _words(draw, layers, *SLIDING)}
        | {"mlp_layer_types": _words(draw, layers, "dense", "sparse")}
        | _flags(draw, "attention_bias")
    )


def _gemma4(draw: Random) -> Fields:
    body = _body(draw)
    words = _words(draw, body["num_hidden_layers"] - 1, *SLIDING)
    sparse = draw.random() < 0.7
    experts = _experts(draw, "num_experts", top_k="top_k_experts") if sparse else {}
    return (
        body
        | experts
        | {"enable_moe_block": sparse, "intermediate_size": 8 * draw.randint(1, 9)}
        | {"layer_types": [*words, "full_attention"], "sliding_window": 32}
        | {"global_head_dim": 32, "hidden_size_per_layer_input": 0}
        | {"attention_k_eq_v": draw.random() < 0.5, "num_global_key_value_heads": 1}
    )


def _laguna(draw: Random) -> Fields:
    body = _body(draw)
    layers, heads = body["num_hidden_layers"], body["num_attention_heads"]
    return (
        body
        | _experts(draw, "num_experts")
        | {"shared_expert_intermediate_size": 8 * draw.randint(1, 9), "intermediate_size": 72}
        | {
            "num_attention_heads_per_layer": [
                draw.choice([heads, 2 * heads]) for _ in range(layers)
            ]
        }
        | {"layer_types": _words(draw, layers, *SLIDING), "sliding_window": 32}
        | _flags(draw, "attention_bias")
    )


def _aria(draw: Random) -> Fields:
    return (
        _body(draw)
        | _experts(draw, "moe_num_experts", "intermediate_size", "moe_topk")
        | {"moe_num_shared_experts": draw.randint(1, 3)}
        | _flags(draw, "attention_bias")
    )


HYBRID = ("linear_attention", "full_attention")
SLIDING = ("sliding_attention", "full_attention")

MAKERS: dict[str, Maker] = {
    "afmoe": _afmoe,
    "aria_text": _aria,
    "bailing_hybrid": _bailing_hybrid,
    "cohere2_moe": _cohere2_moe,
    "deepseek_v2": _deepseek_v2,
    "deepseek_v3": _deepseek,
    "deepseek_v32": _deepseek_v32,
    "dots1": _dots1,
    "ernie4_5_moe": _ernie,
    "exaone_moe": _exaone,
    "flex_olmo": _olmoe,
    "gemma4_text": _gemma4,
    "glm4_moe": _glm4_moe,
    "glm4_moe_lite": _glm4_moe_lite,
    "glm_moe_dsa": _glm_moe_dsa,
    "gpt_oss": _gpt_oss,
    "granitemoe": _granite,
    "granitemoehybrid": _granite_hybrid,
    "granitemoeshared": _granite_shared,
    "hunyuan_v1_moe": _hunyuan,
    "hy_v3": _hy_v3,
    "jamba": _jamba,
    "kimi_linear": _kimi_linear,
    "laguna": _laguna,
    "lfm2_moe": _lfm2,
    "llama": _llama,
    "llama4_text": _llama4,
    "mimo_v2_flash": _mimo_v2,
    "minimax": _minimax,
    "minimax_m2": _minimax_m2,
    "minimax_m3_vl_text": _minimax_m3,
    "mistral": _dense,
    "mixtral": _mixtral,
    "nemotron_h": _nemotron_h,
    "olmoe": _olmoe,
    "phimoe": _phimoe,
    "qwen2": _qwen2,
    "qwen2_moe": _qwen2_moe,
    "qwen3": _qwen3,
    "qwen3_5_moe_text": _qwen3_5_moe,
    "qwen3_5_text": _qwen3_5,
    "qwen3_moe": _qwen3_moe,
    "qwen3_next": _qwen3_next,
    "solar_open": _solar_open,
}
"""By ``model_type``."""


def random_config(model_type: str, seed: int) -> Fields:
    """Return the fields of a config.json."""
    fields = MAKERS[model_type](Random(f"{model_type} {seed}"))
    return {"model_type": model_type} | fields
