"""No combination of flags is a bug: random questions end in an answer, or in one message."""

import json
import random
from pathlib import Path

import pytest

from codesign.architectures import list_architectures
from codesign.hardware import list_hardware
from tests.cli.command_line import run

SERVING = {
    "--context": ["0", "1", "512", "4096", "131072"],
    "--gpus": ["1", "2", "8", "16", "64"],
    "--ep": ["1", "2", "8"],
    "--tp": ["1", "4", "8"],
    "--dtype": ["fp8", "fp8_block", "int4", "nvfp4", "mxfp8", "fp32", "int4_g32"],
    "--backend": ["vllm", "sglang", "trtllm"],
    "--routing": ["own", "generic", "independent", "uniform"],
    "--draft": [
        "eagle", "mtp", "fraction:0.05", "fraction:0", "eagle,parallel", "mtp,parallel",
        "model:qwen3-0.6b", "model:deepseek-v2-lite", "model:qwen3-30b-a3b,parallel",
    ],
    "--acceptance": ["constant:0", "constant:1", "decay:.7,.9", "positions:0", "positions:1,1,0"],
    "--host-time": ["0 s", "1 ms", "2 s"],
    "--sd-overhead": ["0 s", "3 ms"],
    "--price": ["2 USD/h"],
    "--train-tokens": ["1", "1T", "1e18"],
    "--draft-tokens": ["0", "3", "0:3", "1,64"],
}  # fmt: skip
SEARCH = {
    "--expert-width": ["iso_active", "iso_total", "fixed"],
    "--objective": [
        "sd_speedup", "loss_difference", "total_params", "cost", "sd_tpot", "memory",
        "experts:maximize", "draft_tokens:minimize", "rounding_residual:minimize",
    ],
    "--constraint": [
        "sd_speedup>=1", "tpot<=50 ms", "memory<=60 GiB", "total_params<=2x", "K<=3",
        "loss_difference<=0", "cost<=100",
    ],
    "--no-constraint": ["total_params", "active_params", "quality", "memory", "sd_tpot"],
    "--engine": ["exact", "optuna", "auto"],
    "--trials": ["1", "5", "30"],
    "--fix": ["experts", "top_k", "experts,top_k,shared_experts"],
}  # fmt: skip


def random_question(pick: random.Random) -> list[str]:
    """A question with about half of all flags."""
    command = pick.choice(["optimize", "optimize", "predict"])
    question = [command, "--hw", pick.choice(list_hardware())]
    question += ["--arch", pick.choice(list_architectures())]
    options = dict(SERVING)
    if command == "predict":
        question += ["--target-bs", pick.choice(["1", "1,8", "256", "1:20:7", "65536"])]
    else:
        options |= SEARCH
        question += ["--target-bs", pick.choice(["1", "32", "256", "8:0.3,32:0.7", "65536"])]
        question += ["--experts", pick.choice(["1", "1,2", "8,64", "128", "4096"])]
        question += ["--top-k", pick.choice(["1", "1:4", "8"])]
        question += ["--shared-experts", pick.choice(["0", "0:2", "64"])]
        question += ["--draws", pick.choice(["0", "0", "2"])]
    for flag, choices in options.items():
        if pick.random() < 0.4:
            question += [flag, pick.choice(choices)]
    return question


@pytest.mark.parametrize("seed", range(30))
def test_a_random_question(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pick = random.Random(seed)
    question, form = random_question(pick), pick.choice(["table", "json", "csv"])
    done = run(*question, "--format", form)
    assert done.status in (0, 2, 3), done.err
    if done.status:
        assert done.out == ""
        assert done.err.startswith("error: ")
    else:
        assert done.err == ""  # no warning either
        assert done.out
        if form == "json":
            json.loads(done.out)
    assert list(tmp_path.iterdir()) == []
