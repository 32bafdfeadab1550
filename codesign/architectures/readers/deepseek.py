"""Latent attention, dense first layers, grouped routing: DeepSeek-V2, V3 and R1, Kimi-K2.

GLM-4.7-Flash (glm4_moe_lite) and Mistral Small 4 are built of the same parts.
"""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble, writer
from codesign.architectures.feed_forward import (
    GROUPS,
    ExpertFields,
    first_dense,
    first_dense_fields,
    sparse_and_dense,
)
from codesign.architectures.token_mixers import latent, latent_fields
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(
    experts=("n_routed_experts",), shared_experts=("n_shared_experts",), groups=GROUPS
)


def read(config: Config) -> Architecture:
    """Read a config.json of DeepSeek-V2, V3, R1 or Kimi-K2."""
    return assemble(config, latent(config), sparse_and_dense(config, EXPERTS, first_dense(config)))


FAMILY = Family(
    model_types=(
        "deepseek_v2",
        "deepseek_v3",
        "glm4_moe_lite",
        "kimi_k2",
        "kimi_k25",
        "mistral4",
    ),
    read=read,
    write=writer(latent_fields, EXPERTS.write, first_dense_fields),
    experts=EXPERTS,
    classes={"deepseek_v3": "DeepseekV3ForCausalLM", "deepseek_v2": "DeepseekV2ForCausalLM"},
)
