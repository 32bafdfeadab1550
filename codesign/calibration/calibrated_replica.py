"""A replica whose constants come from a calibration."""

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
    if section.hardware != replica.hardware.name:
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


def _applied(section: LatencySection, taken: Mapping[str, Parameter], architecture: str) -> str:
    if not taken:
        return "latency calibration: none of its constants belongs to this deployment"
    listed = ", ".join(f"{name} {p.value:.4g} {p.unit}" for name, p in taken.items())
    other = "" if section.architecture == architecture else f", fitted on {section.architecture}"
    return f"latency calibration of {section.date}{other}: {listed}; the rest is the profile's"
