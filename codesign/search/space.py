"""The space of a study: axes, the reference's own values among them, and the expert width."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from codesign.designs import AXES, Designs
from codesign.errors import UsageError
from codesign.model.arrays import FloatArray
from codesign.model.expert_width import rounded_width
from codesign.parameter_counts import inner_size, sharing_experts
from codesign.scenario import Scenario
from codesign.spec.architecture import Architecture, MixtureOfExperts
from codesign.spec.study import Space

SEARCHED = AXES[:4]
"""Axes that are always searched; the expert width follows from a policy unless it is too."""


@dataclass(frozen=True)
class DesignSpace:
    """Axes of values; designs are all their combinations with top_k <= experts.

    Parameters
    ----------
    axes : dict of str to tuple of int
        Ascending values by axis; `expert_width` only where it is searched.
    scenario : Scenario
    left_out : dict of str to tuple of int
        Values asked for that no design can have: a top_k above every number of experts, a number
        of experts below every top_k.
    """

    axes: dict[str, tuple[int, ...]]
    scenario: Scenario
    left_out: dict[str, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, space: Space, scenario: Scenario) -> "DesignSpace":
        """Resolve a study's space; a dense reference has none.

        Raises
        ------
        UsageError
            If the reference is dense, a value cannot be, or nothing is left.
        """
        moe = scenario.reference.moe
        if moe is None:
            raise UsageError(
                f"{scenario.reference.name} is a dense model: there are no experts to search. Name "
                "an MoE reference with --arch, or use 'codesign predict' for its draft lengths"
            )
        _check_not_empty(space)
        own = {"experts": moe.experts, "top_k": moe.top_k, "shared_experts": moe.shared_experts}
        axes = {}
        for axis in SEARCHED:
            values = set(getattr(space, axis))
            if axis in own:
                values = {own[axis]} if axis in space.fix else values | {own[axis]}
            axes[axis] = tuple(sorted(values))
        if space.expert_width == "search":
            if space.widths is None:
                raise UsageError("space: expert_width search needs widths, such as 256:2048:128")
            axes["expert_width"] = tuple(sorted({*space.widths, moe.expert_width}))
        impossible = {
            "experts": tuple(n for n in axes["experts"] if n < axes["top_k"][0]),
            "top_k": tuple(k for k in axes["top_k"] if k > axes["experts"][-1]),
        }
        for axis, left in impossible.items():
            axes[axis] = tuple(value for value in axes[axis] if value not in left)
        return cls(axes, scenario, {axis: left for axis, left in impossible.items() if left})

    def assumptions(self) -> tuple[str, ...]:
        """Return what of the space as it was asked for is no part of it."""
        return tuple(
            f"space: {axis} {', '.join(map(str, values))} left out: top_k would exceed experts"
            for axis, values in self.left_out.items()
        )

    @property
    def size(self) -> int:
        """Number of designs: pairs with top_k > experts are none."""
        return self.count(self.axes["experts"])

    @property
    def _others(self) -> int:
        rest = (len(values) for axis, values in self.axes.items() if axis not in SEARCHED[:2])
        return int(np.prod([*rest], dtype=np.int64))

    def mesh(
        self, experts: tuple[int, ...] | None = None, top_k: tuple[int, ...] | None = None
    ) -> tuple[Designs, NDArray[np.bool_]]:
        """Return an open mesh over all axes, and where its points are designs.

        Parameters
        ----------
        experts, top_k : tuple of int, optional
            Only these values of the first two axes, to walk the space in chunks.
        """
        chosen = dict(self.axes)
        if experts is not None:
            chosen["experts"] = experts
        if top_k is not None:
            chosen["top_k"] = top_k
        names = [*SEARCHED, *(["expert_width"] if "expert_width" in self.axes else [])]
        grids = np.ix_(*(np.array(chosen[name], dtype=np.float64) for name in names))
        designs = self.designs(**dict(zip(names, grids, strict=True)))
        return designs, designs.top_k <= designs.experts

    def count(self, experts: tuple[int, ...]) -> int:
        """Return how many designs have these values of the first axis."""
        top_k = np.array(self.axes["top_k"])
        return int((top_k[:, None] <= np.array(experts)[None, :]).sum()) * self._others

    def chunks(
        self, points: int, experts: tuple[int, ...] | None = None
    ) -> Iterator[tuple[int, ...]]:
        """Split the first axis so that a chunk has about so many points, at least one value."""
        experts = self.axes["experts"] if experts is None else experts
        per_value = len(self.axes["top_k"]) * self._others
        step = max(1, points // per_value)
        for start in range(0, len(experts), step):
            yield experts[start : start + step]

    def slices(self, experts: tuple[int, ...], points: int) -> Iterator[tuple[int, ...]]:
        """Split the second axis too where one chunk of the first has many more points."""
        top_k = self.axes["top_k"]
        step = max(1, points // (len(experts) * self._others))
        for start in range(0, len(top_k), step):
            yield top_k[start : start + step]

    def designs(self, **axes: FloatArray) -> Designs:
        """Return designs of given axes; the expert width by policy unless it is among them."""
        if "expert_width" in axes:
            return Designs.of(**axes)
        draft = Designs.of(**axes, expert_width=1.0)
        return replace(draft, expert_width=self._width(draft))

    def _width(self, designs: Designs) -> FloatArray:
        """Width by policy; the reference's own experts keep their published one."""
        scenario, own = self.scenario, _moe(self.scenario.reference)
        budget = scenario.width_budget
        if budget is None:
            return np.full((1,) * len(designs.shape), float(own.expert_width))
        sharing = sharing_experts(scenario.reference, designs, budget)
        width = rounded_width(scenario.width_to_spend(budget), sharing, scenario.replica.width_step)
        published = (
            (designs.experts == own.experts)
            & (designs.top_k == own.top_k)
            & (designs.shared_experts == own.shared_experts)
        )
        baseline = scenario.baseline or scenario.reference
        published &= inner_size(baseline) == inner_size(scenario.reference)
        return np.where(published, float(own.expert_width), width)


def _moe(reference: Architecture) -> MixtureOfExperts:
    assert reference.moe is not None, "a space is only made of an MoE reference"
    return reference.moe


def _check_not_empty(space: Space) -> None:
    """Look at the axes as they were asked for, before the reference's own values join them."""
    for axis, least in (("experts", 1), ("top_k", 1), ("widths", 1)):
        values = getattr(space, axis)
        if values is not None and values[0] < least:
            raise UsageError(f"space: {axis} must be at least {least} ({values[0]})")
    if space.top_k[0] > space.experts[-1] and not {"experts", "top_k"} & {*space.fix}:
        raise UsageError(
            f"space: no design is left, top_k exceeds experts everywhere "
            f"(top_k >= {space.top_k[0]}, experts <= {space.experts[-1]})"
        )
