"""The answer to a study, in plain data with stable keys."""

from dataclasses import dataclass
from typing import Any

from codesign.records import Record

SCHEMA = "codesign.result/1"


@dataclass(frozen=True)
class Certificate:
    """How sure the search is of its best design.

    Parameters
    ----------
    kind : {"exact", "none"}
        ``exact``: every design was evaluated. ``none``: the best of an Optuna study, which may
        not be the optimum.
    designs, feasible : int, optional
        Valid and feasible designs of the space; feasible is unknown without enumeration.
    regret : float, optional
        Relative distance of the returned design to the best known; unknown without certificate.
    study_regret : float, optional
        The Optuna study's own, where both engines ran.
    trials, distinct_designs, study_feasible : int, optional
        Of the Optuna study.
    """

    kind: str
    designs: int
    feasible: int | None
    regret: float | None
    study_regret: float | None = None
    trials: int | None = None
    distinct_designs: int | None = None
    study_feasible: int | None = None


@dataclass(frozen=True)
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
    front : list of dict
        Design entries that no feasible design beats in every objective of `front_objectives`.
    front_objectives : tuple of str
    binding : list of dict
        Constraints without which a better design would win, and what it would be.
    on_bounds : list of str
        Axes on whose bound the best design lies.
    assumptions : tuple of str
    versions : dict of str to str
    """

    study: Record
    verdict: Record
    best: Record
    reference: Record
    throughput_best: Record
    certificate: Certificate
    front: list[Record]
    front_objectives: tuple[str, ...]
    binding: list[Record]
    on_bounds: list[str]
    assumptions: tuple[str, ...]
    versions: dict[str, str]

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
            "interval": None,
            "stability": None,
            "plateau": None,
            "shadow_prices": None,
            "sensitivity": None,
            "assumptions": list(self.assumptions),
            "versions": self.versions,
        }
