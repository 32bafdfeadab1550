"""Find a hardware profile by path or by bundled name."""

from functools import cache
from pathlib import Path
from typing import Final

from codesign.errors import UsageError, did_you_mean
from codesign.paths import exists, is_folder
from codesign.spec.hardware import Hardware
from codesign.spec.load import load_spec

PROFILES: Final = Path(__file__).parent / "profiles"
ALIASES: Final = {part: f"{part}-sxm" for part in ("a100", "h100", "h200", "b200", "b300")}
"""A bare part name means the SXM part."""


def list_hardware() -> list[str]:
    """Return the names of the bundled profiles."""
    return sorted(path.stem for path in PROFILES.glob("*.yaml"))


def load_hardware(name_or_path: str) -> Hardware:
    """Read a profile: a path if it exists, else the bundled profile of that name.

    Raises
    ------
    UsageError
        If there is neither, or the profile is not valid.
    """
    path = Path(name_or_path)
    if exists(path) and not is_folder(path):
        return load_spec(path, Hardware)
    if path.parent != Path():  # a folder was named: no bundled profile is meant
        raise UsageError(f"{path}: no such file")
    name = path.name.lower().removesuffix(".yaml").removesuffix(".yml")
    name = ALIASES.get(name, name)
    if name not in list_hardware():
        hint = did_you_mean(name, [*list_hardware(), *ALIASES])
        raise UsageError(
            f"unknown hardware {name_or_path!r}: no such file and no bundled profile{hint}; "
            "see 'codesign list hardware'"
        )
    return bundled_profile(name)


@cache
def bundled_profile(name: str) -> Hardware:
    """Read a bundled profile, once: it holds thousands of words and is asked for often."""
    return load_spec(PROFILES / f"{name}.yaml", Hardware)
