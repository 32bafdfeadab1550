"""Drafts and acceptance as people write them."""

from typing import Any

import pytest
from pydantic import ValidationError

from codesign.model.acceptance import acceptance_length, decay_survival
from codesign.spec.draft import DEFAULT_ACCEPTANCE, Acceptance, Draft
from codesign.spec.study import Study


def study(**fields: object) -> Study:
    return Study.from_data({"hardware": "h100", "workload": {"target_batch_size": 1}, **fields})


@pytest.mark.parametrize(
    ("written", "fields"),
    [
        ("eagle", {"kind": "eagle"}),
        ("mtp", {"kind": "mtp"}),
        ("mtp,parallel", {"kind": "mtp", "parallel": True}),
        ("fraction:0.05", {"kind": "fraction", "fraction": 0.05}),
        ("fraction:.05 , parallel", {"kind": "fraction", "fraction": 0.05, "parallel": True}),
        ("fraction:0", {"kind": "fraction", "fraction": 0.0}),
        ("model:qwen3-0.6b", {"kind": "model", "model": "qwen3-0.6b"}),
        ({"kind": "model", "model": "x.json"}, {"kind": "model", "model": "x.json"}),
    ],
)
def test_draft(written: object, fields: dict[str, Any]) -> None:
    assert study(draft=written).draft == Draft.from_data(fields)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("egle", "did you mean 'eagle'?"),
        ("eagle,paralel", "a draft is eagle, mtp, fraction, model, each with ,parallel"),
        ("medusa:3", "a draft is eagle, mtp, fraction, model"),
        ("fraction", "'' is not a number"),
        ("fraction:five", "'five' is not a number"),
        ("fraction:nan", "'nan' is not a number"),
        ("fraction:-0.1", "greater than or equal to 0"),
        ("model", "kind 'model' and the field 'model' belong together"),
        ("eagle:qwen3-0.6b", "kind 'model' and the field 'model' belong together"),
        ({"kind": "eagle", "fraction": 0.1}, "kind 'fraction' and the field 'fraction' belong"),
        ({"kind": "fraction"}, "kind 'fraction' and the field 'fraction' belong together"),
        ({"knd": "eagle"}, "unknown field 'knd'; did you mean 'kind'?"),
        (3, "valid"),
    ],
)
def test_refuse_a_draft(written: object, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        study(draft=written)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("written", "form", "values"),
    [
        ("constant:.75", "constant", (0.75,)),
        ("decay:.76,.965", "decay", (0.76, 0.965)),
        ("positions:.8,.6,.4", "positions", (0.8, 0.6, 0.4)),
        ("positions:1,1,0", "positions", (1.0, 1.0, 0.0)),
        (" constant: 1e-1 ", "constant", (0.1,)),
    ],
)
def test_acceptance(written: str, form: str, values: tuple[float, ...]) -> None:
    accepted = study(acceptance=written).acceptance
    assert (accepted.form, accepted.values) == (form, values)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("constant:1.5", "less than or equal to 1"),
        ("constant:-0.1", "greater than or equal to 0"),
        ("constant:.7,.8", "constant needs 1 value"),
        ("decay:.7", "decay needs 2 values"),
        ("decay:.7,.9,.9", "decay needs 2 values"),
        ("positions:.5,.6", "survival per position cannot rise"),
        ("constant:", "acceptance is constant:A, decay:A,D or positions:S1,S2,..."),
        ("constnt:.7", "did you mean 'constant'?"),
        ("constant:x", "'x' is not a number"),
        ("", "acceptance is constant:A, decay:A,D or positions:S1,S2,..."),
        ({"form": "constant", "values": []}, "at least 1 item"),
    ],
)
def test_refuse_an_acceptance(written: object, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        study(acceptance=written)
    assert message in str(caught.value)


def test_the_default_is_the_cohere_study_figure() -> None:
    # model.md, section 5: a = .7645, d = .965, so that AL(3) = 2.73.
    assert Acceptance(form="decay", values=(0.7645, 0.965)) == DEFAULT_ACCEPTANCE
    first, ratio = DEFAULT_ACCEPTANCE.values
    survival = decay_survival(first, ratio, 8)
    assert acceptance_length(survival, 3) == pytest.approx(2.73, abs=5e-4)
