"""A result on the terminal: what to build first, then why, how sure, and what was assumed."""

from collections.abc import Iterable
from dataclasses import replace

from codesign.records import Record
from codesign.report.cells import Cell, Table, sentence_text
from codesign.report.formats import to_csv, to_json, to_text
from codesign.report.grids import Grid
from codesign.report.prediction_tables import assumption_list
from codesign.report.sentences import certificate, expected_objective, reasons
from codesign.report.tables_answer import constraints_table, designs_table, front_table
from codesign.report.tables_confidence import (
    axes_table,
    information_table,
    plateau_table,
    quality_table,
    stability_table,
)
from codesign.result import Result

MOST_ROWS = 12
"""Rows of a long table on the terminal; JSON and CSV have them all."""

UNSHOWN = ("meaning", "change")
"""Columns left to wider pages."""


def render_result(result: Result, form: str) -> str:
    """Return a result as ``table``, ``json`` or ``csv`` (the front)."""
    data = result.to_dict()
    if form == "json":
        return to_json(data)
    if form == "csv":
        entries = [(role, data[role]) for role in ("best", "reference", "throughput_best")]
        entries += [("front", entry) for entry in data["front"]]
        keys = ("design", "objectives", "constraints")
        return to_csv(
            [{"role": role} | {key: entry[key] for key in keys} for role, entry in entries]
        )
    makers = (
        designs_table, constraints_table, quality_table, stability_table, plateau_table,
        _worth_measuring, axes_table, front_table,
    )  # fmt: skip
    return to_text(
        _headline(data),
        *(part for make in makers for part in _parts(make(data))),
        assumption_list(result.assumptions),
    )


def _headline(result: Record) -> str:
    lines = [
        result["verdict"]["text"],
        f"objective: {sentence_text(expected_objective(result))}, reference "
        f"{sentence_text(expected_objective(result, 'reference'))}",
        certificate_line(result),
        *(sentence_text(each) for each in reasons(result)),
    ]
    if result["on_bounds"] and result["certificate"]["kind"] != "exact":  # else among the reasons
        edges = ", ".join(result["on_bounds"])
        lines.append(f"on the bound of its axis: {edges}; widen it and see")
    best, throughput = result["best"], result["throughput_best"]
    more = throughput["prediction"]["sd_tokens_per_s"] / best["prediction"]["sd_tokens_per_s"] - 1
    if more > 0:
        lines.append(f"throughput: the throughput-best yields {more:.1%} more tokens per second")
    return "\n".join(lines) + "\n"


def certificate_line(result: Record) -> str:
    """Say in one line how sure the search is."""
    own = result["certificate"]
    line = f"certificate: {own['kind']}; {sentence_text(certificate(result))}"
    if own["trials"] is None or own["kind"] == "none":
        return line
    regret = own["study_regret"]
    missed = f" missed the best by {regret:.2%}" if regret is not None else ""
    if not own["study_feasible"]:
        missed = " found none feasible"
    return (
        f"{line}; Optuna's {own['trials']:,} trials ({own['distinct_designs']:,} distinct, "
        f"{own['study_feasible']:,} feasible){missed}"
    )


def _worth_measuring(result: Record) -> Table:
    """Only the inputs that could change the choice."""
    made = information_table(result)
    rows = tuple(row for row in made.rows if row[1].value)
    return replace(made, rows=rows)


def _parts(made: Table) -> tuple[Grid | str, ...]:
    return (_grid(made), f"{made.note}\n") if made.note else (_grid(made),)


def _grid(made: Table) -> Grid:
    kept = [n for n, column in enumerate(made.columns) if column.key not in UNSHOWN]
    rows = made.rows if len(made.rows) <= MOST_ROWS or made.name != "front" else _spaced(made.rows)
    title = made.title
    if len(rows) < len(made.rows):
        title += f" ({len(rows)} evenly spaced; all with --format json or csv)"
    cells = [[row[n].text if row[n].value is not None else "-" for n in kept] for row in rows]
    headings = [made.columns[n].title for n in kept]
    words = [place for place, n in enumerate(kept) if not any(row[n].is_number for row in rows)]
    return Grid(title, headings, cells, text=words)


def _spaced(rows: tuple[tuple[Cell, ...], ...]) -> tuple[tuple[Cell, ...], ...]:
    steps: Iterable[int] = range(MOST_ROWS)
    return tuple(rows[round(step * (len(rows) - 1) / (MOST_ROWS - 1))] for step in steps)
