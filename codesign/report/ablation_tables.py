"""Tables of an ablation: variants, mechanisms, and what they mean."""

from collections.abc import Sequence
from typing import Final

from codesign.ablation import AblationResult
from codesign.records import Record
from codesign.report.formats import to_csv, to_json, to_text
from codesign.report.glossary import label, unit
from codesign.report.grids import Grid
from codesign.report.markdown import escaped
from codesign.shown import shown

WORDS: Final = ("variant", "design", "mechanism", "term", "status")
"""Columns of text; all others are numbers."""

READING: Final = (
    "shapley: what it contributes to {figure}, averaged over all orders of adding the terms; the "
    "contributions add up to full - bare, of which share is the share (none where gains and losses "
    "cancel). drop one: what is lost if it alone is taken out. add one: what is gained if it alone "
    "is put into the bare model."
)


def render_ablation(result: AblationResult, form: str) -> str:
    """Return the tables as ``table``, ``markdown``, ``json`` or ``csv`` (the first that speaks)."""
    if form == "json":
        return to_json(result.to_dict())
    if form == "csv":
        return to_csv(result.mechanisms() or result.variants())
    if form == "markdown":
        return to_markdown(result)
    parts = [_title(result)]
    tables = [_grid(title, columns, rows) for title, columns, rows in spoken_tables(result)]
    notes = [_reading(result)] if result.mechanisms() else []
    return to_text(*parts, *tables, *notes)


def to_markdown(result: AblationResult) -> str:
    """Return the tables as Markdown that GitHub renders."""
    lines = [f"# {escaped(_title(result))}", ""]
    for title, columns, rows in spoken_tables(result):
        lines += [f"## {title}", "", _line(columns), _line(["---"] * len(columns))]
        lines += [_line(row) for row in rows]
        lines.append("")
    if result.mechanisms():
        lines += [_reading(result), ""]
    return "\n".join(lines)


def _title(result: AblationResult) -> str:
    how = {
        "reoptimise": "every row's own certified optimum",
        "hold": "the optimum of the study as it stands, held",
        "reference": "the reference with its best draft length",
    }
    return f"{result.ablation['name']}: {how[result.ablation['design']]}\n"


def _reading(result: AblationResult) -> str:
    return READING.format(figure=label(result.ablation["figures"][0]))


SpokenTable = tuple[str, list[str], list[list[str]]]


def spoken_tables(result: AblationResult) -> list[SpokenTable]:
    """Return title, headings and cells of every table that has rows, made for reading."""
    tables = [("Variants", _variant_cells(result))]
    first = result.ablation["figures"][0]
    for title, rows in (
        (f"Mechanisms of {label(first)}", result.mechanisms()),
        (f"Terms of {label(first)}", result.terms()),
    ):
        if rows and not (title.startswith("Terms") and _same(result)):
            tables.append((title, [_contribution_cells(row, first) for row in rows]))
    return [(title, list(rows[0]), [list(row.values()) for row in rows]) for title, rows in tables]


def _same(result: AblationResult) -> bool:
    """Every mechanism is a single term: one table says all."""
    return all(len(terms) == 1 for terms in result.ablation["terms"].values())


def _variant_cells(result: AblationResult) -> list[dict[str, str]]:
    change = f"{result.ablation['figures'][0]}_change"
    cells = []
    for row, raw in zip(result.variants(), result.rows, strict=True):
        line = {"variant": str(row["variant"]), "design": _design(raw["design"])}
        for name in result.ablation["figures"]:
            line[label(name)] = shown(row[name], unit(name))
        line["change"] = "-" if row[change] is None else f"{row[change]:+.1%}"
        if any(other["status"] != "ok" for other in result.rows):
            line["status"] = row["status"]
        cells.append(line)
    return cells


def _design(design: Record | None) -> str:
    if design is None:
        return "-"
    if design["experts"] == 1:
        return f"dense K={design['draft_tokens']}"
    return (
        f"{design['experts']}/{design['top_k']}+{design['shared_experts']} width "
        f"{design['expert_width']} K={design['draft_tokens']}"
    )


def _contribution_cells(row: Record, figure: str) -> dict[str, str]:
    """A mechanism with the models it lies between, or one of its terms."""
    of_mechanism = "mechanism" not in row
    line = {"variant": str(row["variant"])}
    if not of_mechanism:
        line["mechanism"] = row["mechanism"]
    line["mechanism" if of_mechanism else "term"] = row["name"]
    for key in ("full", "bare", "shapley") if of_mechanism else ("shapley",):
        line[key] = shown(row[key], unit(figure))
    line["share"] = "-" if row["share"] is None else f"{row['share']:.1%}"
    for key in ("drop_one", "add_one"):
        line[key] = shown(row[key], unit(figure))
    return line


def _grid(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Grid:
    """A name that stands in several rows is written once."""
    cells, before = [], ""
    for name, *others in rows:
        cells.append(["" if name == before else name, *others])
        before = name
    words = [place for place, heading in enumerate(columns) if heading in WORDS]
    names = 2 if "mechanism" in columns or "term" in columns else 1
    return Grid(title, [c.replace("_", " ") for c in columns], cells, text=words, names=names)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(escaped, cells)) + " |"
