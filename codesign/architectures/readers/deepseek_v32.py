"""DeepSeek-V3.2 and GLM-5: latent attention over the tokens that a small index has chosen."""

from typing import Any

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import (
    first_dense,
    first_dense_fields,
    sparse_and_dense,
)
from codesign.architectures.readers.deepseek import EXPERTS
from codesign.architectures.token_mixers import latent, latent_fields, mixers_of, spread
from codesign.errors import UsageError
from codesign.spec.architecture import Architecture
from codesign.spec.attention import LatentAttention

INDEX_WORDS = {"full": False, "shared": True}


def read(config: Config) -> Architecture:
    """Read a config.json of DeepSeek-V3.2 or GLM-5."""
    feed_forward = sparse_and_dense(config, EXPERTS, first_dense(config))
    return assemble(config, _mixers(config), feed_forward)


def _mixers(config: Config) -> list[LatentAttention]:
    index = {
        "heads": config.integer("index_n_heads"),
        "head_dim": config.integer("index_head_dim"),
        "selected_tokens": config.integer("index_topk"),
    }
    shares = _shares(config)
    return [
        mixer
        for shared in (False, True)
        if shared in shares
        for mixer in latent(config, shares.count(shared), indexer=index | {"shared": shared})
    ]


def _shares(config: Config) -> list[bool]:
    """For each layer whether it uses the index of an earlier one."""
    words = config.words("indexer_types", INDEX_WORDS)
    if words:
        return [INDEX_WORDS[word] for word in words]
    if config.has("index_topk_pattern") or config.integer("index_topk_freq", default=1) > 1:
        raise config.missing("indexer_types")
    return [False] * config.layers


def write(architecture: Architecture) -> dict[str, Any]:
    """Return the fields of a config.json."""
    groups = mixers_of(architecture, LatentAttention)
    index = groups[0].indexer
    if index is None:
        raise UsageError(f"{architecture.name}: this family needs an index")
    layers = {"full": 0, "shared": 0}
    for mixer in groups:
        layers["shared" if mixer.indexer and mixer.indexer.shared else "full"] += mixer.layers
    words = [*spread({word: count for word, count in reversed(layers.items()) if count})][::-1]
    return (
        latent_fields(architecture)
        | {"index_n_heads": index.heads, "index_head_dim": index.head_dim}
        | {"index_topk": index.selected_tokens}
        | ({"indexer_types": words} if layers["shared"] else {})
        | EXPERTS.write(architecture)
        | first_dense_fields(architecture)
    )


FAMILY = Family(
    model_types=("deepseek_v32", "glm_moe_dsa"),
    read=read,
    write=write,
    experts=EXPERTS,
    classes={"deepseek_v32": "DeepseekV32ForCausalLM", "glm_moe_dsa": "GlmMoeDsaForCausalLM"},
)
