"""`codesign optimize`: search, certify, answer."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from codesign.cli.options import (
    SEARCH_SPACE,
    Flags,
    Format,
    FormatOption,
    build_study,
    study_command,
)


def _option(flag: str, text: str) -> Any:
    return typer.Option(flag, help=text, rich_help_panel=SEARCH_SPACE)


@study_command
def optimize(
    flags: Flags,
    experts: Annotated[str | None, _option("--experts", "Values of N: 64,128 or 8:128:8.")] = None,
    top_k: Annotated[str | None, _option("--top-k", "Values of k [1:16].")] = None,
    shared_experts: Annotated[str | None, _option("--shared-experts", "Values of S [0:4].")] = None,
    expert_width: Annotated[
        str | None,
        _option("--expert-width", "iso_active, iso_total, fixed or search [iso_active]."),
    ] = None,
    widths: Annotated[str | None, _option("--widths", "Values for --expert-width search.")] = None,
    fix: Annotated[
        str | None, _option("--fix", "Axes pinned to the reference: experts,top_k,shared_experts.")
    ] = None,
    objective: Annotated[
        list[str] | None, _option("--objective", "Repeat for an exact Pareto front [sd_speedup].")
    ] = None,
    constraint: Annotated[
        list[str] | None, _option("--constraint", "FIGURE<=VALUE or >=; 1.1x is of the reference.")
    ] = None,
    no_constraint: Annotated[
        list[str] | None, _option("--no-constraint", "Lift a default constraint.")
    ] = None,
    engine: Annotated[str | None, _option("--engine", "auto, exact or optuna [auto].")] = None,
    trials: Annotated[int | None, _option("--trials", "Optuna trials [200].")] = None,
    seed: Annotated[int | None, _option("--seed", "Of sampler and draws [0].")] = None,
    draws: Annotated[
        int | None, _option("--draws", "Joint draws of what is uncertain; 0 for none [64].")
    ] = None,
    out: Annotated[Path | None, _option("--out", "Folder for study.yaml and result.json.")] = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Find the experts, top_k, shared experts and draft length to build."""
    own = {
        "experts": experts, "top_k": top_k, "shared_experts": shared_experts,
        "expert_width": expert_width, "widths": widths, "fix": fix, "objective": objective,
        "constraint": constraint, "no_constraint": no_constraint, "engine": engine,
        "trials": trials, "seed": seed, "draws": draws,
    }  # fmt: skip
    study = build_study(flags, own)
    from codesign.cli.progress import progress_bars
    from codesign.report.files import write_result
    from codesign.report.result_tables import render_result
    from codesign.starters import find_study
    from codesign.study import optimize as answer

    folder = find_study(flags["study"]).parent if flags["study"] else None
    with progress_bars() as progress:
        result = answer(study, folder=folder, progress=progress)
    sys.stdout.write(render_result(result, format_.value))
    if out is not None:
        write_result(result, out)
