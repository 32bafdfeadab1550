"""Write an ablation to a folder: tables as CSV, JSON and Markdown, and pictures."""

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import yaml

from codesign.ablation import AblationResult
from codesign.ablation.driver import question
from codesign.paths import read_whole
from codesign.records import Record
from codesign.report.ablation_plots import mechanism_figure, variant_figure
from codesign.report.ablation_tables import to_markdown
from codesign.report.formats import to_csv, to_json
from codesign.report.replaced import check_replaceable
from codesign.spec.ablation import Ablation
from codesign.stored import MOST_BYTES
from codesign.whole_file import write_files

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESULT: Final = "ablation.json"
TABLES: Final = ("variants", "mechanisms", "terms")


def check_ablation(ablation: Ablation, folder: Path) -> None:
    """Check that a folder holds no result of another ablation.

    Raises
    ------
    UsageError
        If it does.
    """
    check_replaceable(folder / RESULT, question(ablation), _read, lambda result: result["ablation"])


def _read(path: Path) -> Record:
    result: Record = json.loads(read_whole(path, MOST_BYTES, "a result"))
    return result


def write_ablation(result: AblationResult, folder: Path) -> None:
    """Write ablation.yaml (resolved), ablation.json, ablation.md, a CSV per table, pictures.

    Raises
    ------
    UsageError
        If the folder cannot be written.
    """
    texts = {
        "ablation.yaml": yaml.safe_dump(result.ablation, sort_keys=False, allow_unicode=True),
        RESULT: to_json(result.to_dict()),
        "ablation.md": to_markdown(result),
        "variants.svg": _svg(variant_figure(result)),
    }
    for table in TABLES:
        rows = getattr(result, table)()
        if rows:
            texts[f"{table}.csv"] = to_csv(rows)
    if result.mechanisms():
        texts["mechanisms.svg"] = _svg(mechanism_figure(result))
    write_files(folder, texts)


def _svg(picture: "Figure") -> str:
    """The same bytes for the same picture: no date, and names of parts from its content."""
    from matplotlib import rc_context

    buffer = io.StringIO()
    with rc_context({"svg.hashsalt": "codesign", "svg.fonttype": "none"}):
        picture.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()
