"""Time of one kind of kernel: launch floor, bytes over bandwidth, FLOP over compute."""

from dataclasses import dataclass, field

import numpy as np

from codesign.model.arrays import ArrayLike, FloatArray


@dataclass(frozen=True, slots=True)
class Kernel:
    """Achieved constants of one kind of kernel.

    Parameters
    ----------
    floor : array_like
        Time of the smallest launch [s].
    bandwidth, compute : array_like
        Achieved rates [B/s], [FLOP/s].
    norm : float
        p of the p-norm that joins byte and FLOP time: 1 adds them up, large p takes the larger [-].
    narrow_width : float
        Width of a routed expert from which its bandwidth falls, see `narrow_expert_efficiency`
        [element].
    """

    floor: ArrayLike
    bandwidth: ArrayLike
    compute: ArrayLike
    norm: float = 1.0
    narrow_width: float = 0.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Time of one component of a forward pass, by what takes it; arrays broadcast.

    Parameters
    ----------
    floor, memory, compute : ndarray
        Launch floors, byte time, FLOP time [s]; absent ones are zero.
    """

    floor: FloatArray = field(default_factory=lambda: np.zeros(()))
    memory: FloatArray = field(default_factory=lambda: np.zeros(()))
    compute: FloatArray = field(default_factory=lambda: np.zeros(()))

    @property
    def seconds(self) -> FloatArray:
        """The sum of the three [s].

        Notes
        -----
        docs/accuracy.md has its errors against measured kernels. Where byte and FLOP time overlap,
        a kernel's `norm` has shortened them.
        """
        return self.floor + self.memory + self.compute

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.floor + other.floor, self.memory + other.memory, self.compute + other.compute
        )

    def __mul__(self, times: ArrayLike) -> "Cost":
        return Cost(self.floor * times, self.memory * times, self.compute * times)


def kernel_cost(kernel: Kernel, launches: ArrayLike, traffic: ArrayLike, flop: ArrayLike) -> Cost:
    """Cost of so many launches that together move `traffic` and compute `flop`.

    Parameters
    ----------
    kernel : Kernel
    launches : array_like
        Number of launches [-].
    traffic, flop : array_like
        Of all launches together [B], [FLOP].

    Returns
    -------
    Cost
        Byte and FLOP time as they add up: those of a p-norm are shortened in proportion.

    Examples
    --------
    >>> h100 = Kernel(floor=26e-6, bandwidth=3.04e12, compute=655e12)
    >>> float(kernel_cost(h100, 1, 8 * 9.44e6, 2 * 8 * 4.72e6).seconds)  # doctest: +ELLIPSIS
    5.095...e-05
    """
    floor = np.asarray(launches * np.asarray(kernel.floor, dtype=np.float64))
    memory = np.asarray(traffic / np.asarray(kernel.bandwidth, dtype=np.float64))
    compute = np.asarray(flop / np.asarray(kernel.compute, dtype=np.float64))
    if kernel.norm == 1.0:
        return Cost(floor, memory, compute)
    kept = _overlap(memory, compute, kernel.norm)
    return Cost(floor, memory * kept, compute * kept)


def _overlap(memory: FloatArray, compute: FloatArray, norm: float) -> FloatArray:
    """p-norm of byte and FLOP time over their sum; 1 where either is zero."""
    longer = np.maximum(memory, compute)
    shorter = np.minimum(memory, compute) / np.where(longer > 0, longer, 1.0)
    return np.asarray((1.0 + shorter**norm) ** (1.0 / norm) / (1.0 + shorter))


def total_seconds(costs: dict[str, Cost]) -> FloatArray:
    """Sum the components of one forward pass in their order [s].

    Components that depend on fewer axes come first, so that the sum stays small until the last.
    """
    total = np.zeros(())
    for cost in costs.values():
        total = total + cost.seconds
    return total
