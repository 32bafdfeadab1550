"""The answer to a small study by brute force: one design at a time, by the definitions alone."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from codesign.designs import AXES, Designs
from codesign.prediction import Prediction, predict
from codesign.resolve import build_scenario
from codesign.scenario import Scenario
from codesign.spec.study import Study

Row = tuple[int, ...]
TIE = 1e-9

MAXIMIZED = {"sd_speedup", "sd_tokens_per_s_per_gpu", "sd_tokens_per_s"}


@dataclass(frozen=True)
class Judged:
    """One design: its objectives, what it breaks and by which share, its size."""

    row: Row
    objectives: dict[str, float]
    shortfalls: dict[str, float]
    total: float

    def merit(self, name: str) -> float:
        value = self.objectives[name]
        return value if name in MAXIMIZED else -value


class BruteForce:
    """Every design of a study, judged alone."""

    def __init__(self, study: Study, objectives: Iterable[str], scenarios: Any = ()) -> None:
        self.study = study
        self.scenario = build_scenario(study)
        self.drawn: tuple[Scenario, ...] = tuple(scenarios)
        self.objectives = tuple(objectives)
        self._known: dict[Row, Prediction] = {}
        self.reference = self._best_reference()
        self.designs = [self._judge(row) for row in self._rows()]

    # ---- the space -----------------------------------------------------------------------

    def _rows(self) -> list[Row]:
        space, moe = self.study.space, self.scenario.reference.moe
        assert moe is not None
        own = {"experts": moe.experts, "top_k": moe.top_k, "shared_experts": moe.shared_experts}
        axes: list[list[int]] = []
        for axis in AXES[:4]:
            values = set() if axis in space.fix else set(getattr(space, axis))
            axes.append(sorted(values | ({own[axis]} if axis in own else set())))
        rows: list[Row] = []
        for n, k, s, d in itertools.product(*axes):
            widths = [self._width(n, k, s)]
            if space.expert_width == "search":
                widths = sorted({*(space.widths or ()), moe.expert_width})
            rows += [(n, k, s, d, width) for width in widths if k <= n]
        return rows

    def _width(self, experts: int, top_k: int, shared: int) -> int:
        """product.md: budget of the reference over the experts that share it, to whole steps."""
        moe, policy = self.scenario.reference.moe, self.study.space.expert_width
        assert moe is not None
        published = (experts, top_k, shared) == (moe.experts, moe.top_k, moe.shared_experts)
        if policy == "fixed" or published:
            return moe.expert_width
        ratio = (moe.shared_width or moe.expert_width) / moe.expert_width
        routed, own = (top_k, moe.top_k) if policy == "iso_active" else (experts, moe.experts)
        budget = (own + moe.shared_experts * ratio) * moe.expert_width
        replica = self.scenario.replica
        tile = 128 if replica.precision.of("routed_experts") in ("fp8_block", "mxfp4") else 64
        step = tile * replica.gpus // replica.expert_parallel
        return max(round(budget / (routed + shared * ratio) / step), 1) * step

    # ---- one design ----------------------------------------------------------------------

    def _predict(self, row: Row, scenario: Scenario | None = None) -> Prediction:
        if scenario is not None:
            return predict(Designs.of(*row), scenario)
        if row not in self._known:
            self._known[row] = predict(Designs.of(*row), self.scenario)
        return self._known[row]

    def _objective(self, name: str, row: Row) -> float:
        """Mean over the draws, or the value in use."""
        if not self.drawn or name in ("loss_difference", "total_params"):
            return self._value(name, self._predict(row))
        drawn = (self._predict(row, scenario) for scenario in self.drawn)
        return float(np.mean([self._value(name, prediction) for prediction in drawn]))

    def _value(self, name: str, prediction: Prediction) -> float:
        """Over the mix, by machine time per generated token."""
        shares = np.array(prediction.scenario.shares)
        rates = {
            figure: np.broadcast_to(getattr(prediction, figure), (shares.size, 1))[:, 0]
            for figure in ("tokens_per_s", "sd_tokens_per_s", "sd_tpot_s")
        }
        fast = 1 / float((shares / rates["sd_tokens_per_s"]).sum())
        plain = 1 / float((shares / rates["tokens_per_s"]).sum())
        match name:
            case "sd_speedup":
                return fast / plain
            case "sd_tokens_per_s":
                return fast
            case "sd_tokens_per_s_per_gpu":
                return fast / prediction.scenario.replica.gpus
            case "sd_tpot":
                return float((shares * rates["sd_tpot_s"]).sum())
            case "memory":
                return float(np.max(prediction.memory_bytes_per_gpu))
        return float(np.reshape(getattr(prediction, name), -1)[0])

    def _best_reference(self) -> Row:
        """The reference with the draft length that is best by the first objective; ties: fewest."""
        moe = self.scenario.reference.moe
        assert moe is not None
        head = (moe.experts, moe.top_k, moe.shared_experts)
        rows = [
            (*head, drafted, moe.expert_width)
            for drafted in sorted({*self.study.space.draft_tokens})
        ]
        name = self.objectives[0]
        sign = 1.0 if name in MAXIMIZED else -1.0
        scores = [sign * self._objective(name, row) for row in rows]
        level = max(scores) - TIE * abs(max(scores))
        return next(row for row, score in zip(rows, scores, strict=True) if score >= level)

    def _judge(self, row: Row) -> Judged:
        prediction = self._predict(row)
        shortfalls: dict[str, float] = {}
        for name, choice in self.study.constraints.items():
            if choice is not False:
                shortfall = self._shortfall(name, choice, row, prediction)
                shortfalls[name] = shortfall if shortfall > TIE else 0.0
        return Judged(
            row,
            {name: self._objective(name, row) for name in {*self.objectives, "sd_tokens_per_s"}},
            shortfalls,
            float(prediction.total_params.reshape(-1)[0]),
        )

    def _shortfall(self, name: str, choice: Any, row: Row, prediction: Prediction) -> float:
        """By what share of the limit the design misses it."""
        if name == "divisibility":
            return float(self._indivisible(row))
        if name == "top_k":
            moe = self.scenario.reference.moe
            assert moe is not None
            floor = min(4, moe.top_k)
            return (floor - row[1]) / floor
        if name == "quality":
            return (self._value("loss_difference", prediction) - 0.01) / 0.01
        if name == "expert_width":
            return (abs(self._residual(row)) - 0.03) / 0.03
        if name == "memory" and choice is True:
            limit = 0.9 * self.scenario.replica.hardware.memory.value
            return (self._value("memory", prediction) - limit) / limit
        value = self._value(name, prediction)
        own = self._value(name, self._predict(self.reference))
        worst = -np.inf
        for side, sign in (("at_most", 1.0), ("at_least", -1.0)):
            written = getattr(choice, side)
            if written is not None:
                limit = float(written.removesuffix("x")) * own
                worst = max(worst, sign * (value - limit) / abs(limit))
        return float(worst)

    def _indivisible(self, row: Row) -> int:
        model, replica = self.scenario.reference, self.scenario.replica
        moe = model.moe
        assert moe is not None
        own = (moe.experts, moe.top_k, moe.shared_experts, moe.expert_width)
        untiled = row[4] % replica.width_step != 0 and (*row[:3], row[4]) != own
        heads = sum(
            getattr(group, "heads", 0) % replica.tensor_parallel != 0 for group in model.attention
        )
        uneven = row[0] % replica.expert_parallel != 0
        held = row[0] // moe.groups * moe.groups_per_token
        ungrouped = row[0] % moe.groups != 0 or row[1] > held
        broken = (uneven, ungrouped, untiled)
        return sum(map(int, broken)) + int(heads)

    def _residual(self, row: Row) -> float:
        moe, policy = self.scenario.reference.moe, self.study.space.expert_width
        assert moe is not None
        if policy not in ("iso_active", "iso_total"):
            return 0.0
        ratio = (moe.shared_width or moe.expert_width) / moe.expert_width
        routed, own = (row[1], moe.top_k) if policy == "iso_active" else (row[0], moe.experts)
        budget = (own + moe.shared_experts * ratio) * moe.expert_width
        return (routed + row[2] * ratio) * row[4] / budget - 1

    # ---- the answer ----------------------------------------------------------------------

    def feasible(self, lifted: str | None = None) -> list[Judged]:
        """Designs that meet every constraint, but for one that is lifted."""
        return [
            each
            for each in self.designs
            if not any(miss > 0 for name, miss in each.shortfalls.items() if name != lifted)
        ]

    @staticmethod
    def best(designs: list[Judged], name: str) -> Judged:
        """Ties within 1e-9 go to fewer draft tokens, then fewer total parameters (product.md)."""
        top = max(each.merit(name) for each in designs)
        tied = [each for each in designs if each.merit(name) >= top - TIE * abs(top)]
        return min(tied, key=lambda each: (each.row[3], each.total, each.row[0], each.row[1]))

    def front(self, names: tuple[str, ...]) -> set[tuple[float, ...]]:
        """Merits of the feasible designs that no other beats in every objective."""
        merits = {tuple(each.merit(name) for name in names) for each in self.feasible()}
        return {
            point
            for point in merits
            if not any(
                other != point and all(a >= b for a, b in zip(other, point, strict=True))
                for other in merits
            )
        }
