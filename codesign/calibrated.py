"""What a calibration file replaces in a scenario, and the sentences that say so."""

from dataclasses import replace
from pathlib import Path

from codesign.calibration.calibrated_replica import apply_latency
from codesign.calibration.file import load_calibration
from codesign.calibration.router.apply import calibrated_router
from codesign.errors import UsageError
from codesign.model.routing import RouterParameters
from codesign.replica import Replica
from codesign.scenario import Scenario
from codesign.spec.calibration import AcceptanceSection, Calibration
from codesign.spec.draft import DEFAULT_ACCEPTANCE, Acceptance
from codesign.spec.hardware import Deployment
from codesign.spec.section import Section
from codesign.spec.study import RoutingChoice, Study


def calibration_of(study: Study) -> Calibration | None:
    """Read the calibration that a study names.

    Raises
    ------
    UsageError
        If the file is no calibration.
    """
    return None if study.calibration is None else load_calibration(Path(study.calibration))


def router_in_use(
    router: RouterParameters, calibration: Calibration | None, choice: RoutingChoice
) -> RouterParameters:
    """Return the measured router in place of the model's own, unless a study asks for another.

    Parameters
    ----------
    router : RouterParameters
        That of the choice without a calibration.

    Raises
    ------
    UsageError
        If no router has the parameters of the calibration.
    """
    section = None if calibration is None else calibration.routing
    if section is None or choice in ("generic", "uniform"):
        return router
    try:
        measured = calibrated_router(section, router)
    except ValueError as error:  # some of its parameters beside defaults for the rest
        raise UsageError(f"the calibration's routing: {error}") from None
    return measured.popularity_only() if choice == "independent" else measured


def acceptance_in_use(given: Acceptance, calibration: Calibration | None) -> Acceptance:
    """Return the measured acceptance in place of the default; one that a study gives stands."""
    section = None if calibration is None else calibration.acceptance
    if section is None or given != DEFAULT_ACCEPTANCE:
        return given
    if section.form == "positions":
        return Acceptance(form="positions", values=section.survival)
    names = {"decay": ("first", "ratio"), "constant": ("rate",)}[section.form]
    fallback = dict(zip(("first", "ratio"), DEFAULT_ACCEPTANCE.values, strict=True))
    values = (
        section.parameters[name].value if name in section.parameters else fallback[name]
        for name in names
    )
    return Acceptance(form=section.form, values=tuple(values))


def replica_in_use(
    replica: Replica, calibration: Calibration | None, study: Study, architecture: str
) -> Replica:
    """Return the replica with measured step-time constants; overheads that a study gives stand."""
    section = None if calibration is None else calibration.latency
    if section is None:
        return replica
    given = {
        name: getattr(study.deployment, name)
        for name in ("host_time", "sd_overhead")
        if getattr(study.deployment, name) != getattr(Deployment(), name)
    }
    return replace(apply_latency(section, replica, architecture), **given)


def routing_origin(study: Study, scenario: Scenario) -> str | None:
    """Say where a measured router comes from; nothing where none is in use."""
    section = None if scenario.calibration is None else scenario.calibration.routing
    if section is None or study.routing in ("generic", "uniform"):
        return None
    origin = f"calibrated ({_measured(section)})"
    if section.defaults:
        origin += f"; at their defaults: {', '.join(section.defaults)}"
    moe = scenario.reference.moe
    if moe is not None and (moe.experts, moe.top_k) != (section.experts, section.top_k):
        origin += f"; measured at {section.experts} experts, top-{section.top_k}"
    return origin


def acceptance_origin(study: Study, scenario: Scenario) -> str | None:
    """Say where a measured acceptance comes from; nothing where none is in use."""
    section: AcceptanceSection | None = None
    if scenario.calibration is not None:
        section = scenario.calibration.acceptance
    if section is None or study.acceptance != DEFAULT_ACCEPTANCE:
        return None
    origin = f"calibrated ({_measured(section)})"
    if section.defaults:
        origin += f"; at their defaults: {', '.join(section.defaults)}"
    return origin


def _measured(section: Section) -> str:
    files = ", ".join(Path(source.file).name for source in section.sources[:2])
    more = f" and {len(section.sources) - 2} more" if len(section.sources) > 2 else ""
    return f"{files}{more}: {section.samples:,} {section.samples_unit}, {section.date}"


def calibration_sentences(scenario: Scenario) -> list[str]:
    """Say which sections are calibrated and which parts stay at documented defaults."""
    calibration = scenario.calibration
    if calibration is None:
        return ["calibration: none given; routing, acceptance and step times are defaults"]
    present = list(calibration.sections())
    absent = [name for name in ("routing", "acceptance", "latency") if name not in present]
    line = f"calibration: {', '.join(present)} calibrated"
    return [line + (f"; documented defaults for {', '.join(absent)}" if absent else "")]
