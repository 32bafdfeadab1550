"""What a GPU kernel does, judged by its name; the first rule that matches wins.

Shared experts cannot be told from other dense matrix products, and the activation between the two
expert products counts as such.
"""

import re
from functools import lru_cache
from typing import Final, Literal

Category = Literal[
    "communication", "routed_experts", "routed_overhead", "linear_attention", "attention",
    "norm_activation", "dense_gemm", "copies", "other",
]  # fmt: skip

CATEGORIES: Final[tuple[Category, ...]] = (
    "routed_experts", "routed_overhead", "attention", "linear_attention", "dense_gemm",
    "norm_activation", "communication", "other", "copies",
)  # fmt: skip
"""In the order they are shown."""

_RULES: Final[tuple[tuple[Category, str], ...]] = (
    ("copies", r"^mem(cpy|set)\b|^\[cuda mem(cpy|set)"),
    (
        "communication",
        r"nccl|rccl|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all|cross_device_reduce"
        r"|deep_?ep\b|nvshmem|one_?shot|two_?shot|multimem|quick_?reduce|custom_ar\b|sendrecv"
        r"|intranode|internode",
    ),
    (
        "routed_experts",
        r"fused_moe_kernel|marlin_moe|moe\w*_marlin|groupproblemshape|grouped_?gemm|group_gemm\b"
        r"|deep_gemm.*\(deep_gemm::gemmtype\)[1-5]|deep_gemm.*gemmtype::\w*grouped"
        r"|deep_gemm.*(grouped|masked)|bmm_\w*dynb|matmul_ogs|moe_?gemm|ck_moe|moe\w*gemm\w*kernel"
        r"|\bfmoe|moe_mxfp4|moe_wna16",
    ),
    (
        "routed_overhead",
        r"topk_?(gating|softmax|sigmoid)|grouped_topk|moe_fused_gate|moe_align|moe_sum"
        r"|(un)?permute|moe::|moe_\w+|expand(input|_?rows)|finalize\w*(moe|routing)|finalizekernel"
        r"|shuffle_rows|expert_(offset|map|count|first)|problem_sizes|group_gemm_starts"
        r"|routing(main|indices|kernel|custom|deepseek|renormalize|::)|_routing_|ep_(scatter|gather)"
        r"|count_and_sort_expert|sum_bitmatrix|_topk\b",
    ),
    (
        "linear_attention",
        r"delta_rule|gated_delta|gdn|\bkda\b|_kda_|mamba|selective_(scan|state)|\bssd_|_ssd_|ssm"
        r"|chunk_(fwd|scan|state|gla|local|scaled)|causal_conv1d|fused_recurrent|lightning_attn"
        r"|linear_attn|short_?conv|rwkv",
    ),
    (
        "attention",
        r"flash|fmha|attention|attn|paged|\bmla|_mla_|batch(decode|prefill)|reshape_and_cache"
        r"|concat_and_cache|kv_?(cache|buffer)|merge_state",
    ),
    (
        "norm_activation",
        r"norm|rsqrt|silu|gelu|swiglu|act_and_mul|activation|rotary|rope|quant|elementwise"
        r"|triton_(poi|red|per)_fused",
    ),
    (
        "dense_gemm",
        r"gemm|gemv|cutlass|nvjet|cublas|xmma|matmul|splitk|wvsplitk|cijk_|marlin|deep_gemm|\bmma_",
    ),
)
_COMPILED: Final = tuple((name, re.compile(rule)) for name, rule in _RULES)


@lru_cache(maxsize=1 << 14)
def category_of(name: str) -> Category:
    """Return what a kernel does.

    Examples
    --------
    >>> category_of("void cutlass::device_kernel<flash::FlashAttnFwdSm90<...> >(T1::Params)")
    'attention'
    >>> category_of("fused_moe_kernel"), category_of("vllm::moe::topkGating<8, 128>")
    ('routed_experts', 'routed_overhead')
    """
    lowered = name.lower()
    return next((found for found, rule in _COMPILED if rule.search(lowered)), "other")
