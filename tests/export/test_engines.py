"""Flags of vLLM and SGLang."""

import json
import shlex
from typing import Any

import pytest

from codesign.export.engines import ZERO_IS_NOT_OFF, EngineExport, sglang, vllm
from codesign.export.schedule import Schedule
from tests.export.serving import served

SEVERAL = Schedule(((1, 4, 5), (5, 32, 3), (33, 128, 1)))


def flag(export: EngineExport, name: str) -> str:
    return export.command[export.command.index(name) + 1]


def config(export: EngineExport) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(flag(export, "--speculative-config"))
    return loaded


def test_vllm_is_given_the_schedule_in_its_own_form() -> None:
    assert config(vllm(served(), SEVERAL)) == {
        "method": "eagle3",
        "model": "./draft",
        "num_speculative_tokens": 5,
        "num_speculative_tokens_per_batch_size": [[1, 4, 5], [5, 32, 3], [33, 128, 1]],
    }


def test_sglang_is_given_the_first_batch_size_of_every_range() -> None:
    export = sglang(served(), SEVERAL)
    adaptive = json.loads(export.files[flag(export, "--speculative-adaptive-config")])
    assert adaptive == {
        "1": {"candidate_steps": [5]},
        "5": {"candidate_steps": [3]},
        "33": {"candidate_steps": [1]},
    }
    steps = int(flag(export, "--speculative-num-steps"))
    assert flag(export, "--speculative-eagle-topk") == "1"
    assert int(flag(export, "--speculative-num-draft-tokens")) == steps + 1


def test_one_length_for_all_needs_no_table() -> None:
    single = Schedule(((1, 64, 4),))
    assert set(config(vllm(served(), single))) == {"method", "model", "num_speculative_tokens"}
    assert not sglang(served(), single).files


@pytest.mark.parametrize("engine", [vllm, sglang])
def test_case_a16_a_length_of_zero_is_not_off(engine: Any) -> None:
    """TPOT rose by 6.6 and 21.6 % with a K = 0 row: the remark says so."""
    some = engine(served(), Schedule(((1, 8, 3), (9, 64, 0))))
    assert ZERO_IS_NOT_OFF in some.remarks
    assert ZERO_IS_NOT_OFF not in engine(served(), SEVERAL).remarks


@pytest.mark.parametrize("engine", [vllm, sglang])
def test_where_it_never_pays_the_draft_is_left_out(engine: Any) -> None:
    never = engine(served(), Schedule(((1, 64, 0),)))
    assert not any("speculative" in word for word in never.command)
    assert any("does not pay at any batch size" in remark for remark in never.remarks)


@pytest.mark.parametrize("engine", [vllm, sglang])
def test_data_parallel_attention_takes_one_length(engine: Any) -> None:
    parallel = served(deployment={"gpus": 2, "attention_dp": True})
    export = engine(parallel, SEVERAL)
    assert any("data parallelism" in remark for remark in export.remarks)
    assert not export.files
    assert "per_batch_size" not in export.shell


@pytest.mark.parametrize(
    ("draft", "method"),
    [
        ("mtp", {"method": "mtp"}),
        ("model:qwen3-0.6b", {"method": "draft_model", "model": "Qwen/Qwen3-0.6B"}),
    ],
)
def test_the_kind_of_draft_is_the_method(draft: str, method: dict[str, str]) -> None:
    own = config(vllm(served(draft=draft), SEVERAL))
    assert {key: own[key] for key in method} == method


def test_a_draft_model_of_its_own_cannot_change_its_length_in_sglang() -> None:
    export = sglang(served(draft="model:qwen3-0.6b"), SEVERAL)
    assert flag(export, "--speculative-algorithm") == "STANDALONE"
    assert "--speculative-adaptive" not in export.command


def test_degrees_of_parallelism_are_passed_on() -> None:
    cut = served(deployment={"gpus": 4, "tensor_parallel": 4, "expert_parallel": 4})
    assert flag(vllm(cut, SEVERAL), "--tensor-parallel-size") == "4"
    assert "--enable-expert-parallel" in vllm(cut, SEVERAL).command
    assert flag(sglang(cut, SEVERAL), "--ep-size") == "4"


def test_a_published_model_goes_by_its_name_and_a_searched_one_has_none() -> None:
    assert vllm(served(), SEVERAL).command[2] == "Qwen/Qwen3-30B-A3B"
    assert vllm(served(set={"top_k": 6}), SEVERAL).command[2] == "./checkpoint"


@pytest.mark.parametrize("engine", [vllm, sglang])
def test_a_shell_reads_the_same_words(engine: Any) -> None:
    export = engine(served(), SEVERAL)
    script = "".join(line for line in export.shell.splitlines(True) if not line.startswith("#"))
    assert tuple(shlex.split(script.replace("\\\n", " "))) == export.command
