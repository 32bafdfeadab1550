"""What a kernel is taken for."""

import pytest

from codesign.calibration.kernel_names import category_of

KNOWN = {
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "communication",
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(...)": "communication",
    "deep_ep::internode_ll::dispatch<true, 3>": "communication",
    "fused_moe_kernel": "routed_experts",
    "fused_moe_kernel_gptq_awq": "routed_experts",
    "void marlin_moe_wna16::Marlin<...>": "routed_experts",
    "cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<...> >":
        "routed_experts",
    "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u, (deep_gemm::GemmType)1>":
        "routed_experts",
    "bmm_Bfloat16_Fp8Fp8_Fp32_t128x64x128u2_s6_dynB_sm100": "routed_experts",
    "_matmul_ogs_NNT_bf16xbf16xmxfp4_32x256x128x1_swiglu": "routed_experts",
    "ck_moe_gemm": "routed_experts",
    "void vllm::moe::topkGating<8, 128, 4, 16, 32, int>(...)": "routed_overhead",
    "void vllm::moe::moe_align_block_size_kernel<int>(...)": "routed_overhead",
    "void vllm::moe::moe_sum_vec_kernel<c10::BFloat16, 8>(...)": "routed_overhead",
    "moe::dev::finalize::finalizeKernelVecLoad<...>": "routed_overhead",
    "void vllm::moe::grouped_topk_fused_kernel<float>": "routed_overhead",
    "fused_recurrent_gated_delta_rule_fwd_kernel": "linear_attention",
    "_selective_scan_update_kernel": "linear_attention",
    "_causal_conv1d_update_kernel": "linear_attention",
    "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<2> > >":
        "attention",
    "fmhaSm100aKernel_QkvBfloat16OBfloat16HQk576HV512": "attention",
    "void flashinfer::BatchDecodeWithPagedKVCacheKernel<...>": "attention",
    "void vllm::reshape_and_cache_flash_kernel<...>": "attention",
    "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(...)": "norm_activation",
    "void vllm::act_and_mul_kernel<c10::BFloat16, &(vllm::silu_kernel<...>), true>(...)":
        "norm_activation",
    "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(...)": "norm_activation",
    "triton_poi_fused_cat_3": "norm_activation",
    "nvjet_tst_64x8_64x16_4x1_v_bz_TNT": "dense_gemm",
    "void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u, 4096u, (deep_gemm::GemmType)0>": "dense_gemm",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64": "dense_gemm",
    "void gemv2T_kernel_val<int, int, __nv_bfloat16>": "dense_gemm",
    "void at::native::vectorized_gather_kernel<16, long>": "other",
    "Memcpy DtoD (Device -> Device)": "copies",
    "Memset (Device)": "copies",
}  # fmt: skip


@pytest.mark.parametrize(("name", "category"), KNOWN.items())
def test_kernel_names(name: str, category: str) -> None:
    assert category_of(name) == category
