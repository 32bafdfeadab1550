"""What the draws say about a choice: verdict, stability, plateau, prices, value of information."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from codesign.designs import AXES, Designs
from codesign.model.arrays import FloatArray
from codesign.objectives import Objective
from codesign.prediction import predict
from codesign.records import Record, plain
from codesign.search.enumerate import Enumeration
from codesign.search.pareto import nondominated
from codesign.search.problem import (
    Problem,
    improvement,
    merit,
    natural_step,
    objective_values,
)
from codesign.uncertainty.draws import Draws

PLATEAU: Final = 0.01
"""Designs within this share of the best are told apart by nothing but simplicity."""

MOST_LISTED: Final = 5


@dataclass(frozen=True)
class Decision:
    """Figures of one choice.

    Parameters
    ----------
    problem : Problem
    found : Enumeration
    draws : Draws
    best : Designs
        A single one.
    front : tuple of Objective
    """

    problem: Problem
    found: Enumeration
    draws: Draws
    best: Designs
    front: tuple[Objective, ...]

    @property
    def objective(self) -> Objective:
        """The first one: it decides."""
        return self.problem.objectives[0]

    @cached_property
    def _designs(self) -> Designs:
        designs = self.found.contenders.designs
        assert designs is not None, "a decision is only made where a design is feasible"
        return designs

    @cached_property
    def _best_position(self) -> int:
        return self.found.contenders.position(self.best)

    @cached_property
    def _samples(self) -> FloatArray | None:
        """Merits by draw and contender; none where the objective is certain."""
        samples = self.found.contenders.samples.get(self.objective.name)
        return None if samples is None else merit(self.objective, samples)

    # ---- stability -----------------------------------------------------------------------

    def stability(self) -> Record | None:
        """Return how often designs are optimal and on the front over the draws."""
        if self._samples is None:
            return None
        winners = np.argmax(self._samples, axis=1)
        optimal = np.bincount(winners, minlength=self._samples.shape[1]) / len(winners)
        on_front = self._front_shares()
        order = np.argsort(-optimal, kind="stable")[:MOST_LISTED]
        listed = dict.fromkeys([self._best_position, *(int(p) for p in order if optimal[p] > 0)])
        rows = self._designs.take(np.array([*listed])).rows()
        return {
            "best_is_optimal": float(optimal[self._best_position]),
            "best_architecture_is_optimal": float(optimal[self._same_architecture()].sum()),
            "designs": [
                {
                    "design": row,
                    "optimal": float(optimal[position]),
                    "on_front": None if on_front is None else float(on_front[position]),
                }
                for row, position in zip(rows, listed, strict=True)
            ],
        }

    def _same_architecture(self) -> NDArray[np.bool_]:
        """Contenders that differ from the best in draft length alone, which serving can change."""
        same = np.ones(self._designs.shape, dtype=np.bool_)
        for axis in AXES:
            if axis != "draft_tokens":
                same &= getattr(self._designs, axis) == getattr(self.best, axis).reshape(-1)[0]
        return same

    def _front_shares(self) -> FloatArray | None:
        """Share of draws in which each contender is on the front; unknown if some were let go."""
        contenders = self.found.contenders
        if not contenders.complete:
            return None
        prediction = predict(self._designs, self.problem.scenario)
        certain = {
            each.name: np.broadcast_to(objective_values(each, prediction), self._designs.shape)
            for each in self.front
            if each.name not in contenders.samples
        }
        counts = np.zeros(self._designs.shape)
        for draw in range(len(self.draws)):
            columns = [
                merit(each, contenders.samples[each.name][draw])
                if each.name in contenders.samples
                else merit(each, certain[each.name])
                for each in self.front
            ]
            counts += nondominated(np.stack(columns, axis=1))
        return counts / len(self.draws)

    # ---- plateau -------------------------------------------------------------------------

    def plateau(self) -> Record:
        """Return the designs within 1 % of the best, and the simplest of them.

        Simplest: fewest axes changed from the reference, then fewest shared experts, routed
        experts and draft tokens.
        """
        scores = self.found.contenders.scores
        level = scores.max() - PLATEAU * abs(scores.max())
        near = np.flatnonzero(scores >= level)
        designs = self._designs.take(near)
        own = self.problem.reference.designs
        changed = sum(
            (getattr(designs, axis) != getattr(own, axis).reshape(-1)[0]).astype(int)
            for axis in AXES
        )
        keys = (designs.draft_tokens, designs.experts, designs.shared_experts, changed)
        simplest = int(np.lexsort(keys)[0])
        return {
            "tolerance": PLATEAU,
            "designs": len(near),
            "simplest": designs.take(simplest).rows()[0],
            "objective": plain(self._objective_of(scores[near[simplest]])),
        }

    def _objective_of(self, score: float) -> float:
        return float(score if self.objective.direction == "maximize" else -score)

    # ---- prices --------------------------------------------------------------------------

    def shadow_prices(self) -> list[Record]:
        """Return what loosening each constraint by its natural step would gain, dearest first."""
        rows = []
        at_best = self.problem.evaluate(self.best).assessments
        for constraint in self.problem.constraints:
            champion = self.found.relaxed.get(constraint.name)
            step = natural_step(constraint, at_best[constraint.name], self.best)
            if champion is None or step is None:
                continue
            score = max(champion.score, self.found.best.score)
            rows.append(
                {
                    "constraint": constraint.name,
                    "step": plain(step.reshape(-1)[0]),
                    "unit": constraint.unit,
                    "objective": plain(self._objective_of(score)),
                    "gain": improvement(score, self.found.best.score),
                }
            )
        return sorted(rows, key=lambda row: -(row["gain"] or 0.0))

    # ---- value of information ------------------------------------------------------------

    def value_of_information(self) -> list[Record] | None:
        """Return what knowing each uncertain input would be worth, dearest first.

        Notes
        -----
        Expected value of partial perfect information (Strong, Oakley and Brennan 2014): each
        design's objective is regressed on the input by a quadratic; the mean over draws of the
        best fitted value, minus the best mean, relative to the best mean. It is what could be
        gained by choosing with the input known, not the whole spread it causes. Not told where the
        best is worth 0, of which nothing is a share.
        """
        if self._samples is None or not self._samples.mean(axis=0).max():
            return None
        means = self._samples.mean(axis=0)
        rows = []
        for column, each in enumerate(self.draws.inputs):
            fitted = _quadratic_fit(self.draws.values[:, column], self._samples)
            value = float(fitted.max(axis=1).mean() - means.max()) / abs(float(means.max()))
            rows.append({"input": each.name, "calibrate": each.group, "value": max(value, 0.0)})
        return sorted(rows, key=lambda row: -row["value"])

    # ---- axes ----------------------------------------------------------------------------

    def axis_sensitivity(self) -> Record:
        """Return exact first-order and total Sobol indices of the axes at the values in use."""
        names = self.problem.space.axes
        indices = self.found.variance.indices()
        return {
            axis: {"first": first, "total": total}
            for axis, (first, total) in zip(names, indices, strict=True)
        }


def _quadratic_fit(values: FloatArray, samples: FloatArray) -> FloatArray:
    spread = values.std()
    if spread == 0:
        return np.broadcast_to(samples.mean(axis=0), samples.shape)
    standard = (values - values.mean()) / spread
    basis, _ = np.linalg.qr(np.stack([np.ones_like(standard), standard, standard**2], axis=1))
    return np.asarray(basis @ (basis.T @ samples))
