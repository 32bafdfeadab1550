"""The designs under comparison: arrays over the axes that are searched."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from codesign.model.arrays import ArrayLike, FloatArray
from codesign.spec.architecture import Architecture

AXES = ("experts", "top_k", "shared_experts", "draft_tokens", "expert_width")
"""Names of a design's figures, in the order they are written."""


@dataclass(frozen=True)
class Designs:
    """Any number of designs, as arrays that broadcast against each other.

    An open mesh, axes on separate dimensions, keeps every intermediate figure on the axes that it
    really depends on; equal one-dimensional arrays are a list of designs.

    Parameters
    ----------
    experts, top_k, shared_experts, draft_tokens : array_like of int
        N, k, S and K [-], [-], [-], [token].
    expert_width : array_like
        Intermediate width of one routed expert [element].
    """

    experts: FloatArray
    top_k: FloatArray
    shared_experts: FloatArray
    draft_tokens: FloatArray
    expert_width: FloatArray

    def __post_init__(self) -> None:
        for axis in AXES:  # whoever is shown designs cannot change them for the next one
            getattr(self, axis).flags.writeable = False

    @classmethod
    def of(
        cls,
        experts: ArrayLike,
        top_k: ArrayLike,
        shared_experts: ArrayLike,
        draft_tokens: ArrayLike,
        expert_width: ArrayLike,
    ) -> Self:
        """Build from scalars or arrays; all get the same number of dimensions, at least one."""
        given = (experts, top_k, shared_experts, draft_tokens, expert_width)
        arrays = [np.asarray(values, dtype=np.float64) for values in given]
        dimensions = max(1, *(array.ndim for array in arrays))
        return cls(*(array.reshape((1,) * (dimensions - array.ndim) + array.shape)
                     for array in arrays))  # fmt: skip

    @classmethod
    def of_architecture(cls, architecture: Architecture, draft_tokens: ArrayLike) -> Self:
        """Return one architecture with one or several draft lengths; a dense one has N = k = 1."""
        moe = architecture.moe
        if moe is None:
            return cls.of(1, 1, 0, draft_tokens, 1)
        return cls.of(moe.experts, moe.top_k, moe.shared_experts, draft_tokens, moe.expert_width)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape that the axes broadcast to; its product is the number of designs."""
        return np.broadcast_shapes(*(getattr(self, axis).shape for axis in AXES))

    def take(self, index: NDArray[np.integer[Any]] | int) -> Self:
        """Return the designs at flat positions, as equal one-dimensional arrays."""
        places = np.unravel_index(np.atleast_1d(index), self.shape)
        return type(self)(*(_pick(getattr(self, axis), places) for axis in AXES))

    def joined(self, *others: Self) -> Self:
        """Return several lists of designs as one."""
        lists = (self, *others)
        return type(self)(*(np.concatenate([getattr(each, axis) for each in lists])
                            for axis in AXES))  # fmt: skip

    def rows(self) -> list[dict[str, int]]:
        """Return every design as a dictionary of whole numbers."""
        shape = self.shape
        columns = [np.broadcast_to(getattr(self, axis), shape).reshape(-1) for axis in AXES]
        return [dict(zip(AXES, map(int, row), strict=True)) for row in zip(*columns, strict=True)]


def _pick(values: FloatArray, places: tuple[NDArray[np.intp], ...]) -> FloatArray:
    """Values of one axis of a mesh at some points; dimensions it lacks are one element long."""
    sizes = zip(places, values.shape, strict=True)
    return values[tuple(place if size > 1 else np.zeros_like(place) for place, size in sizes)]
