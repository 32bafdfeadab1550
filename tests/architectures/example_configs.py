"""A config.json of every family, for tests that need one of each; random ones where they can be."""

from typing import Any

from tests.architectures.random_configs import MAKERS, random_config

DBRX: dict[str, Any] = {
    "model_type": "dbrx",
    "d_model": 64,
    "n_heads": 4,
    "n_layers": 3,
    "vocab_size": 300,
    "attn_config": {"kv_n_heads": 2},
    "ffn_config": {"ffn_hidden_size": 32, "moe_num_experts": 8, "moe_top_k": 2},
}
BAILING: dict[str, Any] = random_config("glm4_moe", 1) | {
    "model_type": "bailing_moe_v2",
    "num_experts": 16,
    "num_shared_experts": 1,
}
DEEPSEEK_MOE: dict[str, Any] = random_config("dots1", 1) | {"model_type": "deepseek"}
STEP: dict[str, Any] = {
    "model_type": "step3p5",
    "hidden_size": 128,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_nextn_predict_layers": 1,
    "num_attention_heads": 4,
    "num_attention_groups": 2,
    "head_dim": 16,
    "vocab_size": 300,
    "sliding_window": 32,
    "layer_types": ["full_attention", *["sliding_attention"] * 3, "full_attention"],
    "attention_other_setting": {
        "num_attention_heads": 6,
        "num_attention_groups": 2,
        "head_dim": 16,
    },
    "moe_layers_enum": "1,2,3",
    "moe_num_experts": 8,
    "moe_top_k": 2,
    "moe_intermediate_size": 24,
    "share_expert_dim": 24,
}
NAS_BLOCK: dict[str, Any] = {
    "attention": {"n_heads_in_group": 2, "no_op": False},
    "ffn": {"ffn_mult": 2.625, "no_op": False},
}
NAS: dict[str, Any] = {
    "model_type": "nemotron-nas",
    "hidden_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 300,
    "block_configs": [NAS_BLOCK, NAS_BLOCK | {"attention": {"no_op": True}}],
}
EXAMPLES: dict[str, dict[str, Any]] = {name: random_config(name, 1) for name in MAKERS} | {
    "dbrx": DBRX,
    "bailing_moe_v2": BAILING,
    "deepseek": DEEPSEEK_MOE,
    "step3p5": STEP,
    "nemotron-nas": NAS,
}
"""By ``model_type``: one for every family that can be read."""
