"""A section of a calibration file as people and programs read it."""

from pathlib import Path

from rich.table import Table as Grid

from codesign.calibration.file import load_calibration
from codesign.records import Record
from codesign.report.formats import to_csv, to_json, to_text
from codesign.spec.calibration import SectionName
from codesign.spec.section import Cell, Parameter, Section, Table


def render_section(name: SectionName, section: Section, form: str) -> str:
    """Return one section as ``table``, ``json`` or ``csv`` (its parameters)."""
    if form == "json":
        return to_json({name: section.to_data()})
    if form == "csv":
        return to_csv(_parameter_rows(name, section))
    return to_text(*_parts(name, section))


def render_calibration(path: Path, form: str) -> str:
    """Return all sections of a calibration file.

    Raises
    ------
    UsageError
        If the file is no calibration.
    """
    calibration = load_calibration(path)
    sections = calibration.sections()
    if form == "json":
        return to_json(calibration.to_data())
    if form == "csv":
        return to_csv([row for item in sections.items() for row in _parameter_rows(*item)])
    return to_text(*(part for item in sections.items() for part in _parts(*item)))


def _parameter_rows(name: SectionName, section: Section) -> list[Record]:
    return [
        {
            "section": name,
            "parameter": key,
            "value": parameter.value,
            "standard_error": parameter.standard_error,
            "unit": parameter.unit,
        }
        for key, parameter in section.parameters.items()
    ]


def _parts(name: SectionName, section: Section) -> list[Grid | str]:
    heading = f"{name}: {section.samples:,} {section.samples_unit}, fitted {section.date}"
    parts: list[Grid | str] = [heading]
    if section.residual is not None:
        residual = section.residual
        parts.append(f"residual {residual.value:.4g} {residual.unit}: {residual.meaning}")
    parts.append(_parameters(section))
    for table in section.tables:
        parts += [table.title, _grid(table)]
    parts.append(_notes(section))
    return parts


def _parameters(section: Section) -> Grid:
    grid = Grid(title="Parameters", title_justify="left", box=None)
    for column in ("parameter", "value", "standard error", "unit"):
        grid.add_column(column, justify="left" if column in ("parameter", "unit") else "right")
    for key, parameter in section.parameters.items():
        grid.add_row(key, f"{parameter.value:.4g}", _error(parameter), parameter.unit)
    for key in section.defaults:
        grid.add_row(key, "default", "", "")
    return grid


def _error(parameter: Parameter) -> str:
    return "unknown" if parameter.standard_error is None else f"{parameter.standard_error:.2g}"


def _grid(table: Table) -> Grid:
    grid = Grid(box=None)
    for index, column in enumerate(table.columns):
        text = any(isinstance(row[index], str) for row in table.rows)
        grid.add_column(column, justify="left" if text else "right", overflow="fold")
    for row in table.rows:
        grid.add_row(*(_cell(cell) for cell in row))
    return grid


def _cell(cell: Cell) -> str:
    if cell is None:
        return "-"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _notes(section: Section) -> Grid:
    """Where it comes from, what it does not say, and the traps that were met."""
    grid = Grid(box=None, show_header=False)
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for source in section.sources:
        told = f"{source.file} ({source.format}, sha256 {source.sha256[:12]})"
        grid.add_row("source", told)
    for note in section.notes:
        grid.add_row("note", note)
    for key, reason in section.defaults.items():
        grid.add_row("default", f"{key}: {reason}")
    for warning in section.warnings:
        grid.add_row("warning", warning)
    return grid
