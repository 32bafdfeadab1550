"""Number formats of weights and caches, and what one element of each takes in memory."""

from typing import Final, Literal, get_args

from codesign.spec.base import Spec

Dtype = Literal[
    "fp32",
    "bf16",
    "fp16",
    "fp8",
    "fp8_block",
    "mxfp8",
    "int8",
    "mxfp4",
    "nvfp4",
    "int4",
    "int4_g32",
]
Component = Literal["routed_experts", "shared_experts", "attention", "dense"]
DTYPES: Final[tuple[str, ...]] = get_args(Dtype)

BYTES_PER_ELEMENT: Final[dict[str, float]] = {
    "fp32": 4.0,
    "bf16": 2.0,
    "fp16": 2.0,
    "fp8": 1.0,  # one scale per tensor or channel: below a thousandth
    "fp8_block": 1.0 + 4 / 128**2,  # an fp32 scale per 128 x 128 block (DeepSeek-V3 report, 3.3)
    "mxfp8": 1.0 + 1 / 32,  # an 8-bit exponent per 32 elements (OCP MX specification 1.0)
    "int8": 1.0,
    "mxfp4": 0.5 + 1 / 32,  # an 8-bit exponent per 32 elements (OCP MX specification 1.0)
    "nvfp4": 0.5 + 1 / 16,  # an fp8 scale per 16 elements
    "int4": 0.5 + 2 / 128,  # a bf16 scale per group of 128 (GPTQ, AWQ)
    "int4_g32": 0.5 + 2 / 32,  # a bf16 scale per group of 32 (Kimi-K2.5)
}
"""Bytes per weight element, scales included."""


class Precision(Spec):
    """The number formats of one checkpoint.

    Parameters
    ----------
    weights : Dtype
        Every linear layer that no other field names.
    routed_experts, shared_experts, attention, dense : Dtype, optional
        Where they differ from `weights`.
    embeddings : Dtype
        Both embedding tables, the LM head, routers and norms.
    kv_cache : Dtype
        What serving keeps per token.
    """

    weights: Dtype = "bf16"
    routed_experts: Dtype | None = None
    shared_experts: Dtype | None = None
    attention: Dtype | None = None
    dense: Dtype | None = None
    embeddings: Dtype = "bf16"
    kv_cache: Dtype = "bf16"

    def of(
        self, component: Literal["routed_experts", "shared_experts", "attention", "dense"]
    ) -> Dtype:
        """Return the format of one component's weights."""
        own: Dtype | None = getattr(self, component)
        return own or self.weights
