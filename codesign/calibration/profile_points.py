"""Where the time of a step goes, as a profiler saw it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from codesign.calibration.kernel_names import Category


@dataclass(frozen=True)
class KernelTotal:
    """All calls of one kernel, in what a profile covers."""

    name: str
    category: Category
    seconds: float
    calls: int


@dataclass(frozen=True)
class StepProfile:
    """Mean over the steps of one load.

    Parameters
    ----------
    batch_size, width : float, optional
        b and q; absent where the profile does not say.
    steps : int, optional
        Steps averaged; absent where times are of the whole profile.
    summed : mapping
        Kernel time by category [s].
    union : mapping, optional
        The same, overlapping kernels of a category counted once [s].
    busy : float, optional
        Time in which anything ran [s].
    span : float, optional
        From the first kernel to the end of the last [s].
    period : float, optional
        From the start of a step to that of the next, idle time included [s].
    unlisted : float
        Kernel time that the profile counts but does not list by name [s].
    kernels : float, optional
        Launches in a step.
    fraction_error : float, optional
        Standard error of the routed share over the steps [-].
    """

    batch_size: float | None
    width: float | None
    steps: int | None
    summed: Mapping[Category, float]
    union: Mapping[Category, float] | None = None
    busy: float | None = None
    span: float | None = None
    period: float | None = None
    unlisted: float = 0.0
    kernels: float | None = None
    fraction_error: float | None = None

    @property
    def kernel_time(self) -> float:
        """Listed kernels, copies left out, summed [s]."""
        return sum(s for name, s in self.summed.items() if name != "copies")

    @property
    def copies(self) -> float:
        """Copies and fills [s]."""
        return self.summed.get("copies", 0.0)

    @property
    def routed(self) -> float:
        """Routed expert products [s]."""
        return self.summed.get("routed_experts", 0.0)

    def denominators(self) -> dict[str, float]:
        """Times that the routed share can be taken of, by what they hold [s]."""
        found = {"kernels listed": self.kernel_time}
        if self.unlisted:
            found["all kernels"] = self.kernel_time + self.copies + self.unlisted
        if self.copies:
            found["kernels and copies listed"] = self.kernel_time + self.copies
        for name, value in (
            ("busy time", self.busy), ("GPU span", self.span), ("step period", self.period),
        ):  # fmt: skip
            if value:
                found[name] = value
        return found


@dataclass(frozen=True)
class Profile:
    """What a reader makes of a profile.

    Parameters
    ----------
    source, title : str
    loads : tuple of StepProfile
        One for each load that step markers tell apart, the most frequent first.
    kernels : tuple of KernelTotal
        By time.
    notes : tuple of str
    """

    source: str
    title: str
    loads: tuple[StepProfile, ...]
    kernels: tuple[KernelTotal, ...]
    notes: tuple[str, ...] = field(default=())
