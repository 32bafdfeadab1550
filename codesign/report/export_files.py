"""Write an export to a folder: scripts that start engines, their files, the config.json."""

from pathlib import Path

from codesign.export import Handover
from codesign.report.export_text import schedule_text
from codesign.report.formats import to_csv, to_json
from codesign.whole_file import write_files


def write_handover(handover: Handover, target: str | None, folder: Path) -> None:
    """Write ENGINE.sh and what it refers to, config.json, and draft-tokens.csv.

    Raises
    ------
    UsageError
        If the folder cannot be written.
    """
    texts = {}
    if target != "huggingface":
        texts["draft-tokens.csv"] = to_csv(handover.table())
        for name, export in handover.engines.items():
            if target in (None, name):
                texts[f"{name}.sh"] = "#!/bin/sh\n" + schedule_text(handover) + export.shell
                texts |= export.files
    if handover.config is not None and target in (None, "huggingface"):
        texts["config.json"] = to_json(handover.config)
    write_files(folder, texts)
