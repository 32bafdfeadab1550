"""One module per family; each defines ``FAMILY``. A new module here is found by itself."""

import pkgutil
from functools import cache
from importlib import import_module
from pathlib import Path
from textwrap import fill

from codesign.architectures.config import read_config
from codesign.architectures.family import Family
from codesign.errors import DataError, did_you_mean
from codesign.spec.architecture import Architecture


@cache
def families() -> dict[str, Family]:
    """Return every family by each of its model types, in alphabetical order."""
    found: dict[str, Family] = {}
    for module in pkgutil.iter_modules(__path__):
        family: Family = import_module(f"{__name__}.{module.name}").FAMILY
        for model_type in family.model_types:
            if model_type in found:
                raise ValueError(f"two families claim model_type {model_type!r}")
            found[model_type] = family
    return dict(sorted(found.items()))


def read_architecture(path: Path) -> Architecture:
    """Read a Hugging Face config.json.

    Raises
    ------
    DataError
        The file is broken, of an unknown ``model_type``, or not understood.
    """
    config = read_config(path)
    family = families().get(config.model_type)
    if family is None:
        name = config.model_type
        raise DataError(
            f"{path}: model_type {name[:60]!r} is not recognised{did_you_mean(name, families())}\n"
            "describe it as YAML: 'codesign show architecture qwen3-30b-a3b > mine.yaml' is a file "
            "to start from; or add a reader (docs/adding-a-family.md)\n"
            + fill(f"recognised: {', '.join(families())}", 100)
        )
    return family.read(config)
