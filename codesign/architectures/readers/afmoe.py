"""Trinity (Arcee, AFMoE): gated attention, four norms per layer, a correction per expert counts.

The correction bias of the router is a parameter of its class, not a buffer, so it is counted.
"""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble
from codesign.architectures.feed_forward import ExpertFields, first_dense, sparse_and_dense
from codesign.architectures.token_mixers import biases, every, grouped_query, layer_windows
from codesign.spec.architecture import Architecture

EXPERTS = ExpertFields(
    experts=("num_experts",),
    shared_experts=("num_shared_experts",),
    router_bias=True,
)


def read(config: Config) -> Architecture:
    """Read an AFMoE config.json."""
    whole = every(config, config.integer("global_attn_every_n_layers", default=4))
    attention = grouped_query(
        config,
        layer_windows(config, [not sees_all for sees_all in whole]),
        same_heads=True,
        qk_norm=True,
        output_gate=True,
        **biases(config),
    )
    feed_forward = sparse_and_dense(config, EXPERTS, first_dense(config))
    return assemble(config, attention, feed_forward, block_norms=4)


FAMILY = Family(model_types=("afmoe",), read=read, experts=EXPERTS)
