"""What every spec keeps to: frozen, strict, no unknown field, read back as written."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from codesign.architectures import load_architecture
from codesign.hardware import list_hardware, load_hardware
from codesign.spec.base import LARGEST_COUNT, Spec
from codesign.spec.hardware import Deployment
from codesign.spec.schemas import SPECS
from codesign.spec.study import Bound, Search, Space, Study
from codesign.spec.workload import Workload

MINIMAL = {"hardware": "h100", "workload": {"target_batch_size": 32}}


@pytest.mark.parametrize("kind", SPECS.values(), ids=SPECS)
def test_every_spec_is_frozen_and_strict(kind: type[Spec]) -> None:
    config = kind.model_config
    assert config.get("frozen") is True
    assert config.get("strict") is True
    assert config.get("extra") == "forbid"
    assert config.get("allow_inf_nan") is False


def test_a_spec_cannot_be_changed() -> None:
    study = Study.from_data(MINIMAL)
    with pytest.raises(ValidationError, match="frozen"):
        study.hardware = "h200"


def test_revised_makes_a_validated_copy() -> None:
    study = Study.from_data(MINIMAL)
    other = study.revised(hardware="h200", deployment={"gpus": 2})
    assert (study.hardware, study.deployment.gpus) == ("h100", None)
    assert (other.hardware, other.deployment.gpus) == ("h200", 2)
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        study.revised(deployment={"gpus": 0})


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (Workload, {"target_batch_size": 32, "context": "4096"}),  # text is no number
        (Workload, {"target_batch_size": 32, "context": 4096.0}),  # a float is no count
        (Deployment, {"gpus": True}),  # a truth value is no number
        (Deployment, {"attention_dp": 1}),  # a number is no truth value
        (Deployment, {"attention_dp": "yes"}),
        (Deployment, {"memory_utilisation": float("nan")}),
        (Deployment, {"memory_utilisation": 1.01}),
        (Deployment, {"memory_utilisation": 0}),
        (Deployment, {"gpus": LARGEST_COUNT + 1}),
        (Deployment, {"gpus": 10**400}),  # would overflow a float
        (Deployment, {"backend": "vLLM"}),
        (Deployment, {"dtype": "float8"}),
        (Deployment, {"price": "2.5"}),
        (Deployment, {"attention_dp": True, "tensor_parallel": 2}),
        (Search, {"seed": -1}),
        (Search, {"seed": 2**32}),  # Optuna's and numpy's limit
        (Search, {"trials": 0}),
        (Search, {"engine": "magic"}),
        (Space, {"fix": ["draft_tokens"]}),
        (Space, {"expert_width": "iso"}),
        (Bound, {"at_most": float("inf")}),
        (Study, MINIMAL | {"train_tokens": 0}),
        (Study, MINIMAL | {"train_tokens": "1e19"}),
        (Study, MINIMAL | {"objectives": []}),
        (Study, MINIMAL | {"hardware": None}),
    ],
)
def test_refuse(kind: type[Spec], data: object) -> None:
    with pytest.raises(ValidationError):
        kind.from_data(data)


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        (Deployment, {"gpu": 1}, "unknown field 'gpu'; did you mean 'gpus'?"),
        (Search, {"xyzzy": 1}, f"unknown field 'xyzzy'; known: {', '.join(Search.model_fields)}"),
        (Study, MINIMAL | {"hardwre": "h100"}, "unknown field 'hardwre'; did you mean 'hardware'?"),
        (Study, MINIMAL | {3: "h100"}, "unknown field '3'"),
    ],
)
def test_an_unknown_field_gets_the_nearest_name(
    kind: type[Spec], data: object, message: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        kind.from_data(data)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", list_hardware())
def test_profiles_read_back_as_written(name: str) -> None:
    profile = load_hardware(name)
    assert type(profile).from_data(profile.to_data()) == profile


STUDIES: list[dict[str, Any]] = [
    MINIMAL,
    MINIMAL | {"deployment": {"gpus": 8, "expert_parallel": 4, "dtype": "fp8", "price": "2 USD/h"}},
    MINIMAL | {"draft": "fraction:0.1,parallel", "acceptance": "positions:.9,.4"},
    MINIMAL | {"workload": {"target_batch_size": "8:0.3,32:0.7", "context": 0}},
    MINIMAL | {"objectives": ["sd_speedup", "total_params:minimize"], "train_tokens": "2.5T"},
    MINIMAL | {"constraints": {"memory": False, "top_k": {"minimum": 2}, "tpot": {"at_most": 1}}},
    MINIMAL | {"space": {"experts": "8:16:8", "expert_width": "search", "widths": "64,128"}},
    MINIMAL | {"set": {"hidden_size": 4096}, "search": {"seed": 2**32 - 1, "engine": "exact"}},
]


@pytest.mark.parametrize("data", STUDIES)
def test_studies_read_back_as_written(data: dict[str, Any]) -> None:
    study = Study.from_data(data)
    assert Study.from_data(study.to_data()) == study


@pytest.mark.parametrize("name", ["qwen3-30b-a3b", "deepseek-v3", "gpt-oss-20b", "llama-3.1-8b"])
def test_architectures_read_back_as_written(name: str) -> None:
    model = load_architecture(name)
    assert type(model).from_data(model.to_data()) == model


@pytest.mark.parametrize("build", [Deployment, Search, Space])
def test_defaults_read_back_as_written(build: Callable[[], Spec]) -> None:
    assert type(build()).from_data(build().to_data()) == build()


def test_default_deployment_is_that_of_the_model_notes() -> None:
    # model.md, section 3: ep 1, attention_dp off, backend vllm, host time 0, SD overhead 0.5 ms,
    # utilisation .9; gpus and tp follow from the reference's fit.
    deployment = Deployment()
    assert (deployment.gpus, deployment.tensor_parallel, deployment.expert_parallel) == (
        None, None, 1,
    )  # fmt: skip
    assert (deployment.attention_dp, deployment.backend) == (False, "vllm")
    assert (deployment.host_time, deployment.sd_overhead) == (0.0, 0.5e-3)
    assert deployment.memory_utilisation == 0.9
