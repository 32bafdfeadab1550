"""Number formats and their bytes."""

import pytest

from codesign.spec.precision import BYTES_PER_ELEMENT, DTYPES, Dtype, Precision


@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        ("fp32", 32),
        ("bf16", 16),
        ("fp16", 16),
        ("fp8", 8),
        ("int8", 8),
        ("fp8_block", 8 + 32 / 128**2),  # DeepSeek-V3 report, 3.3: fp32 scale per 128 x 128
        ("mxfp8", 8 + 8 / 32),  # OCP MX 1.0: 8-bit exponent per 32 elements
        ("mxfp4", 4 + 8 / 32),  # OCP MX 1.0: 4.25 bits, as gpt-oss states
        ("nvfp4", 4 + 8 / 16),  # NVIDIA: fp8 scale per 16 elements, 4.5 bits
        ("int4", 4 + 16 / 128),  # GPTQ, AWQ: 16-bit scale per group of 128
        ("int4_g32", 4 + 16 / 32),
    ],
)
def test_bytes_per_element(dtype: str, bits: float) -> None:
    assert BYTES_PER_ELEMENT[dtype] == pytest.approx(bits / 8)


def test_every_format_has_a_size() -> None:
    assert set(BYTES_PER_ELEMENT) == set(DTYPES)


def test_components_take_the_weights_format_unless_they_have_their_own() -> None:
    precision = Precision(weights="mxfp4", attention="bf16")
    found: dict[str, Dtype] = {
        name: precision.of(name)
        for name in ("routed_experts", "shared_experts", "attention", "dense")
    }
    assert found == {
        "routed_experts": "mxfp4", "shared_experts": "mxfp4", "attention": "bf16", "dense": "mxfp4",
    }  # fmt: skip
    assert (precision.embeddings, precision.kv_cache) == ("bf16", "bf16")
