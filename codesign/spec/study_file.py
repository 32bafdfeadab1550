"""Studies in files: what their paths are relative to, and where in them a fault stands."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from codesign.errors import Location, UsageError
from codesign.paths import exists, is_file
from codesign.spec.load import load_spec, place_in, raw_data
from codesign.spec.study import Study

Rename = Callable[[Location, str], str]


def read_study(path: Path) -> Study:
    """Read a study file; files that it names are looked for beside it.

    Raises
    ------
    UsageError
        With ``file:line:column``, also where a file is named that is not beside the study.
    """
    return beside(load_spec(path, Study), path)


def beside(study: Study, path: Path, under: Location = ()) -> Study:
    """Return a study of a file with the names of files as seen from the working folder.

    Parameters
    ----------
    study : Study
    path : Path
        The file; names in it are relative to its folder. What is no file there is left for the
        catalogues of bundled names.
    under : tuple, optional
        Where in the file the study stands.

    Raises
    ------
    UsageError
        If a file is named that is not there, but in the working folder.
    """

    def rename(location: Location, name: str) -> str:
        place = path.parent / name
        if exists(place):
            return str(place)
        if is_file(name):
            where = place_in(path, (*under, *location))
            raise UsageError(
                f"{where}: {'.'.join(map(str, location))}: files named in a study are relative to "
                f"it, and {place} does not exist ({name} in the working folder does)"
            )
        return name

    return _renamed(study, rename)


def anchored(study: Study, folder: Path | None = None) -> Study:
    """Return a study whose files are found from any working folder.

    Parameters
    ----------
    study : Study
        Names of files as seen from the working folder.
    folder : Path, optional
        What paths of its own objectives and constraints are relative to.
    """

    def code(name: str) -> str:
        return str(((folder or Path()) / name).absolute()) if name.endswith(".py") else name

    data = _renamed(study, lambda _, name: str(Path(name).absolute()) if exists(name) else name)
    objectives = [each.to_data() | {"name": code(each.name)} for each in data.objectives]
    constraints = {code(name): choice for name, choice in data.to_data()["constraints"].items()}
    return data.revised(objectives=objectives, constraints=constraints)


def _renamed(study: Study, rename: Rename) -> Study:
    """Change every name in a study that may be a file's; those of Python code apart."""
    data = study.to_data()
    for name in ("reference", "hardware", "calibration"):
        if name in data:
            data[name] = rename((name,), data[name])
    if "model" in data["draft"]:
        data["draft"]["model"] = rename(("draft", "model"), data["draft"]["model"])
    data["space"]["drafts"] = [
        _draft(text, partial(rename, ("space", "drafts", place)))
        for place, text in enumerate(data["space"]["drafts"])
    ]
    for name, options in data["constraints"].items():
        for option, value in options.items() if isinstance(options, dict) else ():
            if option == "file" and isinstance(value, str):
                options[option] = rename(("constraints", name, option), value)
    return Study.from_data(data)


def _draft(written: str, rename: Callable[[str], str]) -> str:
    """Change the file in a draft such as ``model:my.json,parallel@constant:.8``."""
    draft, at, acceptance = written.partition("@")
    kind, colon, argument = draft.partition(":")
    if kind.strip() != "model":
        return written
    name, comma, rest = argument.partition(",")
    return f"{kind}{colon}{rename(name)}{comma}{rest}{at}{acceptance}"


@contextmanager
def located(
    path: Path | None,
    study: Study,
    under: Location = (),
    changed: frozenset[str | int] = frozenset(),
) -> Iterator[None]:
    """Put file, line and column before complaints about fields that are as the file has them.

    Parameters
    ----------
    path : Path, optional
        The study's file.
    study : Study
        What is worked with: flags and ablations change fields of the file's.
    under : tuple, optional
        Where in the file the study stands.
    changed : set of str
        Fields that are not as the file has them, whatever the study says.
    """
    try:
        yield
    except UsageError as error:
        if path is None or not error.at or error.at[0] in changed:
            raise
        if not _as_in(path, study, error.at, under):
            raise
        found = type(error)(f"{place_in(path, (*under, *error.at))}: {error}")
        found.at = None
        raise found from error


def _as_in(path: Path, study: Study, location: Location, under: Location) -> bool:
    """Whether a field of a study is what the file has there."""
    data: Any = raw_data(path)
    for part in under:
        data = data[part]
    own = beside(Study.from_data(data), path, under).to_data()
    return _reached(own, location) == _reached(study.to_data(), location)


def _reached(data: Any, location: Location) -> object:
    """Return what a location leads to, as far as it leads."""
    for part in location:
        try:
            data = data[part]
        except (LookupError, TypeError):  # a name of its own, or nothing there
            break
    return data
