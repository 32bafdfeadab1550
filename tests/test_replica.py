"""How a model is cut over GPUs."""

from typing import Any

import pytest

from codesign.architectures import load_architecture
from codesign.errors import UsageError
from codesign.hardware import load_hardware
from codesign.replica import Replica, resolve_replica
from codesign.spec.hardware import Deployment

H100 = load_hardware("h100")


def replica(gpus: int, arch: str = "qwen3-30b-a3b", **deployment: Any) -> Replica:
    return resolve_replica(H100, Deployment.from_data(deployment), load_architecture(arch), gpus)


@pytest.mark.parametrize(
    ("gpus", "deployment", "tensor", "expert", "data", "expert_tensor"),
    [
        # model.md, section 3: tp = gpus, ep = 1 unless said otherwise.
        (1, {}, 1, 1, 1, 1),
        (8, {}, 8, 1, 1, 8),
        (8, {"expert_parallel": 8}, 8, 8, 1, 1),
        (8, {"tensor_parallel": 8, "expert_parallel": 8}, 8, 8, 1, 1),
        (8, {"tensor_parallel": 2, "expert_parallel": 4}, 2, 4, 4, 2),
        (8, {"attention_dp": True, "expert_parallel": 8}, 1, 8, 8, 1),
        (8, {"attention_dp": True}, 1, 1, 8, 8),
    ],
)
def test_degrees(
    gpus: int, deployment: dict[str, Any], tensor: int, expert: int, data: int, expert_tensor: int
) -> None:
    found = replica(gpus, **deployment)
    assert (found.tensor_parallel, found.expert_parallel) == (tensor, expert)
    assert (found.data_parallel, found.expert_tensor_parallel) == (data, expert_tensor)


@pytest.mark.parametrize(
    ("gpus", "deployment", "message"),
    [
        (4, {"tensor_parallel": 8}, "tensor_parallel 8 does not divide 4 gpus; set --gpus"),
        (8, {"tensor_parallel": 3}, "tensor_parallel 3 does not divide 8 gpus; set --gpus"),
        (8, {"expert_parallel": 5}, "expert_parallel 5 does not divide 8 gpus; set --gpus"),
    ],
)
def test_degrees_that_do_not_divide(gpus: int, deployment: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        replica(gpus, **deployment)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("deployment", "step"),
    [
        # product.md: multiples of 64 (tp/ep), of 128 (tp/ep) for block-quantised types.
        ({}, 64 * 8),
        ({"expert_parallel": 8}, 64),
        ({"expert_parallel": 2}, 64 * 4),
        ({"dtype": "fp8"}, 64 * 8),
        ({"dtype": "fp8_block", "expert_parallel": 8}, 128),
        ({"dtype": "int4", "expert_parallel": 8}, 128),
        ({"dtype": "int4_g32", "expert_parallel": 8}, 128),
        ({"dtype": "mxfp4", "expert_parallel": 8}, 128),
        ({"dtype": "mxfp8", "expert_parallel": 8}, 128),
        ({"dtype": "nvfp4", "expert_parallel": 4}, 128 * 2),
    ],
)
def test_step_of_expert_widths(deployment: dict[str, Any], step: int) -> None:
    assert replica(8, **deployment).width_step == step


def test_the_checkpoints_own_formats_are_the_default() -> None:
    # gpt-oss is published with mxfp4 experts and bf16 attention.
    precision = replica(1, "gpt-oss-20b").precision
    assert (precision.of("routed_experts"), precision.of("attention")) == ("mxfp4", "bf16")


def test_a_dtype_is_that_of_all_linear_weights_but_not_of_embeddings_and_cache() -> None:
    precision = replica(1, "gpt-oss-20b", dtype="fp8").precision
    components = ("routed_experts", "shared_experts", "attention", "dense")
    assert {precision.of(name) for name in components} == {"fp8"}  # type: ignore[arg-type]
    assert (precision.embeddings, precision.kv_cache) == ("bf16", "bf16")


def test_usable_memory() -> None:
    assert replica(1).memory_limit == pytest.approx(0.9 * 80 * 2**30)
    assert replica(1, memory_utilisation=0.5).memory_limit == pytest.approx(0.5 * 80 * 2**30)


def test_only_several_gpus_have_an_interconnect() -> None:
    assert replica(1).interconnect is None
    assert replica(2).interconnect is not None


def test_every_constant_is_among_the_assumptions() -> None:
    found = replica(8)
    for kind, dtype in found.kernels:
        assert any(line.startswith(f"{kind} {dtype} (") for line in found.assumptions)
    assert any(line.startswith("all-reduce: ") for line in found.assumptions)


def test_a_datasheet_profile_says_so() -> None:
    # Issue 2: a profile with datasheet numbers only says so in every answer.
    mi300x = load_hardware("mi300x")
    found = resolve_replica(mi300x, Deployment(), load_architecture("qwen3-30b-a3b"), 1)
    assert found.assumptions[0].startswith("mi300x is a datasheet-only profile: ")
    assert all("(not measured" in found.assumptions[place + 1] for place in range(4))
    assert not any("datasheet-only" in line for line in replica(1).assumptions)
