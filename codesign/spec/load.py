"""Read a YAML file into a spec; every complaint says file, line, column, path, rule and value."""

import re
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import ValidationError
from pydantic_core import ErrorDetails

from codesign.errors import NAME, Location, UsageError, is_readable, printable
from codesign.paths import read_whole
from codesign.spec.base import Spec

AnySpec = TypeVar("AnySpec", bound=Spec)
Positions = dict[Location, yaml.Mark]

MAX_BYTES = 4 * 2**20
SHOWN_CHARACTERS = 60


class _CoreSchemaLoader(yaml.SafeLoader):
    """YAML 1.2 core schema: ``1:16`` stays text (YAML 1.1 reads 76), ``no`` stays a word."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - the attribute PyYAML reads


for _tag, _pattern, _first in (
    ("bool", r"(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("null", r"(?:~|null|Null|NULL|)$", ["~", "n", "N", ""]),
    ("int", r"[-+]?[0-9]+$", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$", "-+.0123456789"),
):
    _CoreSchemaLoader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(_pattern), list(_first)
    )


def load_spec(path: Path, kind: type[AnySpec]) -> AnySpec:
    """Read one YAML file.

    Raises
    ------
    UsageError
        With ``file:line:column: path: rule (value)``, one line per fault.
    """
    data, positions = _read(path)
    if not isinstance(data, dict):
        raise _placed(f"{path}:1:1: a mapping of fields is expected, not {_shown(data)}")
    try:
        return kind.from_data(data)
    except ValidationError as error:
        lines = (_message(path, fault, positions) for fault in _faults(error))
        raise _placed("\n".join(dict.fromkeys(lines))) from None


def raw_data(path: Path) -> object:
    """Return what a YAML file holds, as plain data that no rule was applied to.

    Raises
    ------
    UsageError
        If it is not YAML.
    """
    return _read(path)[0]


def place_in(path: Path, location: Location) -> str:
    """Return ``file:line:column`` of a field, as near as the file has it."""
    return _place(path, location, _read(path)[1])


def validation_message(error: ValidationError) -> str:
    """Say what is wrong with a spec that came from the command line: ``path: rule (value)``."""
    lines = (f"{_path(_location(fault))}: {_rule(fault)}" for fault in _faults(error))
    return "\n".join(dict.fromkeys(lines))


def faulty_places(error: ValidationError) -> list[Location]:
    """Return where the faults of a spec are."""
    return [_location(fault) for fault in _faults(error)]


def _faults(error: ValidationError) -> list[ErrorDetails]:
    """The faults of a spec; a list is also called too short for the items that were faulty."""
    faults = error.errors(include_url=False)
    inner = {tuple(fault["loc"])[:depth] for fault in faults for depth in range(len(fault["loc"]))}
    return [f for f in faults if f["type"] != "too_short" or tuple(f["loc"]) not in inner]


def _read(path: Path) -> tuple[object, Positions]:
    try:
        raw = read_whole(path, MAX_BYTES, "a spec")
    except OSError as error:
        raise _placed(f"{path}: cannot be read ({error.strerror})") from None
    positions: Positions = {}
    try:
        loader = _CoreSchemaLoader(raw)
        node = loader.get_single_node()
        data = None if node is None else _construct(loader, node, (), positions, set())
    except (yaml.MarkedYAMLError, yaml.reader.ReaderError) as error:
        raise _placed(f"{path}:{_yaml_problem(error)}") from None
    except RecursionError:
        raise _placed(f"{path}: nested too deeply to be a spec") from None
    return data, positions


def _placed(message: str) -> UsageError:
    """A complaint that says its own place: a study that names the file has nothing to add."""
    error = UsageError(message)
    error.at = None
    return error


def _yaml_problem(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        where = f"{mark.line + 1}:{mark.column + 1}" if mark else "1:1"
        return f"{where}: not valid YAML: {error.problem}"
    return f"1:1: not valid YAML: {error}"


def _construct(
    loader: _CoreSchemaLoader,
    node: yaml.Node,
    location: Location,
    positions: Positions,
    seen: set[int],
) -> object:
    """Build plain data and note where each value stands; aliases could grow without bound."""
    if id(node) in seen:
        raise yaml.MarkedYAMLError(problem="aliases are not allowed", problem_mark=node.start_mark)
    seen.add(id(node))
    positions[location] = node.start_mark
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, object] = {}
        for key_node, value_node in node.value:
            key = key_node.value
            if not isinstance(key, str) or key in mapping:
                problem = f"field {key!r} is given twice" if isinstance(key, str) else "bad key"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key_node.start_mark)
            _check_printable(key_node)
            mapping[key] = _construct(loader, value_node, (*location, key), positions, seen)
            positions[(*location, key, NAME)] = key_node.start_mark
        return mapping
    if isinstance(node, yaml.SequenceNode):
        return [
            _construct(loader, item, (*location, index), positions, seen)
            for index, item in enumerate(node.value)
        ]
    return _scalar(loader, node)


def _scalar(loader: _CoreSchemaLoader, node: yaml.Node) -> object:
    """Build one value; whole numbers are decimal, a leading 0 is no octal sign (YAML 1.2)."""
    _check_printable(node)
    try:
        if node.tag == "tag:yaml.org,2002:int":
            return int(node.value)
        return loader.construct_object(node)
    except (ArithmeticError, AttributeError, LookupError, ValueError):  # as PyYAML's tags raise
        shown = _shown(node.value)
        problem = f"{shown} is no value of type {node.tag.rpartition(':')[2]}"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark) from None


def _check_printable(node: yaml.Node) -> None:
    """Refuse what the YAML standard lets through as an escape only: no name or path has it."""
    if isinstance(node.value, str) and not is_readable(node.value):
        problem = f"{_shown(node.value)} has characters that are not printable"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)


def _location(fault: ErrorDetails) -> Location:
    """Where the fault is; an unknown field is reported by pydantic at its parent."""
    location: Location = tuple(fault["loc"])
    if fault["type"] == "unknown_field":
        return (*location, fault["ctx"]["key"], NAME)
    return location


def _message(path: Path, fault: ErrorDetails, positions: Positions) -> str:
    location = _location(fault)
    return f"{_place(path, location, positions)}: {_path(location)}: {_rule(fault)}"


def _place(path: Path, location: Location, positions: Positions) -> str:
    known: Location = ()
    for part in location:  # a union's tag is in no file, a missing field stands at its parent
        known = (*known, part) if (*known, part) in positions else known
    mark = positions.get(known)
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    return f"{path}:{line}:{column}"


def _path(location: Location) -> str:
    return ".".join(str(part) for part in location if part not in (NAME, "[key]")) or "(top)"


def _rule(fault: ErrorDetails) -> str:
    rule = fault["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if fault["type"] in ("unknown_field", "missing"):
        return rule[0].lower() + rule[1:]
    return f"{rule[0].lower()}{rule[1:]} ({_shown(fault['input'])})"


def _shown(value: object) -> str:
    text = ascii(value) if not isinstance(value, str) else f"'{value}'"
    text = printable(text)
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 3] + "..."
