"""Design entries of a result: design, objectives, constraints, prediction."""

import numpy as np

from codesign.constraints import Assessment
from codesign.designs import Designs
from codesign.model.arrays import FloatArray
from codesign.objectives import Objective
from codesign.prediction import predict
from codesign.records import Record, design_record, plain
from codesign.search.problem import Problem, expected, objective_values


def entry(problem: Problem, design: Designs) -> Record:
    """Return the whole entry of a single design.

    Objectives are their statistic over the draws; the prediction is at the values in use.
    """
    [record] = entries(problem, design, problem.objectives)
    return record | {"prediction": design_record(predict(design, problem.scenario))}


def entries(problem: Problem, designs: Designs, objectives: tuple[Objective, ...]) -> list[Record]:
    """Return the entries of a list of designs, without their predictions."""
    evaluation = problem.evaluate(designs)
    shape = designs.shape
    samples = problem.sample(designs, objectives)
    values = {}
    for each in objectives:
        nominal = np.broadcast_to(objective_values(each, evaluation.prediction), shape)
        values[each.name] = expected(each, nominal, samples)
    units = {each.name: each.unit for each in problem.constraints}
    standings = {
        name: _standings(assessment, shape, units[name])
        for name, assessment in evaluation.assessments.items()
    }
    return [
        {
            "design": {**row, **problem.settings},
            "objectives": {name: plain(each[place]) for name, each in values.items()},
            "constraints": {name: each[place] for name, each in standings.items()},
        }
        for place, row in enumerate(designs.rows())
    ]


def _standings(assessment: Assessment, shape: tuple[int, ...], unit: str) -> list[Record]:
    """One constraint for every design; a slack that rounding made negative is none."""

    def column(values: FloatArray) -> FloatArray:
        return np.broadcast_to(values, shape)

    feasible = column(assessment.violation) <= 0
    slack = np.where(feasible, np.maximum(column(assessment.slack), 0.0), column(assessment.slack))
    return [
        {
            "value": plain(value),
            "limit": plain(limit),
            "slack": plain(left),
            "unit": unit,
            "feasible": bool(met),
        }
        for value, limit, left, met in zip(
            column(assessment.value), column(assessment.limit), slack, feasible, strict=True
        )
    ]
