"""The designs of a study's space around its front: evaluated when a report is made."""

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from codesign.answer import front_objectives
from codesign.architectures import list_architectures, load_architecture
from codesign.designs import Designs
from codesign.errors import UsageError
from codesign.model.arrays import FloatArray
from codesign.prediction import FIGURES, Prediction, predict
from codesign.report.rebuilt import Rebuilt
from codesign.report.tables_answer import shown_roles
from codesign.search.problem import Problem, expected, objective_values
from codesign.search.space import DesignSpace

MOST_SHOWN: Final = 50_000
EXPECTED: Final = "expected "
"""Before the name of an objective that is a statistic over draws."""

Columns = dict[str, FloatArray]


@dataclass(frozen=True)
class Figures:
    """Figures of designs; arrays broadcast to the designs' shape.

    Parameters
    ----------
    designs : Designs
    columns : dict of str to ndarray
        Figures at the values in use, and objectives over the draws under ``expected NAME``.
    violations : dict of str to ndarray of bool
        Where each constraint is violated.
    """

    designs: Designs
    columns: Columns
    violations: dict[str, NDArray[np.bool_]]


@dataclass(frozen=True)
class Cloud:
    """Designs of a space on an open mesh.

    Parameters
    ----------
    axes : dict of str to tuple of int
        Of the mesh; fewer values than the space's where that is larger than `MOST_SHOWN`.
    figures : Figures
        Of the mesh.
    whole : int
        Designs of the space.
    shown : int
        Designs of the mesh.
    """

    axes: dict[str, tuple[int, ...]]
    figures: Figures
    whole: int
    shown: int

    def excluded(self) -> dict[str, int]:
        """Return how many of the designs shown each constraint excludes, most first."""
        shape, designs = self.figures.designs.shape, self.figures.designs
        valid = np.broadcast_to(designs.top_k <= designs.experts, shape)
        counts = {
            name: int((valid & np.broadcast_to(mask, shape)).sum())
            for name, mask in self.figures.violations.items()
        }
        return dict(sorted(counts.items(), key=lambda item: -item[1]))


def make_cloud(problem: Problem, most: int = MOST_SHOWN) -> Cloud:
    """Evaluate a problem's space, thinned evenly if it is larger than `most`."""
    space = thinned(problem.space, most)
    designs, _ = space.mesh()
    return Cloud(space.axes, evaluate(problem, designs), problem.space.size, space.size)


def thinned(space: DesignSpace, most: int) -> DesignSpace:
    """Return the space with fewer values, ends kept, on its longest axes until it is small."""
    while space.size > most:
        longest = max(space.axes, key=lambda axis: len(space.axes[axis]))
        values = space.axes[longest]
        kept = np.unique(np.linspace(0, len(values) - 1, max(1, len(values) * 3 // 4)).round())
        axes = space.axes | {longest: tuple(values[int(place)] for place in kept)}
        space = replace(space, axes=axes)
    return space


def evaluate(problem: Problem, designs: Designs) -> Figures:
    """Return every figure, objective and violation of designs."""
    evaluation = problem.evaluate(designs)
    prediction = evaluation.prediction
    objectives = front_objectives(problem.objectives)
    samples = problem.sample(designs, objectives)
    columns = {}
    for each in objectives:
        nominal = objective_values(each, prediction)
        if each.name in samples:
            columns[EXPECTED + each.name] = expected(each, nominal, samples)
        elif each.name not in FIGURES:
            columns[each.name] = nominal
    return Figures(designs, columns | _figures(prediction), evaluation.violations)


def _figures(prediction: Prediction) -> Columns:
    columns = {}
    for name in FIGURES:
        try:
            columns[name] = prediction.value(name)
        except UsageError:  # the scenario lacks a price, a power or a limit
            continue
    return columns


@dataclass(frozen=True)
class Marked:
    """Designs that are pointed out, each with a name.

    Parameters
    ----------
    kinds : list of str
        ``front``, ``best``, ``reference``, ``throughput_best`` or ``published``.
    names : list of str
    figures : Figures
        Of the designs as a list.
    """

    kinds: list[str]
    names: list[str]
    figures: Figures


def marked_designs(rebuilt: Rebuilt) -> Marked:
    """Return front, best, reference, throughput-best and published expert shapes."""
    kinds, names, parts = [], [], []
    front = rebuilt.front()
    if front is not None:
        count = front.shape[0]
        kinds, names, parts = ["front"] * count, [f"front {n + 1}" for n in range(count)], [front]
    for role in shown_roles(rebuilt.result):
        kinds.append(role)
        names.append(role.replace("_", "-"))
        parts.append(rebuilt.design(role))
    models, shapes = published_shapes(rebuilt.problem)
    kinds += ["published"] * len(models)
    names += models
    designs = parts[0]
    for more in [*parts[1:], *([shapes] if models else [])]:
        designs = designs.joined(more)
    return Marked(kinds, names, evaluate(rebuilt.problem, designs))


def published_shapes(problem: Problem) -> tuple[list[str], Designs]:
    """Return the expert shapes (N, k, S) of published models on the reference's layers.

    The expert width follows the study's policy; each has the draft length of the space with the
    largest speedup. Shapes of the reference itself are left out.
    """
    own = problem.scenario.reference.moe
    models: dict[tuple[int, int, int], list[str]] = defaultdict(list)
    for name in list_architectures():
        model = load_architecture(name)
        if model.moe is not None:
            shape = (model.moe.experts, model.moe.top_k, model.moe.shared_experts)
            models[shape].append(model.name)
    if own is not None:
        models.pop((own.experts, own.top_k, own.shared_experts), None)
    names = [
        each[0] if len(each) == 1 else f"{each[0]} and {len(each) - 1} more"
        for each in models.values()
    ]
    return names, _with_best_length(problem, np.array([*models], dtype=np.float64))


def _with_best_length(problem: Problem, shapes: FloatArray) -> Designs:
    """The draft length of the space with the largest speedup, for each shape."""
    lengths = np.array(problem.space.axes["draft_tokens"], dtype=np.float64)
    names = ("experts", "top_k", "shared_experts")
    every = {name: shapes[:, [place]] for place, name in enumerate(names)}
    grid = problem.space.designs(**every, draft_tokens=lengths[None, :])
    speedups = np.broadcast_to(predict(grid, problem.scenario).value("sd_speedup"), grid.shape)
    flat = np.arange(len(shapes)) * len(lengths) + np.argmax(speedups, axis=1)
    return grid.take(flat)
