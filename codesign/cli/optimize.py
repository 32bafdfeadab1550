"""`codesign optimize`: search, certify, answer."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from codesign.cli.options import (
    RUNNING,
    SEARCH_SPACE,
    Flags,
    Format,
    FormatOption,
    build_study,
    study_command,
    study_file,
)
from codesign.cli.output import deliver, emit, say


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
    axis: Annotated[
        list[str] | None,
        _option("--axis", "Repeat: hidden_size=2048:4096:512, tensor_parallel=1,2, drafts=mtp."),
    ] = None,
    objective: Annotated[
        list[str] | None, _option("--objective", "Repeat for an exact Pareto front [sd_speedup].")
    ] = None,
    constraint: Annotated[
        list[str] | None,
        _option("--constraint", "FIGURE<=VALUE or >=, 1.1x: of the reference's; or a file."),
    ] = None,
    no_constraint: Annotated[
        list[str] | None, _option("--no-constraint", "Lift a default constraint.")
    ] = None,
    engine: Annotated[
        str | None, _option("--engine", "auto, exact, optuna or hybrid [auto].")
    ] = None,
    sampler: Annotated[
        str | None,
        _option("--sampler", "tpe, gp, nsga2, qmc, random or an import path [tpe]."),
    ] = None,
    trials: Annotated[
        int | None, _option("--trials", "Optuna trials in total, resumed ones included [200].")
    ] = None,
    batch: Annotated[int | None, _option("--batch", "Trials asked for at a time [20].")] = None,
    seed: Annotated[int | None, _option("--seed", "Of sampler and draws [0].")] = None,
    draws: Annotated[
        int | None, _option("--draws", "Joint draws of what is uncertain; 0 for none [64].")
    ] = None,
    workers: Annotated[
        int, typer.Option("--workers", help="Local processes.", rich_help_panel=RUNNING)
    ] = 1,
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="Dask scheduler: tcp://HOST:8786.", rich_help_panel=RUNNING),
    ] = None,
    storage: Annotated[
        str | None,
        typer.Option(
            "--storage",
            help="Database URL, or a journal's path [OUT/study.journal].",
            rich_help_panel=RUNNING,
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Continue the study kept there.", rich_help_panel=RUNNING),
    ] = False,
    all_designs: Annotated[
        bool,
        typer.Option(
            "--all-designs",
            help="Write every design into --out, not only the feasible ones.",
            rich_help_panel=RUNNING,
        ),
    ] = False,
    parquet: Annotated[
        bool,
        typer.Option(
            "--parquet", help="Write designs.parquet, not designs.csv.gz.", rich_help_panel=RUNNING
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan only.", rich_help_panel=RUNNING)
    ] = False,
    out: Annotated[Path | None, _option("--out", "Folder for the result and its report.")] = None,
    format_: FormatOption = Format.TABLE,
) -> None:
    """Find which experts and draft length to build.

    A study needs --hw and --target-bs, as flags or in a file: codesign optimize --target-bs 32 --hw
    h100. Axes not given are searched as in 'codesign show study default'.
    """
    own = {
        "experts": experts, "top_k": top_k, "shared_experts": shared_experts,
        "expert_width": expert_width, "widths": widths, "fix": fix, "objective": objective,
        "constraint": constraint, "no_constraint": no_constraint, "engine": engine,
        "trials": trials, "seed": seed, "draws": draws, "sampler": sampler, "batch": batch,
        "axis": axis,
    }  # fmt: skip
    from codesign.errors import UsageError
    from codesign.spec.study_file import located

    study, file = build_study(flags, own), study_file(flags)
    for name in study.space.fix:
        if own[name] is not None:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option}: fix pins this axis to the reference; say one of both")
    if dry_run and format_ is not Format.TABLE:
        raise UsageError("--dry-run prints a plan to read; it has no --format")
    if widths is not None and study.space.expert_width != "search":
        raise UsageError("--widths are values for --expert-width search: say both")
    folder = file.parent if file is not None else None
    from codesign.search.engines import Run

    run = Run(
        workers, cluster, storage, out, resume, say,
        "all" if all_designs else "feasible", parquet,
    )  # fmt: skip
    if dry_run:
        from codesign.study import plan

        with located(file, study):
            emit(plan(study, folder=folder, workers=workers) + "\n")
        return
    from codesign.cli.progress import progress_bars
    from codesign.report.files import check_result, write_result
    from codesign.report.result_tables import render_result
    from codesign.study import optimize as answer

    if out is not None:
        check_result(study, out, folder)
    with located(file, study), progress_bars() as progress:
        result = answer(study, folder=folder, progress=progress, run=run)
    save = None if out is None else partial(write_result, result, out, folder)
    deliver(render_result(result, format_.value), save)
