"""Axes that no design of one scenario can change: each combination is a study of its own."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from codesign.constraints import make_constraints
from codesign.errors import UsageError, field
from codesign.objectives import Objective, make_objective
from codesign.resolve import build_scenario
from codesign.search.problem import Problem
from codesign.search.space import DesignSpace
from codesign.search.variants import Setting, Settings, Variants
from codesign.spec.study import FURTHER_AXES, ObjectiveChoice, Study
from codesign.uncertainty.draws import draw_scenarios

PATHS: Final[dict[str, tuple[str, str]]] = {
    "hidden_size": ("set", "hidden_size"),
    "layers": ("set", "layers"),
    "draft_ffn_width": ("set", "draft_ffn_width"),
    "expert_dtype": ("deployment", "expert_dtype"),
    "tensor_parallel": ("deployment", "tensor_parallel"),
    "expert_parallel": ("deployment", "expert_parallel"),
}
"""Where the value of each axis goes in a study; a draft goes to two places."""


def make_problem(study: Study, folder: Path | None = None) -> Problem:
    """Resolve a study, at its own settings, into the problem that the engines solve."""
    scenario = build_scenario(study)
    with field("space"):
        space = DesignSpace.of(study.space, scenario)
    return Problem.of(
        space,
        tuple(_objective(choice, n, folder) for n, choice in enumerate(study.objectives)),
        tuple(make_constraints(study.constraints, folder)),
        draw_scenarios(study, scenario),
    )


def _objective(choice: ObjectiveChoice, place: int, folder: Path | None) -> Objective:
    with field("objectives", place):
        return make_objective(choice, folder)


def make_variants(study: Study, folder: Path | None = None) -> Variants:
    """Resolve a study into its problems, one for each combination of its further axes.

    The reference's own values belong to every ordered axis. GPUs are those of the study's own
    replica, or as many as the largest degree asks for.

    Raises
    ------
    UsageError
        If a value cannot be, such as a degree that does not divide the GPUs.
    """
    own = make_problem(study, folder)
    axes = _axes(study, own)
    if not axes:
        return Variants(own)
    degrees = [*axes.get("tensor_parallel", ()), *axes.get("expert_parallel", ())]
    gpus = max(own.scenario.replica.gpus, *(int(degree) for degree in degrees), 1)
    fixed = _with(study, "deployment", "gpus", gpus)
    if gpus != own.scenario.replica.gpus:
        own = make_problem(fixed, folder)
    for axis, values in axes.items():
        for value in values:
            _check(fixed, axis, value)
    return Variants(own, axes, partial(_make_variant, fixed, own))


def _axes(study: Study, own: Problem) -> dict[str, tuple[Setting, ...]]:
    reference, replica = own.scenario.reference, own.scenario.replica
    present: dict[str, Setting | None] = {
        "hidden_size": reference.hidden_size,
        "layers": reference.layers,
        "draft_ffn_width": reference.draft_ffn_width,
        "tensor_parallel": replica.tensor_parallel,
        "expert_parallel": replica.expert_parallel,
    }
    axes: dict[str, tuple[Setting, ...]] = {}
    for axis in FURTHER_AXES:
        values = getattr(study.space, axis)
        if not values:
            continue
        value = present.get(axis)
        if value is not None:
            values = tuple(sorted({*values, value}))
        axes["draft" if axis == "drafts" else axis] = tuple(values)
    return axes


def varied(study: Study, settings: Settings) -> Study:
    """Return the study of one combination."""
    for axis, value in settings.items():
        if axis == "draft":
            draft, _, acceptance = str(value).partition("@")
            study = study.revised(draft=draft, **({"acceptance": acceptance} if acceptance else {}))
        else:
            study = _with(study, *PATHS[axis], value)
    return study


def _with(study: Study, part: str, field: str, value: object) -> Study:
    data: dict[str, Any] = study.to_data()
    return study.from_data(data | {part: data.get(part, {}) | {field: value}})


def _check(study: Study, axis: str, value: Setting) -> None:
    try:
        build_scenario(varied(study, {axis: value}))
    except (UsageError, ValueError) as error:
        raise UsageError(f"space: {axis} {value}: {error}") from None


def _make_variant(study: Study, own: Problem, settings: Settings) -> Problem:
    """Resolve one combination; it is judged against the study's own reference."""
    one = varied(study, settings)
    scenario = replace(build_scenario(one), baseline=own.scenario.reference)
    draws = draw_scenarios(one, scenario)
    return replace(
        own, space=DesignSpace.of(study.space, scenario), draws=draws, settings=settings, own=own
    )
