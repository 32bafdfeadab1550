"""Load, merge and save calibration files; a file is written whole or not at all."""

from pathlib import Path

import yaml

from codesign.paths import exists
from codesign.spec.calibration import Calibration, SectionName
from codesign.spec.load import load_spec
from codesign.spec.section import Section
from codesign.whole_file import locked, write_whole


def load_calibration(path: Path) -> Calibration:
    """Read a calibration file.

    Raises
    ------
    UsageError
        With ``file:line:column`` where it breaks a rule.
    """
    return load_spec(path, Calibration)


def merged(calibration: Calibration | None, name: SectionName, section: Section) -> Calibration:
    """Return a calibration with one section put in, in place of any older one."""
    data = calibration.to_data() if calibration else {}
    return Calibration.from_data(data | {name: section.to_data()})


def save_section(path: Path, name: SectionName, section: Section) -> Calibration:
    """Merge a section into a file, which is made if it is not there.

    Raises
    ------
    UsageError
        If the file is there but no calibration, or cannot be written.
    """
    with locked(path.parent):  # another command may merge its section at the same time
        known = load_calibration(path) if exists(path) else None
        calibration = merged(known, name, section)
        text = yaml.safe_dump(calibration.to_data(), sort_keys=False, allow_unicode=True, width=100)
        write_whole(path, text)
    return calibration
