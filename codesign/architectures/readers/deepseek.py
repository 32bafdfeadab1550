"""DeepSeek-V2, V3 and R1, and Kimi-K2: latent attention, dense first layers, grouped routing."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, first_dense, sparse_and_dense
from codesign.architectures.token_mixers import latent
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(
    experts=("n_routed_experts",), shared_experts=("n_shared_experts",), groups=True
)


def read(config: Config) -> Architecture:
    """Read a config.json of DeepSeek-V2, V3, R1 or Kimi-K2."""
    return assemble(
        config,
        latent(config),
        sparse_and_dense(config, EXPERTS, first_dense(config)),
    )


FAMILY = Family(
    model_types=("deepseek_v2", "deepseek_v3", "kimi_k2", "kimi_k25"),
    read=read,
)
