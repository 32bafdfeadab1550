"""Solar Open (Upstage): every layer sparse unless the file says otherwise."""

from codesign.architectures.config import Config
from codesign.architectures.family import Family, assemble, writer
from codesign.architectures.feed_forward import first_dense, sparse_and_dense
from codesign.architectures.readers.deepseek import EXPERTS
from codesign.architectures.token_mixers import grouped_query, grouped_query_fields
from codesign.spec.architecture import Architecture


def read(config: Config) -> Architecture:
    """Read a Solar Open config.json."""
    if config.flag("use_qk_norm", False):
        raise config.fault("use_qk_norm", "must be false: no class of this family has it", True)
    attention = grouped_query(config, qkv_bias=config.flag("attention_bias", False))
    feed_forward = sparse_and_dense(config, EXPERTS, first_dense(config, default=0))
    return assemble(config, attention, feed_forward)


FAMILY = Family(
    model_types=("solar_open",),
    read=read,
    write=writer(grouped_query_fields, EXPERTS.write),
    experts=EXPERTS,
    classes={"solar_open": "SolarOpenForCausalLM"},
)
