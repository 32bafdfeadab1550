"""The engines: a study, its certificate, a local search, and which of them are run."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import optuna

from codesign.errors import InterruptedStudyError, UsageError
from codesign.objectives import Objective
from codesign.search.certificate import Certified, certify
from codesign.search.dashboard import TOP, annotate, mirror
from codesign.search.executor import Pool, open_pool
from codesign.search.hybrid import STARTS, Polish, polish
from codesign.search.optuna_study import StudyOutcome, directions_of, run_optuna
from codesign.search.plan import Plan, make_plan
from codesign.search.record import StudyRecord
from codesign.search.storage import Store, open_store
from codesign.search.variants import Variants
from codesign.spec.study import Search

Progress = Callable[[str, int, int], None]
"""Told the stage, how much of it is done, and how much there is."""


@dataclass(frozen=True)
class Run:
    """How a search is carried out; nothing here changes its answer.

    Parameters
    ----------
    workers : int
        Local processes.
    cluster : str, optional
        Address of a Dask scheduler, instead.
    storage : str, optional
        Database URL, or path of a journal.
    folder : Path, optional
        Where a study is kept in a journal if no storage is given.
    resume : bool
        Continue the study that is there.
    announce : callable, optional
        Told the plan before a long search.
    designs : {"feasible", "all"}
        Which designs of an exact run are written into the folder.
    parquet : bool
        As designs.parquet instead of designs.csv.gz.
    """

    workers: int = 1
    cluster: str | None = None
    storage: str | None = None
    folder: Path | None = None
    resume: bool = False
    announce: Callable[[str], None] | None = None
    designs: Literal["feasible", "all"] = "feasible"
    parquet: bool = False

    def __post_init__(self) -> None:
        """Refuse what would do nothing.

        Raises
        ------
        UsageError
        """
        if self.resume and self.folder is None and self.storage is None:
            raise UsageError(
                "--resume continues a study in an --out folder or --storage: say where"
            )
        if self.folder is None and (self.parquet or self.designs == "all"):
            raise UsageError("designs are written into an --out folder: say where")


@dataclass(frozen=True)
class Findings:
    """What a search found.

    Parameters
    ----------
    plan : Plan
    variants : Variants
    outcome : StudyOutcome, optional
        Of the Optuna study.
    certified : Certified, optional
        Of the enumeration.
    polished : Polish, optional
        Of the local search.
    """

    plan: Plan
    variants: Variants
    outcome: StudyOutcome | None = None
    certified: Certified | None = None
    polished: Polish | None = None


def search(
    variants: Variants,
    settings: Search,
    front: tuple[Objective, ...],
    name: str,
    question: dict[str, Any],
    run: Run,
    progress: Progress | None = None,
) -> Findings:
    """Search a study's space.

    Parameters
    ----------
    variants : Variants
    settings : Search
    front : tuple of Objective
        Objectives of the Pareto front.
    name : str
        Of the study, in its storage.
    question : dict
        What decides the trials; see `StudyRecord`.
    run : Run
    progress : callable, optional

    Raises
    ------
    InterruptedStudyError
        If Ctrl-C stopped it after trials were recorded.
    """
    with open_pool(run.workers, run.cluster) as pool:
        plan = make_plan(variants, settings, front, pool.workers)
        announce = run.announce or _nobody
        if plan.long:
            announce(plan.text)
        if run.resume and not plan.study:
            announce("nothing to resume: every design is evaluated, without a study")
        if not plan.exact and (run.parquet or run.designs == "all"):
            announce("no designs are written: only an exact run evaluates every one")
        outcome = certified = polished = None
        store = open_store(run.storage, run.folder, name)
        with closing(store), store.answering(), _keeping(store, plan):
            if plan.study:
                names = [objective.name for objective in variants.own.objectives]
                record = StudyRecord(
                    store, name, directions_of(variants), names, question, run.resume
                )
                if run.resume and not record.begun:
                    announce(f"nothing to resume in {store.place}: study {name!r} begins")
                told = _stage(progress, "study", settings.trials)
                outcome = run_optuna(variants, settings, told, pool, record)
            if plan.exact:
                certified = certify(variants, front, _stage(progress, "designs", plan.size), pool)
                _keep(certified, variants, front, name, store, run, pool)
            if plan.polish and outcome is not None and outcome.ranked:
                polished = polish(variants, outcome, pool, _stage(progress, "polish", STARTS))
    return Findings(plan, variants, outcome, certified, polished)


def _keep(
    certified: Certified,
    variants: Variants,
    front: tuple[Objective, ...],
    name: str,
    store: Store,
    run: Run,
    pool: Pool,
) -> None:
    """Write the designs of an exact run where a folder is given, and show them beside the study."""
    from codesign.search.designs_file import all_tables, listed_tables, write_tables  # pandas

    contenders = certified.found.contenders
    if run.folder is None or contenders.designs is None:
        return
    problem = variants.problem(certified.variant)
    order = np.argsort(-contenders.scores, kind="stable")
    tables = (
        all_tables(variants, pool)
        if run.designs == "all"
        else listed_tables(problem, contenders.designs.take(order))
    )
    write_tables(tables, run.folder, run.parquet)
    best = contenders.designs.take(order[:TOP])
    text = (
        f"exact: {certified.found.designs:,} designs, {certified.found.feasible:,} feasible; "
        f"the best is {best.rows()[0] | dict(problem.settings)}"
    )
    with store.exclusive():  # another driver of the study comes to the same end
        mirror(store, name, variants, certified.fronts, (certified.variant, best))
        for title in optuna.get_all_study_names(store.storage):
            if title in (name, f"{name} exact"):
                annotate(store, title, variants, front, certified.fronts, text)


@contextmanager
def _keeping(store: Store, plan: Plan) -> Iterator[None]:
    """Say, where the search is stopped after the study, that its trials are not lost."""
    try:
        yield
    except KeyboardInterrupt:
        if not (store.place and plan.study):
            raise
        raise InterruptedStudyError(
            f"interrupted; what was told is kept in {store.place}: the same command with --resume "
            "continues"
        ) from None


def _nobody(_text: str) -> None:
    pass


def _stage(progress: Progress | None, stage: str, total: int) -> Callable[[int], None] | None:
    if progress is None:
        return None
    return lambda done: progress(stage, done, total)
