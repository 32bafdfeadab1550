"""One calibration file: what was fitted to a user's own measurements, section by section."""

from itertools import pairwise
from typing import Final, Literal, Self

from pydantic import Field, model_validator

from codesign.spec.base import Fraction, Items, PositiveCount, Spec
from codesign.spec.measured_times import LatencySection, ProfileSection
from codesign.spec.section import Parameter, Section, require_between

VERSION: Final = "codesign.calibration/1"

SectionName = Literal["routing", "acceptance", "latency", "profile", "quality"]
AcceptanceForm = Literal["constant", "decay", "positions"]


ROUNDING: Final = 1e-6
"""By which rounded variances may add up to more than 1."""

ROUTER_RANGES: Final = {
    "popularity": (0.0, 1.0), "request": (0.0, 1.0), "recency": (0.0, 1.0), "decay": (1e-9, 1.0),
}  # fmt: skip


class LayerRouting(Spec):
    """Router parameters of one MoE layer; `layer` as numbered in the file."""

    layer: int
    parameters: dict[str, Parameter]
    window_correlations: dict[str, Parameter] = Field(default_factory=dict)


class RoutingSection(Section):
    """Router correlations, pooled over layers in `parameters` and per layer.

    Parameters
    ----------
    experts, top_k : int
        N and k of the trace [-].
    window_correlations : dict
        r_w(q) by window length q [-].
    layers : list of LayerRouting
    """

    experts: PositiveCount
    top_k: PositiveCount
    window_correlations: dict[str, Parameter] = Field(default_factory=dict)
    layers: Items[LayerRouting] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Hold the parameters to what a router can be: variances that add up to 1 at most."""
        for name, (low, high) in ROUTER_RANGES.items():
            require_between(self.parameters, name, low, high)
        value = {name: parameter.value for name, parameter in self.parameters.items()}
        parts = [value.get("popularity", 0.0), value.get("request", 0.0)]
        if "recency" in value and "decay" in value:
            parts.append(value["recency"] / value["decay"])
        if sum(parts) > 1 + ROUNDING:
            raise ValueError(
                f"parameters: popularity + request + recency / decay is {sum(parts):g}, more than 1"
            )
        return self


class AcceptanceGroup(Spec):
    """What was seen at one draft length.

    Parameters
    ----------
    draft_tokens : int, optional
        K; absent where the files do not say.
    drafts : float, optional
        Draft-verify cycles [-].
    acceptance_length : Parameter
        With the bonus token [token].
    survival : list of Parameter
        Accepted at each position, unconditional [-].
    """

    draft_tokens: PositiveCount | None = None
    drafts: float | None = Field(default=None, ge=0)
    acceptance_length: Parameter
    survival: Items[Parameter] = ()


class AcceptanceSection(Section):
    """How many drafted tokens the target accepts.

    Parameters
    ----------
    form : {"constant", "decay", "positions"}
        The one that the model uses.
    survival : list of float
        Fitted, non-increasing, by position up to the largest observed draft length [-].
    groups : list of AcceptanceGroup
        By draft length.
    """

    form: AcceptanceForm
    survival: Items[Fraction] = ()
    groups: Items[AcceptanceGroup] = ()

    @property
    def observed(self) -> int:
        """Largest draft length seen; positions beyond it are carried on [token]."""
        lengths = (group.draft_tokens or 0 for group in self.groups)
        return max(len(self.survival), *lengths, 0)

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in ("rate", "first", "ratio"):
            require_between(self.parameters, name, 0.0, 1.0)
        if self.form == "positions" and not self.survival:
            raise ValueError("form positions needs a survival")
        if any(later > earlier for earlier, later in pairwise(self.survival)):
            raise ValueError("survival per position cannot rise")
        return self


class QualitySection(Section):
    """Coefficients of the effective-parameters law, fitted to a team's own ablations."""


class Calibration(Spec):
    """A calibration file.

    Parameters
    ----------
    version : str
        Of the file's form.
    routing, acceptance, latency, profile, quality : Section, optional
        What a section lacks, or an absent section, stays at the documented defaults.
    """

    version: Literal["codesign.calibration/1"] = VERSION
    routing: RoutingSection | None = None
    acceptance: AcceptanceSection | None = None
    latency: LatencySection | None = None
    profile: ProfileSection | None = None
    quality: QualitySection | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.sections():
            raise ValueError("a calibration has at least one section")
        return self

    def sections(self) -> dict[SectionName, Section]:
        """Return the sections that are there, by name."""
        found: dict[SectionName, Section | None] = {
            "routing": self.routing,
            "acceptance": self.acceptance,
            "latency": self.latency,
            "profile": self.profile,
            "quality": self.quality,
        }
        return {name: section for name, section in found.items() if section is not None}
