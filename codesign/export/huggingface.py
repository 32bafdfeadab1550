"""The chosen design as a Hugging Face config.json."""

from pathlib import Path
from typing import Any

from codesign.architectures.config import Config, read_config
from codesign.architectures.export import CLASS_DEFAULTS, export_config
from codesign.export.served import Served
from codesign.paths import is_file, is_folder


def config_of(served: Served) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the config.json of a design in its reference's family, and remarks on it.

    Where the reference was given as a config.json, only what the design changes is changed in it.

    Raises
    ------
    UsageError
        If the family cannot express the design.
    """
    base = _base(served.study.reference)
    config = export_config(served.architecture, base)
    return config, () if base is not None else (CLASS_DEFAULTS,)


def _base(reference: str) -> Config | None:
    """The config.json that the study names, if it names one."""
    path = Path(reference)
    if is_folder(path):
        path = path / "config.json"
    return read_config(path) if path.suffix == ".json" and is_file(path) else None
