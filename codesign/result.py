"""The answer to a study, in plain data with stable keys."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from codesign.records import Record

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = "codesign.result/1"


@dataclass(frozen=True)
class Certificate:
    """How sure the search is of its best design.

    Parameters
    ----------
    kind : {"exact", "gap", "none"}
        ``exact``: every design was evaluated. ``gap``: the best of those that were; the optimum is
        better by `regret` at most. ``none``: the best of those that were.
    designs, feasible : int, optional
        Valid and feasible designs of the space; feasible is unknown without enumeration.
    regret : float, optional
        Relative distance of the returned design to the optimum: 0 if exact, at most this with a
        gap; unknown without certificate.
    study_regret : float, optional
        The Optuna study's own, where both engines ran.
    trials, distinct_designs, study_feasible : int, optional
        Of the Optuna study.
    polished_designs : int, optional
        Designs that a local search from the study's best evaluated.
    """

    kind: str
    designs: int
    feasible: int | None
    regret: float | None
    study_regret: float | None = None
    trials: int | None = None
    distinct_designs: int | None = None
    study_feasible: int | None = None
    polished_designs: int | None = None


@dataclass(frozen=True, repr=False)
class Result:
    """The answer to a study.

    Parameters
    ----------
    study : dict
        The study, resolved.
    verdict : dict
        What to do: text, choice, gain over the reference, and how it was reached.
    best, reference, throughput_best : dict
        Design entries: design, objectives, constraints, prediction.
    certificate : Certificate
    on_bounds : list of str
        Axes on whose bound the best design lies.
    assumptions : tuple of str
    versions : dict of str to str
    front : list of dict
        Design entries that no feasible design beats in every objective of `front_objectives`.
    front_objectives : tuple of str
    binding : list of dict
        Constraints without which a better design would win, and what it would be.
    interval : dict, optional
        5-95 % of the objective over the draws: best, reference, gain between them.
    stability : dict, optional
        How often designs are optimal and on the front over the draws.
    plateau : dict, optional
        Designs within 1 % of the best, and the simplest of them.
    shadow_prices : list of dict, optional
        What loosening each constraint by its natural step would gain.
    value_of_information : list of dict, optional
        What knowing each uncertain input would be worth, and which calibration measures it.
    sensitivity : dict, optional
        Sobol indices of the axes, elasticities of the inputs.
    """

    study: Record
    verdict: Record
    best: Record
    reference: Record
    throughput_best: Record
    certificate: Certificate
    on_bounds: list[str]
    assumptions: tuple[str, ...]
    versions: dict[str, str]
    front: list[Record] = field(default_factory=list)
    front_objectives: tuple[str, ...] = ()
    binding: list[Record] = field(default_factory=list)
    interval: Record | None = None
    stability: Record | None = None
    plateau: Record | None = None
    shadow_prices: list[Record] | None = None
    value_of_information: list[Record] | None = None
    sensitivity: Record | None = None

    def __repr__(self) -> str:
        """Say what it is an answer to, and the answer; `to_dict` has all of it."""
        return f"<Result of {self.study['name']!r}: {self.verdict['text']}>"

    def to_frame(self) -> "pd.DataFrame":
        """Return the designs as a table: best, throughput-best, reference, then the front.

        One row each: its role, axes, objectives, and every constraint's slack in its unit.
        """
        import pandas as pd

        roles = [("best", self.best), ("throughput_best", self.throughput_best)]
        roles += [("reference", self.reference), *(("front", entry) for entry in self.front)]
        return pd.DataFrame(
            {
                "role": role,
                **entry["design"],
                **entry["objectives"],
                **{f"slack_{name}": each["slack"] for name, each in entry["constraints"].items()},
            }
            for role, entry in roles
        )

    def _repr_html_(self) -> str:
        """Show the answer in a notebook: verdict, certificate, designs."""
        from html import escape

        own = self.certificate
        sure = f"certificate: {own.kind}, {own.designs:,} designs"
        if own.feasible is not None:
            sure += f", {own.feasible:,} feasible"
        table = self.to_frame().to_html(index=False, max_rows=20, float_format="{:.6g}".format)
        return f"<p><b>{escape(self.verdict['text'])}</b><br>{escape(sure)}</p>{table}"

    def to_dict(self) -> dict[str, Any]:
        """Return the stable machine-readable form; what was not computed is null."""
        return {
            "schema": SCHEMA,
            "study": self.study,
            "verdict": self.verdict,
            "best": self.best,
            "throughput_best": self.throughput_best,
            "reference": self.reference,
            "certificate": vars(self.certificate),
            "front": self.front,
            "front_objectives": list(self.front_objectives),
            "binding": self.binding,
            "on_bounds": self.on_bounds,
            "interval": self.interval,
            "stability": self.stability,
            "plateau": self.plateau,
            "shadow_prices": self.shadow_prices,
            "value_of_information": self.value_of_information,
            "sensitivity": self.sensitivity,
            "assumptions": list(self.assumptions),
            "versions": self.versions,
        }
