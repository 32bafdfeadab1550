"""Calibration sections about time: step times and where a step's time goes."""

from typing import Final, Self

from pydantic import model_validator

from codesign.spec.section import Section, require_between
from codesign.units import UNITS

CONSTANTS: Final = {
    "floor": "time", "host_time": "time", "sd_overhead": "time", "bandwidth": "bandwidth",
    "compute": "compute",
}  # fmt: skip
"""Dimension of a constant by the end of its name."""

SLOWEST: Final = 1e-9
"""Rate below which nothing is a device, in any unit."""


class LatencySection(Section):
    """Constants of the step time, fitted to measured points.

    Parameters
    ----------
    hardware, backend, dtype, architecture : str, optional
        What the points were measured on, and so what the constants hold for.
    gpus : int, optional
        Of the replica.
    """

    hardware: str | None = None
    backend: str | None = None
    dtype: str | None = None
    architecture: str | None = None
    gpus: int | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Hold every constant to a unit of its kind and to a value that time can have."""
        for name, parameter in self.parameters.items():
            dimension = CONSTANTS.get(name.rpartition(".")[2])
            if dimension is None:
                continue
            if parameter.unit not in UNITS[dimension]:
                known = ", ".join(unit for unit in UNITS[dimension] if unit)
                raise ValueError(
                    f"parameters.{name}: unit {parameter.unit!r} is none of a {dimension}: {known}"
                )
            require_between(self.parameters, name, 0.0 if dimension == "time" else SLOWEST)
        return self


class ProfileSection(Section):
    """Shares of a step's time, measured from kernel times.

    Parameters
    ----------
    batch_size, draft_tokens : int, optional
        Load of the profiled steps.
    """

    batch_size: int | None = None
    draft_tokens: int | None = None
