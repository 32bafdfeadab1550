"""What a design looks like to the quality laws, and the laws as members of an ensemble.

A member turns `QualityInputs` into a loss, knows the ranges its law was fitted on, and names the
intervals of the coefficients that have published ones.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from codesign.model.arrays import NORMAL_95, ArrayLike
from codesign.model.quality import laws

Ranges = Mapping[str, tuple[float, float]]
"""Lowest and highest value of some attributes of `QualityInputs`."""


@dataclass(frozen=True)
class QualityInputs:
    """All that the quality laws read of a design; fields broadcast against each other.

    Attributes
    ----------
    total, active : float or ndarray
        Parameters and active parameters, embeddings included.
    experts, top_k : float or ndarray
        Routed experts per layer and how many of them a token selects.
    shared_experts : float or ndarray
        Always-on experts in units of a routed one: count·(shared width)/(expert width).
    hidden_size, expert_width : float or ndarray
        Width of the residual stream and inner width of a routed expert.
    training_tokens : float or ndarray
        A fact of the reference, the same for every design.
    dense_experts : float or ndarray
        FFN of the layers without routing, in routed experts per routed layer:
        (dense layers·dense width)/(routed layers·expert width).
    """

    total: ArrayLike
    active: ArrayLike
    experts: ArrayLike
    top_k: ArrayLike
    shared_experts: ArrayLike
    hidden_size: ArrayLike
    expert_width: ArrayLike
    training_tokens: ArrayLike
    dense_experts: ArrayLike = 0.0

    @property
    def active_experts(self) -> ArrayLike:
        """Experts a token passes in a layer, shared ones included."""
        return self.top_k + self.shared_experts

    @property
    def shared_share(self) -> ArrayLike:
        """Shared experts among the active ones."""
        return self.shared_experts / self.active_experts

    @property
    def expansion(self) -> ArrayLike:
        """FFN parameters over active FFN parameters, dense layers included."""
        always_on = self.shared_experts + self.dense_experts
        return (self.experts + always_on) / (self.top_k + always_on)

    @property
    def granularity(self) -> ArrayLike:
        """Granularity as in `ling_2025`."""
        return 2 * self.hidden_size / self.expert_width

    @property
    def training_flops(self) -> ArrayLike:
        """Compute of the training run [FLOP]."""
        return 6.0 * self.active * self.training_tokens


class Interval(NamedTuple):
    """A coefficient with its 5 % and 95 % limits."""

    value: float
    low: float
    high: float

    def at(self, normal: ArrayLike) -> ArrayLike:
        """Value at a standard normal deviate, each side scaled to its own limit."""
        side = np.where(np.asarray(normal) < 0, self.value - self.low, self.high - self.value)
        return self.value + normal * side / NORMAL_95


@dataclass(frozen=True)
class Law:
    """A member of the ensemble.

    Attributes
    ----------
    name : str
        Name of the law's function.
    loss : callable
        Loss [nats per token] of a `QualityInputs` and, in order, the values of `coefficients`.
    scale, shape : mapping
        Ranges fitted on. Being outside in scale is shared with the reference and cancels from a
        difference to first order; being outside in shape does not.
    coefficients : tuple of Interval
        Coefficients with a known uncertainty; other laws publish none.
    """

    name: str
    loss: Callable[..., ArrayLike]
    scale: Ranges
    shape: Ranges
    coefficients: tuple[Interval, ...] = ()

    def difference(
        self, design: QualityInputs, reference: QualityInputs, deviates: Sequence[ArrayLike] = ()
    ) -> ArrayLike:
        """Loss of a design minus that of its reference [nats per token].

        `deviates` are standard normal, one for each coefficient; none stands for best values.
        """
        chosen = deviates or [0.0] * len(self.coefficients)
        values = [interval.at(z) for interval, z in zip(self.coefficients, chosen, strict=True)]
        return self.loss(design, *values) - self.loss(reference, *values)


def _joint(design: QualityInputs) -> ArrayLike:
    return laws.ludziejewski_2025(design.active, design.training_tokens, design.expansion)


def _geometric_mean(design: QualityInputs) -> ArrayLike:
    equivalent = laws.total_active_geometric_mean(design.total, design.active)
    return laws.dense_loss(equivalent, design.training_tokens)


def _leverage(design: QualityInputs) -> ArrayLike:
    gain = laws.ling_2025(1 / design.expansion, design.granularity, design.training_flops)
    return laws.dense_loss(gain * design.active, design.training_tokens)


def _five_factors(design: QualityInputs) -> ArrayLike:
    # No credit for sharing: the ensemble gives shared experts a zero-mean effect instead.
    return laws.zhao_2025(
        design.total, design.active, design.training_tokens, design.active_experts, 0.0
    )


def _effective(
    design: QualityInputs, theta: ArrayLike, eta: ArrayLike, maximum: ArrayLike
) -> ArrayLike:
    # A far draw from the wide interval of a small fit must not saturate below a dense model.
    saturation = np.maximum(maximum, 1.0)
    equivalent = laws.effective_parameters(
        design.total, design.active, design.active_experts, theta, eta, saturation
    )
    return laws.dense_loss(equivalent, design.training_tokens)


MEASURED_SCALE: Ranges = {"active": (16e6, 22e9), "training_tokens": (2e9, 245e9)}
MEASURED_SHAPE: Ranges = {"expansion": (1, 512), "active_experts": (1, 16)}
"""Reach of the ablations that EffParam is fitted on and √(total·active) was checked on."""

GEOMETRIC_MEAN = Law("total_active_geometric_mean", _geometric_mean, MEASURED_SCALE, MEASURED_SHAPE)
JOINT = Law(
    "ludziejewski_2025",
    _joint,
    scale={"active": (79e6, 2.7e9), "training_tokens": (0.5e9, 80e9)},
    shape={"expansion": (1, 32)},
)
LEVERAGE = Law(
    "ling_2025",
    _leverage,
    scale={"training_flops": (1e18, 6e20)},
    shape={"expansion": (1, 125), "granularity": (2, 16)},
)
FIVE_FACTORS = Law(
    "zhao_2025",
    _five_factors,
    scale={"total": (133e6, 3.4e9), "active": (30e6, 2.2e9), "training_tokens": (10e9, 50e9)},
    shape={"active_experts": (1, 20), "shared_share": (0, 0.7)},
)
EFFECTIVE_PARAMETERS = Law(
    "effective_parameters",
    _effective,
    MEASURED_SCALE,
    MEASURED_SHAPE,
    (Interval(0.648, 0.608, 0.681), Interval(0.285, 0.165, 0.442), Interval(107.0, 84.0, 151.0)),
)

SIMPLE = (GEOMETRIC_MEAN, JOINT)
ENSEMBLE = (GEOMETRIC_MEAN, EFFECTIVE_PARAMETERS, LEVERAGE, JOINT, FIVE_FACTORS)


def distance_outside(design: QualityInputs, ranges: Ranges) -> ArrayLike:
    """Largest factor by which a design lies outside some ranges; 1 inside all of them."""
    furthest: ArrayLike = 1.0
    for name, (low, high) in ranges.items():
        value = getattr(design, name)
        below = low / value if low > 0 else 0.0
        furthest = np.maximum(furthest, np.maximum(below, value / high))
    return furthest


def law_status(design: QualityInputs, law: Law) -> npt.NDArray[np.str_]:
    """How far a law speaks for a design, in words.

    Returns
    -------
    ndarray of str
        "interpolated": inside all its ranges. "ratio-extrapolated": inside in shape but not in
        scale, so only the ratio to a reference of like scale is worth anything. "outside": not
        even inside in shape.
    """
    out_of_shape = np.asarray(distance_outside(design, law.shape)) > 1
    out_of_scale = np.asarray(distance_outside(design, law.scale)) > 1
    words = np.where(out_of_scale, "ratio-extrapolated", "interpolated")
    return np.where(out_of_shape, "outside", words)
