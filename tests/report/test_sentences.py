"""The first screen in words: true to the figures, and to what is not known."""

from typing import Any

import pytest

from codesign.records import Record
from codesign.report.cells import Sentence, sentence_text
from codesign.report.sentences import certificate, gain, headline, quality, question, reasons


def said(sentence: Sentence) -> str:
    return sentence_text(sentence).replace("\u00a0", " ")


def test_the_question_names_axes_objective_hardware_and_load(result: Record) -> None:
    assert question(result) == (
        "Which expert count, top-k, shared-expert count and draft length give the highest "
        "speculative-decoding (SD) speedup, starting from qwen3-30b-a3b, on h100 at batch size 32?"
    )


def test_fixed_axes_are_not_asked_for(result: Record) -> None:
    result["study"]["space"]["fix"] = ["experts", "top_k", "shared_experts"]
    assert question(result).startswith("Which draft length gives the highest")


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        ({"name": "sd_tpot"}, "the lowest TPOT with speculative-decoding (SD),"),
        ({"name": "total_params", "direction": "maximize"}, "the highest total parameters"),
        ({"name": "my_own"}, "the best my own"),
    ],
)
def test_the_direction_is_the_objectives(
    result: Record, objective: dict[str, Any], words: str
) -> None:
    result["study"]["objectives"] = [objective]
    result["verdict"]["objective"] = objective["name"]
    assert words in question(result)


def test_a_mix_of_batch_sizes_is_told_with_its_shares(result: Record) -> None:
    result["study"]["workload"]["target_batch_size"] = [
        {"batch_size": 8, "share": 0.3}, {"batch_size": 64, "share": 0.7},
    ]  # fmt: skip
    assert "at batch sizes 8 (30%), 64 (70%)?" in question(result)


def test_the_headline_follows_the_verdict(result: Record) -> None:
    best = result["best"]["design"]
    name = (
        f"{best['experts']} experts, top-{best['top_k']}, {best['shared_experts']} shared, "
        f"width {best['expert_width']}, K = {best['draft_tokens']}"
    )
    result["verdict"]["choice"] = "best"
    assert said(headline(result)) == f"Build {name}"
    result["verdict"]["choice"] = "reference"
    assert said(headline(result)) == f"Tie: keep the reference; the best design is {name}"
    result["best"]["design"] = own = result["reference"]["design"]
    assert said(headline(result)) == (
        f"Keep the reference, with K = {own['draft_tokens']}: no feasible design beats it"
    )
    assert said(gain(result)).startswith("SD speedup 2.")


def test_the_gain_says_how_it_was_reached(result: Record) -> None:
    result["verdict"] |= {"gain": 0.0139, "interval": [0.0099, 0.0171]}
    assert said(gain(result)) == (
        "+1.4 % SD speedup against the reference (5–95 %: +0.99 % to +1.7 %)"
    )
    result["verdict"]["interval"] = None
    assert said(gain(result)).endswith("reference, not weighed against uncertainty")


@pytest.mark.parametrize(
    ("own", "text"),
    [
        ({"kind": "exact", "designs": 22680, "feasible": 45},
         "all 22,680 designs evaluated, 45 meet every constraint"),
        ({"kind": "none", "designs": 10**8, "distinct_designs": 190},
         "best of 190 sampled designs of 100,000,000; not proven"),
        ({"kind": "gap", "designs": 10**8, "distinct_designs": 190, "polished_designs": 2_000,
          "regret": 0.034},
         "best of 190 sampled and 2,000 polished designs of 100,000,000; none is better by more "
         "than 3.4 %"),
    ],
)  # fmt: skip
def test_the_certificate_claims_no_more_than_it_proves(
    result: Record, own: dict[str, Any], text: str
) -> None:
    result["certificate"] = own
    assert said(certificate(result)) == text


def test_quality_without_draws_is_not_called_probable(result: Record) -> None:
    assert "at most 0.01 nat/token above" in said(quality(result))
    result["best"]["prediction"]["quality"]["probability"] = None
    assert said(quality(result)).startswith("not computed (no draws)")


def test_three_reasons_from_the_figures(result: Record) -> None:
    mechanism, obstacle, confidence = map(said, reasons(result))
    best = result["best"]["prediction"]
    assert f"yields {best['acceptance_length']:#.3g} tokens" in mechanism
    assert f"in the time of {best['cycle_ratio']:#.3g} decode steps" in mechanism
    assert obstacle.startswith("It stops at the limit on quality")
    assert confidence.startswith("This expert shape is best in ")
    assert "acceptance is assumed, not measured; measure first: " in confidence


def test_reasons_where_nothing_stands_in_the_way(result: Record) -> None:
    result["binding"], result["on_bounds"] = [], ["experts"]
    assert said(reasons(result)[1]) == (
        "No constraint keeps a better design out; the best lies on the bound of experts per layer "
        "(N), so widen that axis"
    )


def test_reasons_where_several_constraints_bind(result: Record) -> None:
    first = result["binding"][0]
    result["binding"] = [first, *(first | {"constraint": c} for c in ("memory", "sd_tpot"))]
    assert said(reasons(result)[1]).endswith("; memory per GPU and TPOT with SD bind too")


def test_an_input_worth_a_rounding_error_is_not_recommended(result: Record) -> None:
    result["value_of_information"][0]["value"] = 4e-16
    assert "measure first" not in said(reasons(result)[2])


def test_reasons_without_draws_or_drafts(result: Record) -> None:
    result["stability"] = result["interval"] = result["value_of_information"] = None
    result["best"]["design"]["draft_tokens"] = 0
    mechanism, _, confidence = map(said, reasons(result))
    assert mechanism.startswith("No draft pays")
    assert confidence == "Unknown: nothing was drawn, every figure is a point estimate"
