"""A section of a calibration file as people and programs read it."""

from pathlib import Path

from codesign.calibration.file import load_calibration
from codesign.records import Record
from codesign.report.formats import to_csv, to_json, to_text
from codesign.report.grids import Grid
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
    parts: list[Grid | str] = [
        f"{name}: {section.samples:,} {section.samples_unit}, fitted {section.date}"
    ]
    if section.residual is not None:
        value = f"{section.residual.value:.4g} {section.residual.unit}".removesuffix(" -")
        parts.append(f"residual {value}: {section.residual.meaning}")
    return [*parts, "", _parameters(section), *map(_grid, section.tables), _notes(section)]


def _parameters(section: Section) -> Grid:
    rows = [
        [key, f"{parameter.value:.4g}", _error(parameter), parameter.unit]
        for key, parameter in section.parameters.items()
    ]
    rows += [[key, "default", "", ""] for key in section.defaults]
    headings = ["parameter", "value", "standard error", "unit"]
    return Grid("Parameters", headings, rows, text=(0, 3))


def _error(parameter: Parameter) -> str:
    return "unknown" if parameter.standard_error is None else f"{parameter.standard_error:.2g}"


def _grid(table: Table) -> Grid:
    words = [
        place
        for place in range(len(table.columns))
        if any(isinstance(row[place], str) for row in table.rows)
    ]
    rows = [[_cell(cell) for cell in row] for row in table.rows]
    return Grid(table.title, table.columns, rows, text=words)


def _cell(cell: Cell) -> str:
    if cell is None:
        return "-"
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)


def _notes(section: Section) -> Grid:
    """Where it comes from, what it does not say, and the traps that were met."""
    rows = [
        ["source", f"{source.file} ({source.format}, sha256 {source.sha256[:12]})"]
        for source in section.sources
    ]
    rows += [["note", note] for note in section.notes]
    rows += [["default", f"{key}: {reason}"] for key, reason in section.defaults.items()]
    rows += [["warning", warning] for warning in section.warnings]
    return Grid("", ["", ""], rows, text=(0, 1))
