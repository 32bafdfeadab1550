"""What is served: batch sizes with their shares of generated tokens, and the context."""

import re
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from codesign.spec.base import Count, Items, PositiveCount, Seconds, Spec


class BatchShare(Spec):
    """Sequences decoded together per replica, and the share of tokens generated so."""

    batch_size: PositiveCount
    share: float = Field(default=1.0, gt=0)


_SHARE = re.compile(r"\s*(\d+)\s*(?::\s*(\d+\.?\d*|\.\d+)\s*)?")


def parse_batch_mix(written: object) -> object:
    """Read ``32`` or ``8:0.3,32:0.7``.

    Examples
    --------
    >>> parse_batch_mix("8:0.3,32:0.7")
    [{'batch_size': 8, 'share': 0.3}, {'batch_size': 32, 'share': 0.7}]
    """
    if isinstance(written, int) and not isinstance(written, bool):
        written = str(written)
    if not isinstance(written, str):
        return written
    shares = []
    for part in written.split(","):
        match = _SHARE.fullmatch(part)
        if match is None:
            raise ValueError("write a batch size, or a mix such as 8:0.3,32:0.7")
        batch_size, share = match.groups()
        shares.append({"batch_size": int(batch_size), "share": float(share or 1.0)})
    if len(shares) > 1 and written.count(":") != len(shares):
        raise ValueError("every batch size of a mix needs its share, such as 8:0.3,32:0.7")
    return shares


BatchMix = Annotated[
    Items[BatchShare],
    BeforeValidator(parse_batch_mix),
    WithJsonSchema({"type": ["integer", "string", "array"], "examples": [32, "8:0.3,32:0.7"]}),
]


class Workload(Spec):
    """The serving load the model is designed for.

    Parameters
    ----------
    target_batch_size : BatchMix
        Sequences per replica, or a mix by share of generated tokens.
    context : int
        Cached tokens per sequence [token].
    tpot_limit : quantity, optional
        Time per token that counts as goodput [s].
    """

    target_batch_size: BatchMix = Field(min_length=1)
    context: Count = 4096
    tpot_limit: Seconds | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        total = sum(entry.share for entry in self.target_batch_size)
        if abs(total - 1) > 1e-6:
            raise ValueError(f"the shares of the mix must add up to 1, not {total:g}")
        sizes = [entry.batch_size for entry in self.target_batch_size]
        if len(set(sizes)) != len(sizes):
            raise ValueError("a batch size stands in the mix twice")
        return self
