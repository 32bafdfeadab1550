"""What a kept study shows in optuna-dashboard besides its trials: a note and the chosen front.

The front and the best designs of an exact run stand in a study of their own: among the sampler's
trials they would change what it suggests next.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, Final

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution
from optuna.trial import FrozenTrial, create_trial

from codesign.designs import Designs
from codesign.objectives import Objective
from codesign.search.problem import Problem, objective_values
from codesign.search.record import DASHBOARD_CONSTRAINTS
from codesign.search.storage import Store
from codesign.search.variants import Variants

TOP: Final = 100
"""Designs of an exact run that are mirrored."""


def mirror(
    store: Store,
    name: str,
    variants: Variants,
    fronts: list[tuple[int, Designs]],
    best: tuple[int, Designs],
) -> None:
    """Put the front and the best designs of an exact run into the study ``NAME exact``."""
    title = f"{name} exact"
    if title in optuna.get_all_study_names(store.storage):
        optuna.delete_study(study_name=title, storage=store.storage)
    study = optuna.create_study(
        storage=store.storage, study_name=title,
        directions=[each.direction for each in variants.own.objectives],
    )  # fmt: skip
    shown = [(variants.problem(index), designs) for index, designs in (best, *fronts)]
    axes = _axes(shown)
    for problem, designs in shown:
        for trial in _trials(problem, designs, axes):
            study.add_trial(trial)


def _axes(shown: list[tuple[Problem, Designs]]) -> dict[str, CategoricalDistribution]:
    """Return the values of every axis; a database takes no axis that differs between trials."""
    values: dict[str, dict[Any, None]] = {}
    for problem, designs in shown:
        for row in designs.rows():
            for axis, value in {**row, **problem.settings}.items():
                values.setdefault(axis, {})[value] = None
    return {axis: CategoricalDistribution(list(each)) for axis, each in values.items()}


def _trials(
    problem: Problem, designs: Designs, axes: dict[str, CategoricalDistribution]
) -> Iterator[FrozenTrial]:
    evaluation = problem.evaluate(designs)
    values = np.stack([*problem.objective_values(evaluation).values()], axis=1)
    violations = {
        name: np.broadcast_to(each.violation, designs.shape)
        for name, each in evaluation.assessments.items()
    }
    for place, row in enumerate(designs.rows()):
        design: dict[str, Any] = {**row, **problem.settings}
        constraints = {name: float(each[place]) for name, each in violations.items()}
        yield create_trial(
            values=[float(value) for value in values[place]],
            params=design,
            distributions={axis: axes[axis] for axis in design},
            constraints=constraints,
            system_attrs={DASHBOARD_CONSTRAINTS: list(constraints.values())},
        )


def annotate(
    store: Store,
    name: str,
    variants: Variants,
    front: tuple[Objective, ...],
    fronts: list[tuple[int, Designs]],
    text: str,
) -> None:
    """Attach a note, and the front as a plot, to a study; nothing without optuna-dashboard."""
    if find_spec("optuna_dashboard") is None or not store.place:
        return
    import optuna_dashboard

    study = optuna.load_study(study_name=name, storage=store.storage)
    optuna_dashboard.save_note(study, text)
    if fronts and len(front) > 1:
        figure = _front_plot(variants, front, fronts)
        optuna_dashboard.save_plotly_graph_object(study, figure, graph_object_id="front")


def _front_plot(
    variants: Variants, front: tuple[Objective, ...], fronts: list[tuple[int, Designs]]
) -> Any:
    import plotly.graph_objects as go

    columns: list[list[float]] = [[], []]
    labels = []
    for index, designs in fronts:
        problem = variants.problem(index)
        prediction = problem.evaluate(designs).prediction
        for column, objective in zip(columns, front[:2], strict=True):
            column += np.broadcast_to(
                objective_values(objective, prediction), designs.shape
            ).tolist()
        labels += [str({**row, **problem.settings}) for row in designs.rows()]
    figure = go.Figure(go.Scatter(x=columns[0], y=columns[1], mode="markers", text=labels))
    figure.update_layout(
        title="Pareto front, exact", xaxis_title=front[0].name, yaxis_title=front[1].name
    )
    return figure
