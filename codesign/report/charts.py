"""Charts as plain data: what is drawn, in SI units, whatever draws it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from codesign.model.arrays import FloatArray
from codesign.records import Record

Kind = Literal["line", "steps", "points", "bars"]
Role = Literal["best", "reference", "throughput", "control", "quiet"]
Dash = Literal["solid", "dash", "dot"]

COLOURS: Final[dict[Role, str]] = {
    "best": "#0072B2",
    "reference": "#D55E00",
    "throughput": "#CC79A7",
    "control": "#009E73",
    "quiet": "#8A8A8A",
}
"""Okabe and Ito's, those with a contrast of 3:1 on white and on near-black."""

SEQUENCE: Final[tuple[Role, ...]] = ("best", "reference", "control", "throughput", "quiet")
"""Colours of several results or draft lengths; dashes tell further ones apart."""

DASHES: Final[tuple[Dash, ...]] = ("solid", "dash", "dot")

REGIME_COLOURS: Final[dict[str, str]] = {
    "partial load": "#56B4E9",
    "sweet spot": "#2BB58C",
    "memory bound": "#B8B8B8",
    "compute bound": "#E69F00",
}
"""Fills that carry black text."""

SYMBOLS: Final[dict[Role, str]] = {
    "best": "star",
    "reference": "diamond",
    "throughput": "triangle-up",
    "control": "square",
    "quiet": "circle",
}


@dataclass(frozen=True)
class Axis:
    """One axis.

    Parameters
    ----------
    label : str
        With its unit.
    log : bool
    percent : bool
        Values are fractions of one, shown as per cent.
    whole : bool
        Values are whole numbers.
    """

    label: str
    log: bool = False
    percent: bool = False
    whole: bool = False


@dataclass(frozen=True)
class Series:
    """What one entry of the legend stands for.

    Parameters
    ----------
    name : str
    x, y : sequence
        Numbers; names of categories on the axis of bars that lie.
    kind : {"line", "steps", "points", "bars"}
        Bars lie: their length is `x`.
    role : str
        Decides the colour.
    dash : {"solid", "dash", "dot"}
    labels : sequence of str
        One per point, shown on hover.
    """

    name: str
    x: Sequence[object] | FloatArray
    y: Sequence[object] | FloatArray
    kind: Kind = "line"
    role: Role = "best"
    dash: Dash = "solid"
    labels: Sequence[str] = ()


@dataclass(frozen=True)
class Span:
    """A stretch of the horizontal axis on a ribbon below the chart.

    Parameters
    ----------
    row : str
        Which ribbon.
    start, stop : float
    regime : str
    """

    row: str
    start: float
    stop: float
    regime: str


@dataclass(frozen=True)
class Mark:
    """A vertical line with a few words."""

    x: float
    label: str
    role: Role = "quiet"


@dataclass(frozen=True)
class Heat:
    """A map of one figure, with a ridge along it.

    Parameters
    ----------
    x, y : ndarray
    z : ndarray, shape (y, x)
    label : str
    ridge : Series
    """

    x: FloatArray
    y: FloatArray
    z: FloatArray
    label: str
    ridge: Series


@dataclass(frozen=True)
class Chart:
    """A chart.

    Parameters
    ----------
    name : str
        Stable key: file name and anchor.
    title : str
        What it answers.
    caption : str
        How to read it.
    x, y : Axis
    series : tuple of Series
    spans : tuple of Span
    marks : tuple of Mark
    heat : Heat, optional
    """

    name: str
    title: str
    caption: str
    x: Axis
    y: Axis
    series: tuple[Series, ...] = ()
    spans: tuple[Span, ...] = ()
    marks: tuple[Mark, ...] = ()
    heat: Heat | None = None

    def records(self) -> list[Record]:
        """Return every point as a row, for CSV."""
        drawn = [*self.series, *([self.heat.ridge] if self.heat else [])]
        rows: list[Record] = [
            {"series": each.name, "x": _plain(x), "y": _plain(y)}
            for each in drawn
            for x, y in zip(each.x, each.y, strict=True)
        ]
        if self.heat is not None:
            rows += [
                {"series": self.heat.label, "x": float(x), "y": float(y), "z": float(z)}
                for y, line in zip(self.heat.y, self.heat.z, strict=True)
                for x, z in zip(self.heat.x, line, strict=True)
            ]
        rows += [
            {"series": f"regime of {span.row}", "x": span.start, "y": span.regime}
            for span in self.spans
        ]
        return rows


def _plain(value: object) -> object:
    return value if isinstance(value, str | int) else float(value)  # type: ignore[arg-type]


def look(place: int) -> tuple[Role, Dash]:
    """Return how one of several equal series is drawn: colours first, then dashes."""
    rounds, colour = divmod(place, len(SEQUENCE))
    return SEQUENCE[colour], DASHES[rounds % len(DASHES)]
