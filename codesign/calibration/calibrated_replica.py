"""A replica whose constants come from a calibration, and how sure they are."""

from collections.abc import Mapping
from dataclasses import replace

from codesign.calibration.step_constants import constants_of, in_si
from codesign.replica import Replica
from codesign.spec.measured_times import LatencySection
from codesign.spec.section import Parameter


def apply_latency(section: LatencySection, replica: Replica, architecture: str) -> Replica:
    """Return a replica with the constants of a section in place of the profile's.

    Parameters
    ----------
    section : LatencySection
    replica : Replica
        Whose `assumptions` get a line on what was taken, or why nothing was.
    architecture : str
        What is to be predicted.
    """
    if not measured_on(section, replica):
        measured = section.hardware or "a device that it does not name"
        line = f"latency calibration is of {measured}, not {replica.hardware.name}: not used"
        return replace(replica, assumptions=(*replica.assumptions, line))
    known = {constant.name: constant for constant in constants_of(replica)}
    taken = {name: p for name, p in section.parameters.items() if name in known}
    calibrated = replica
    for name, parameter in taken.items():
        calibrated = known[name].put(calibrated, in_si(parameter.value, parameter.unit))
    line = _applied(section, taken, architecture)
    return replace(calibrated, assumptions=(*replica.assumptions, line))


def measured_on(section: LatencySection, replica: Replica) -> bool:
    """Whether a section holds for the device of a replica."""
    return section.hardware == replica.hardware.name


def relative_error(section: LatencySection, kind: str, constant: str) -> float | None:
    """Return the relative standard error of a kernel constant, the largest over number formats.

    Nothing where it was not fitted, or its error is unknown.
    """
    errors = [
        parameter.standard_error / parameter.value
        for name, parameter in section.parameters.items()
        if name.startswith(f"{kind}.") and name.endswith(f".{constant}")
        if parameter.standard_error is not None and parameter.value > 0
    ]
    return max(errors, default=None)


def _applied(section: LatencySection, taken: Mapping[str, Parameter], architecture: str) -> str:
    if not taken:
        return "latency calibration: none of its constants belongs to this deployment"
    listed = ", ".join(f"{name} {p.value:.4g} {p.unit}" for name, p in taken.items())
    other = "" if section.architecture == architecture else f", fitted on {section.architecture}"
    return (
        f"latency calibration of {section.date}{other}, in place of the above: {listed}; the rest "
        "is the profile's"
    )
