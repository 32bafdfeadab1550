"""Rows of an ablation: one factor at a time, crossed, named variants."""

from typing import Any

import pytest
from pydantic import ValidationError

from codesign.ablation.cases import cases_of, overridden
from codesign.errors import UsageError
from codesign.spec.ablation import Ablation
from codesign.spec.study import Study

STUDY = Study.from_data({"hardware": "h100", "workload": {"target_batch_size": 32}})


def names(**fields: Any) -> list[str]:
    ablation = Ablation.from_data({"study": "default"} | fields)
    return [case.name for case in cases_of(ablation, STUDY)]


def test_one_at_a_time_starts_from_the_study_and_leaves_its_own_values_out() -> None:
    factors = {"workload.target_batch_size": [1, 32], "routing": ["own", "uniform"]}
    assert names(factors=factors) == ["base", "target_batch_size=1", "routing=uniform"]


def test_crossed_factors_give_every_combination() -> None:
    factors = {"workload.target_batch_size": [1, 32], "routing": ["own", "uniform"]}
    assert len(names(factors=factors, combine="crossed")) == 4


def test_variants_keep_their_names_and_order() -> None:
    assert names(variants={"b": {}, "a": {"routing": "uniform"}}) == ["b", "a"]


def test_terms_alone_need_no_factor() -> None:
    assert names(terms=["draft_cost"]) == ["base"]


def test_a_path_reaches_into_what_the_study_left_out() -> None:
    changed = overridden(STUDY, {"deployment.gpus": 4, "set.top_k": 6, "constraints.memory": False})
    assert changed.deployment.gpus == 4
    assert changed.set == {"top_k": 6}
    assert changed.constraints["memory"] is False


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"workload.contxt": 1}, "did you mean 'context'"),
        ({"workload.context": -1}, "workload.context"),
        ({"routing.kind": "own"}, "routing has no fields of its own"),
        ({"nothing": 1}, "unknown field 'nothing'"),
    ],
)
def test_a_wrong_path_or_value_is_named(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        overridden(STUDY, changes)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "nothing is varied"),
        ({"factors": {"routing": ["own"]}, "variants": {"a": {}}}, "factors or variants"),
        ({"terms": {"a": ["draft_cost"], "b": ["draft_cost"]}}, "one mechanism only"),
        ({"terms": ["gravity"]}, "temporal_correlation"),
        ({"factors": {"routing": []}}, "factors.routing"),
    ],
)
def test_an_ablation_that_makes_no_sense_is_refused(
    fields: dict[str, object], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        Ablation.from_data({"study": "default"} | fields)
