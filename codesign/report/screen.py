"""The first screen: verdict, design against the reference, how sure, and three reasons."""

from dataclasses import dataclass, replace

from codesign.records import Record
from codesign.report.cells import Cell, Row, Sentence, Table, cell, change, table
from codesign.report.glossary import label, unit
from codesign.report.sentences import (
    certificate,
    gain,
    headline,
    objective_detail,
    quality,
    reasons,
)

SHAPE = {
    "experts": "experts (N)",
    "top_k": "used per token (k)",
    "shared_experts": "always on (S)",
    "expert_width": "width of one",
    "draft_tokens": "drafted tokens (K)",
}
COMPARED = {
    "sd_tpot_s": "time/token with SD",
    "sd_tokens_per_s_per_gpu": "tokens/s/GPU with SD",
    "total_params": "total parameters",
    "loss_difference": "loss [nat/token]",
}
REASONS = ("Why.", "What limits it.", "How sure.")


@dataclass(frozen=True)
class Tile:
    """One large figure with what it means."""

    name: str
    title: str
    figure: Cell
    detail: Sentence


@dataclass(frozen=True)
class Screen:
    """All of the first screen but the question.

    Parameters
    ----------
    choice : {"best", "reference"}
    headline, gain : Sentence
    tiles : tuple of Tile
    against : Table
        The best design and the reference.
    reasons : tuple of (str, Sentence)
    """

    choice: str
    headline: Sentence
    gain: Sentence
    tiles: tuple[Tile, ...]
    against: Table
    reasons: tuple[tuple[str, Sentence], ...]


def first_screen(result: Record) -> Screen:
    """Return the first screen of a result."""
    return Screen(
        result["verdict"]["choice"],
        headline(result),
        gain(result),
        _tiles(result),
        _against(result),
        tuple(zip(REASONS, reasons(result), strict=True)),
    )


def _tiles(result: Record) -> tuple[Tile, ...]:
    name = result["verdict"]["objective"]
    at = ("best", "prediction", "quality", "probability")
    drawn = "" if result["interval"] is None else ", expected"
    objective = cell(result, "best", "objectives", name, unit=unit(name), digits=3)
    probability = cell(result, *at, unit="share", digits=2)
    if probability.value is None:
        probability = Cell("unknown")
    return (
        Tile("objective", f"{label(name)}{drawn}", objective, objective_detail(result)),
        Tile("certificate", "certificate", cell(result, "certificate", "kind"),
             certificate(result)),
        Tile("quality", "probability that quality holds",
             probability, quality(result)),
    )  # fmt: skip


def _against(result: Record) -> Table:
    """The recommended design first, whichever of the two that is."""
    rows: list[Row] = []
    for axis, title in SHAPE.items():
        rows.append([
            title, cell(result, "best", "design", axis),
            cell(result, "reference", "design", axis), None,
        ])  # fmt: skip
    for name, title in COMPARED.items():
        ends = ("best", "prediction", name), ("reference", "prediction", name)
        loss = name == "loss_difference"
        kind = "difference" if loss else unit(name)
        cells = [cell(result, *end, unit=kind, digits=2 if loss else 3) for end in ends]
        rows.append([title, *cells, Cell() if loss else change(result, *ends)])
    columns = {"figure": "", "best": "best", "reference": "reference", "change": "change"}
    return table("against", "The best design against the reference", columns, rows)


def taken_from(screen: Screen, source: int) -> Screen:
    """Return the screen with its cells pointing into one of several results."""

    def moved(sentence: Sentence) -> Sentence:
        return tuple(
            replace(part, source=source) if isinstance(part, Cell) else part for part in sentence
        )

    return replace(
        screen,
        headline=moved(screen.headline),
        gain=moved(screen.gain),
        tiles=tuple(
            replace(t, figure=replace(t.figure, source=source), detail=moved(t.detail))
            for t in screen.tiles
        ),
        against=replace(
            screen.against,
            rows=tuple(
                tuple(replace(c, source=source) for c in row) for row in screen.against.rows
            ),
        ),
        reasons=tuple((title, moved(reason)) for title, reason in screen.reasons),
    )
