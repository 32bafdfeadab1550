"""Find an architecture by path or by name."""

from pathlib import Path
from typing import Final

from codesign.architectures.readers import read_architecture
from codesign.errors import UsageError, did_you_mean
from codesign.paths import exists, is_file, is_folder
from codesign.spec.architecture import Architecture
from codesign.spec.load import load_spec

REFERENCES: Final = Path(__file__).parent / "references"
YAML_SUFFIXES: Final = (".yaml", ".yml")


def load_architecture(name_or_path: str | Path) -> Architecture:
    """Load an architecture.

    Parameters
    ----------
    name_or_path : str or Path
        A config.json, a folder that holds one, a YAML file of this project, or a bundled name
        (any case; a Hugging Face ``owner/name`` and an unambiguous beginning will do). A path
        that exists wins.

    Raises
    ------
    UsageError
        No such file and no such name; a YAML file that breaks a rule.
    DataError
        A config.json that is broken or not understood.

    Examples
    --------
    >>> load_architecture("Qwen/Qwen3-30B-A3B").moe.experts
    128
    """
    path = Path(name_or_path)
    if is_folder(path):
        inside = path / "config.json"
        if not is_file(inside):
            raise UsageError(f"{path}: a folder without a config.json")
        return read_architecture(inside)
    if exists(path):
        return load_spec(path, Architecture) if _is_yaml(path) else read_architecture(path)
    if _is_yaml(path) or path.suffix == ".json":
        raise UsageError(f"{path}: no such file")
    return load_spec(REFERENCES / f"{_bundled(str(name_or_path))}.yaml", Architecture)


def list_architectures() -> list[str]:
    """Return the names of the bundled references, in alphabetical order."""
    return sorted(path.stem for path in REFERENCES.glob("*.yaml"))


def _is_yaml(path: Path) -> bool:
    return path.suffix.lower() in YAML_SUFFIXES


def _bundled(name: str) -> str:
    """Return the one bundled name that is meant."""
    wanted = name.lower().rpartition("/")[2]
    names = list_architectures()
    if wanted in names:
        return wanted
    begins = [known for known in names if wanted and known.startswith(wanted)]
    if len(begins) == 1:
        return begins[0]
    if begins:
        raise UsageError(f"architecture {name!r} is ambiguous: {', '.join(begins)}")
    raise UsageError(
        f"unknown architecture {name!r}{did_you_mean(wanted, names)}: neither a path nor a bundled "
        "name; see `codesign list architectures`"
    )
