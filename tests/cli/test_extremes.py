"""The ends of every axis through the command line: finite answers, or one message."""

import json
import math
from typing import Any

import pytest

from tests.cli.command_line import run

ENDS = [
    "predict --hw h100 --target-bs 65536 --context 10000000 --gpus 1024 --draft-tokens 0,64",
    "predict --hw h100 --target-bs 1,65536 --context 0 --gpus 1 --draft-tokens 0,64",
    "predict --hw h100 --target-bs 1 --set experts=1 --set top_k=1 --draft-tokens 0,64",
    "predict --hw h100 --target-bs 1,65536 --set experts=4096 --set top_k=4096 --gpus 64",
    "predict --hw h100 --target-bs 1,65536 --set experts=4096 --set top_k=1 --gpus 1024 --ep 1024",
    "predict --hw h100 --target-bs 1 --set experts=100000000 --set top_k=1 --set expert_width=1 "
    "--gpus 1 --draft-tokens 1",
    "predict --hw h100 --target-bs 32 --acceptance constant:0 --draft-tokens 64",
    "predict --hw h100 --target-bs 32 --acceptance constant:1 --draft-tokens 64",
    "predict --hw h100 --target-bs 100000000 --context 1000000000000000 --gpus 1024 "
    "--draft-tokens 1",
    "predict --hw h100 --arch llama-3.1-8b --target-bs 65536 --context 10000000 --gpus 1024 "
    "--draft-tokens 64",
    "predict --hw h100 --arch deepseek-v3 --target-bs 32 --gpus 1024 --set experts=100000 "
    "--set expert_width=8 --draft-tokens 1",
    "optimize --hw h100 --target-bs 1 --context 0 --experts 1 --top-k 1 --shared-experts 0 "
    "--draft-tokens 0 --draws 2",
    "optimize --hw h100 --target-bs 32 --experts 4096 --top-k 1,4096 --draft-tokens 0,64 --draws 0",
    "optimize --hw h100 --target-bs 1:.5,65536:.5 --experts 128 --top-k 8 --draft-tokens 0,64 "
    "--gpus 8 --draws 0 --no-constraint memory",
]


def every_number(value: Any) -> list[float]:
    """All numbers in plain data."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [number for each in inner for number in every_number(each)]
    return [float(value)] if isinstance(value, int | float) else []


@pytest.mark.parametrize("question", ENDS)
def test_answered(question: str) -> None:
    done = run(*question.split(), "--format", "json")
    assert (done.status, done.err) == (0, "")
    assert all(math.isfinite(number) for number in every_number(json.loads(done.out)))


REFUSED = [
    ("--target-bs 0", "--target-bs: must be at least 1 (0)"),
    ("--target-bs 1000000000", "--target-bs: must be at most 100,000,000, not '1000000000'"),
    ("--target-bs 1 --context -1", "--context: input should be greater than or equal to 0 (-1)"),
    ("--target-bs 1 --gpus 0", "--gpus: input should be greater than or equal to 1 (0)"),
    ("--target-bs 1 --gpus 8 --tp 3", "tensor_parallel 3 does not divide 8 gpus; set --gpus"),
    ("--target-bs 1 --draft-tokens 100000000",
     "--draft-tokens: a draft has at most 1,024 tokens, not 100,000,000 ('100000000')"),
    ("--target-bs 1 --context 10000000",
     "Qwen3-30B-A3B does not fit 1024 GPUs of h100-sxm at batch size 1 and context 10000000: "
     "tensor parallelism cuts a cache over its key-value heads at most; lower batch size or "
     "context, spread sequences with --attention-dp, choose another dtype, or set --gpus "
     "(optimize: with --no-constraint memory)"),
    ("--target-bs 1 --sd-overhead 1e308s",
     "--sd-overhead: must be 0, or between 1e-30 and 1e+30 in SI units ('1e308s')"),
    ("--target-bs 1 --set experts=1000000000",
     "set: moe.experts: input should be less than or equal to 100000000 (1000000000)"),
]  # fmt: skip


@pytest.mark.parametrize(("flags", "message"), REFUSED)
def test_refused_with_one_message(flags: str, message: str) -> None:
    done = run("predict", "--hw", "h100", *flags.split())
    assert (done.status, done.out, done.err) == (2, "", f"error: {message}\n")
