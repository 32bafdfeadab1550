"""Write the serving part of docs/accuracy.md from `codesign validate`'s own figures.

    python scripts/write_accuracy.py ../shared/data

Only the part between the two markers is rewritten.
"""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))  # run as a file, from anywhere

from codesign.hardware import list_hardware, load_hardware
from codesign.validation import shipped_rows
from codesign.validation.errors_by_group import GroupErrors
from codesign.validation.field_reports import field_reports
from codesign.validation.measured import Measured, measured_errors
from scripts.accuracy_doubts import doubts

PAGE: Final = Path(__file__).parents[1] / "docs" / "accuracy.md"
START, END = "<!-- serving: scripts/write_accuracy.py -->", "<!-- /serving -->"
TITLE: Final = "# How far off is it?\n\n"


def rewritten(folder: Path) -> str:
    """Return the page with the marked part made from measurement sets."""
    measured = measured_errors(folder)
    text = "\n".join(_parts(folder, measured)).rstrip() + "\n"
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else f"{TITLE}{START}\n{END}\n"
    if START not in page:
        page = f"{page.rstrip()}\n\n{START}\n{END}\n"
    before, rest = page.split(START, 1)
    after = rest.split(END, 1)[1]
    return f"{before}{START}\n\n{text}\n{END}{after}"


def _parts(folder: Path, measured: Measured) -> Iterable[str]:
    yield (
        "This page is written by `python scripts/write_accuracy.py ../shared/data`; its tables of "
        "measurements are those that `codesign validate --data ../shared/data` prints (published "
        "numbers and drift alone: `codesign validate`). *Held out* means that no constant was "
        "fitted to the measurement it is compared with. Errors are absolute and relative unless "
        "they carry a sign.\n"
    )
    yield "## What was asked, and what is reached\n"
    yield _table(("figure", "asked", "reached", ""), _targets(measured))
    yield doubts(folder, measured)
    yield "## All held-out measurements\n"
    yield _table(
        ("data set", "quantity", "groups", "n", "median", "p90", "median of groups"),
        ((r["data_set"], r["quantity"], r["groups"], f"{r['n']:,}", _share(r["median_error"]),
          _share(r["p90_error"]), _share(r["median_of_groups"])) for r in measured.summary()),
    )  # fmt: skip
    yield "## By source, model and hardware\n"
    yield _table(
        ("data set", "quantity", "model", "hardware", "source", "n", "bias", "median", "p90", ""),
        (_group(group) for group in measured.groups),
    )
    yield "## Field reports\n"
    yield (
        "Public reports of people who run speculative decoding on MoE models, answered by this "
        "version; the last column says whether sign, cause and best draft length are what was "
        "measured.\n"
    )
    reports = field_reports()
    yield _table(
        ("case", "report", "answer", "agrees"),
        ((r.case, f"{r.title} ({r.source})", r.answer, "yes" if r.agrees else "**no**")
         for r in reports),
    )  # fmt: skip
    yield "## Published numbers\n"
    yield _table(
        ("case", "predicted", "reported", "error", "tolerance", "", "note"),
        (_case(row.to_record()) for row in shipped_rows()),
    )
    yield "## Kernel constants of the bundled profiles\n"
    yield (
        "From `scripts/fit_profiles.py`; *left out* is the median error on shapes the fit did not "
        "see. Weak fits widen an answer's interval and are named among its assumptions.\n"
    )
    yield _table(
        ("device", "kernel", "n", "shapes", "median", "p90", "left out", "weak"), _constants()
    )


def _targets(measured: Measured) -> Iterable[Sequence[object]]:
    kernels = [g for g in measured.groups if g.model == "routed experts, vllm bf16"
               and g.hardware == "h100-sxm"]  # fmt: skip
    for group in kernels:
        if group.quantity == "time":
            yield _target(
                "routed kernels, H100 vLLM bf16, one shape left out, median", 0.03, group.median
            )
            yield _target("the same, p90", 0.10, group.p90)
        else:
            yield _target(f"its growth {group.quantity}, T up to 1,024, median", 0.04, group.median)
    for group in measured.groups:
        if group.quantity == "T(K+1)/T(1)":
            yield _target(
                f"composed decode steps T(K+1)/T(1), {group.model}, median", 0.08, group.median
            )
    summary = {(r["data_set"], r["quantity"]): r for r in measured.summary()}
    tpot = summary["measured TPOT", "TPOT"]
    yield _target("TPOT without SD, one (model, TP) left out, median", 0.17, tpot["median_error"])
    whole = summary["measured TPOT", "TPOT, whole model left out"]
    yield "the same, one model left out", "reported", _share(whole["median_error"]), ""
    cycles = summary["SD cycles", "cycle ratio, chains"]
    yield _target(
        "SD cycle ratio of MoE targets, median over (source, model) of medians", 0.10,
        cycles["median_of_groups"],
    )  # fmt: skip
    right, total = measured.ordered
    yield (
        "order of cycle ratios that differ by more than 5 %", "≥ 90 %",
        f"{right} of {total}, {right / total:.0%}", _standing(right >= 0.9 * total),
    )  # fmt: skip
    for score in measured.intervals:
        inside = 0.8 <= score.coverage <= 0.97 and score.pinball < score.constant_pinball
        yield (
            f"5-95 % intervals, {score.name}", "80-97 % covered, sharper than one constant error",
            f"{score.coverage:.0%} of {score.cells}; median width {score.width:.0%}, pinball loss "
            f"{score.pinball:.4f} against {score.constant_pinball:.4f} with one constant error",
            _standing(inside),
        )  # fmt: skip


def _target(name: str, limit: float, value: float) -> Sequence[object]:
    return name, f"≤ {limit:.0%}", _share(value), _standing(value <= limit)


def _standing(reached: bool) -> str:
    return "reached" if reached else "**missed**"


def _group(group: GroupErrors) -> Sequence[object]:
    record = group.to_record()
    note = ("**fitted**; " if group.fitted else "") + group.note
    return (
        group.data_set, group.quantity, group.model, group.hardware, group.source,
        f"{record['n']:,}", f"{record['bias']:+.1%}", _share(group.median), _share(group.p90),
        note.removesuffix("; "),
    )  # fmt: skip


def _case(row: dict[str, Any]) -> Sequence[object]:
    standing = {True: "", False: "**misses**", None: "outside"}[row["ok"]]
    fitted = "fitted; " if row["fitted"] else ""
    return (
        row["case"], _number(row["predicted"]), _number(row["reported"]),
        "" if row["error"] is None else f"{row['error']:+.1%}",
        "" if row["tolerance"] is None else _share(row["tolerance"]), standing,
        (fitted + row["note"]).removesuffix("; "),
    )  # fmt: skip


def _constants() -> Iterable[Sequence[object]]:
    for name in list_hardware():
        for kernel in load_hardware(name).kernels:
            if kernel.samples is None:
                continue
            yield (
                name, f"{kernel.kernel} {kernel.backend} {kernel.dtype}", f"{kernel.samples:,}",
                kernel.configurations, _share(kernel.median_error), _share(kernel.p90_error),
                _share(kernel.left_out_error), kernel.weak or "",
            )  # fmt: skip


def _table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    cells = ([str(cell).replace("|", "\\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


if __name__ == "__main__":
    made = rewritten(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data"))
    PAGE.write_text(made, encoding="utf-8")
