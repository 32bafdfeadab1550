"""One calibration file: what was fitted to a user's own measurements, section by section."""

from typing import Final, Literal, Self

from pydantic import Field, model_validator

from codesign.spec.base import Fraction, Items, PositiveCount, Spec
from codesign.spec.measured_times import LatencySection, ProfileSection
from codesign.spec.section import Parameter, Section

VERSION: Final = "codesign.calibration/1"

SectionName = Literal["routing", "acceptance", "latency", "profile", "quality"]
AcceptanceForm = Literal["constant", "decay", "positions"]


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
