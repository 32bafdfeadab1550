"""What is not known exactly, and within which ranges it is drawn."""

from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from codesign.spec.base import Count, Fraction, Seconds, Spec

Relative = Annotated[float, Field(ge=0, lt=1)]


class Range(Spec):
    """Lowest and highest value of a probability or correlation."""

    low: Fraction
    high: Fraction

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low must not exceed high: {self.low:g} > {self.high:g}")
        return self


class TimeRange(Spec):
    """Lowest and highest value of a time [s]."""

    low: Seconds
    high: Seconds

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.low > self.high:
            raise ValueError(f"low must not exceed high: {self.low:g} > {self.high:g}")
        return self


class KernelErrors(Spec):
    """Relative standard errors of a kernel's constants.

    Parameters
    ----------
    floor, bandwidth, compute : float
        [-]
    """

    floor: Relative
    bandwidth: Relative
    compute: Relative


class Uncertainty(Spec):
    """Prior ranges of what nobody has measured for this study.

    Every range is drawn as a triangle whose peak is the value in use, or the end nearest to it; a
    default range is widened where it does not hold that value; kernel constants are drawn as
    log-normal factors. An input the study states, or a calibration has measured, is not drawn
    from here.

    Parameters
    ----------
    draws : int
        Joint draws; 0 answers for the values in use alone. One has no spread, and is refused.
    popularity : Range
        r_p, as of published routers.
    window_correlation : float
        Half width around the r_w(4) in use; a training-recipe trait.
    acceptance_rate, acceptance_decay : Range
        Of the default acceptance: from the lower quartile of measured chains at K = 3 to the best
        curves of InferenceX's golden lists.
    host_time, sd_overhead : TimeRange
        Seen between compiled and Python-bound engines; SGLang's dense controls.
    cycle_ratio : float
        Relative error of the cycle ratio that no input explains, common to all designs. It was set
        to the spread over the MoE chains in docs/accuracy.md, which are not held out from it.
    measured_kernels, scaled_kernels : KernelErrors
        Of constants measured on this device, and scaled from another.
    """

    draws: Count = 64
    popularity: Range = Range(low=0.06, high=0.30)
    window_correlation: float = Field(default=0.15, ge=0, le=0.5)
    acceptance_rate: Range = Range(low=0.60, high=0.91)
    acceptance_decay: Range = Range(low=0.90, high=0.975)
    host_time: TimeRange = TimeRange.from_data({"low": "0 ms", "high": "1 ms"})
    sd_overhead: TimeRange = TimeRange.from_data({"low": "0 ms", "high": "1.7 ms"})
    cycle_ratio: Relative = 0.11
    measured_kernels: KernelErrors = KernelErrors(floor=0.1, bandwidth=0.03, compute=0.06)
    scaled_kernels: KernelErrors = KernelErrors(floor=0.25, bandwidth=0.10, compute=0.15)

    @field_validator("draws")
    @classmethod
    def _have_spread(cls, draws: int) -> int:
        if draws == 1:
            raise ValueError("must be 0 for none, or at least 2: a single draw has no spread")
        return draws
