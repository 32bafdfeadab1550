"""What serving keeps of a sequence: cached tokens, states of fixed size."""

from dataclasses import dataclass

from codesign.spec.architecture import Architecture
from codesign.spec.precision import BYTES_PER_ELEMENT


@dataclass(frozen=True)
class CacheSizes:
    """Caches of one sequence, all layers together, before any sharding.

    Parameters
    ----------
    bytes_per_token : float
        What each further token of a long context adds [B].
    bytes_per_sequence : float
        What a long sequence holds whatever its length: states, and windows that are full [B].
    """

    bytes_per_token: float
    bytes_per_sequence: float


def cache_sizes(architecture: Architecture) -> CacheSizes:
    """Return what one sequence keeps, in the checkpoint's own cache format.

    Recurrent states are counted in the cache format too; engines may keep them in fp32.

    Examples
    --------
    Half the layers of gpt-oss-20b see 128 tokens only:

    >>> from codesign.architectures import load_architecture
    >>> cache_sizes(load_architecture("gpt-oss-20b"))
    CacheSizes(bytes_per_token=24576.0, bytes_per_sequence=3145728.0)
    """
    growing, fixed = 0, 0
    for group in architecture.attention:
        per_token = group.layers * group.cache_elements_per_token
        fixed += group.layers * group.state_elements_per_sequence
        if group.window is None:
            growing += per_token
        else:
            fixed += per_token * group.window
    size = BYTES_PER_ELEMENT[architecture.precision.kv_cache]
    return CacheSizes(growing * size, fixed * size)
