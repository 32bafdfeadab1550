"""Answer one study: resolve it, search it, certify the answer."""

from pathlib import Path
from typing import Final

from codesign.answer import certified, front_objectives, uncertified
from codesign.further_axes import make_problem, make_variants
from codesign.records import Record
from codesign.result import Result
from codesign.search.engines import Progress, Run, search
from codesign.search.executor import check_workers
from codesign.search.plan import make_plan
from codesign.spec.study import Study
from codesign.spec.study_file import anchored, read_study
from codesign.starters import find_study

__all__ = ["load_study", "make_problem", "optimize", "plan", "question"]

OPEN: Final = ("engine", "trials")
"""Fields of the search that change how far it goes, not what is asked."""


def load_study(name_or_path: str | Path) -> Study:
    """Return a study: of a file if it exists, else a bundled one.

    Raises
    ------
    UsageError, DataError
        If there is neither, or it is not understood.
    """
    return read_study(find_study(str(name_or_path)))


def optimize(
    study: Study | str | Path,
    *,
    folder: Path | None = None,
    progress: Progress | None = None,
    run: Run | None = None,
) -> Result:
    """Search a study's space and return the answer.

    Parameters
    ----------
    study : Study, str or Path
        Or the name of a bundled one, or a file.
    folder : Path, optional
        What paths of objectives and constraints are relative to; those of a file: where it lies.
    progress : callable, optional
    run : Run, optional
        Workers, cluster, storage: how the search is carried out.

    Raises
    ------
    UsageError
        If the study asks for what cannot be.
    InfeasibleError
        If no design meets every constraint; the message says what excludes how many, which design
        violates least, and what to relax.
    InterruptedStudyError
        If Ctrl-C stopped it after trials were recorded.
    """
    if not isinstance(study, Study):
        folder = folder or find_study(str(study)).parent
        study = load_study(study)
    variants = make_variants(study, folder)
    front = front_objectives(variants.own.objectives)
    kept = anchored(study, folder)
    findings = search(
        variants, study.search, front, study.name, question(kept.to_data()), run or Run(), progress
    )
    if findings.certified is not None:
        return certified(kept, findings, front)
    return uncertified(kept, findings)


def plan(study: Study, *, folder: Path | None = None, workers: int = 1) -> str:
    """Return what `optimize` would do, how long it may take and why, without doing it."""
    check_workers(workers)
    variants = make_variants(study, folder)
    front = front_objectives(variants.own.objectives)
    return make_plan(variants, study.search, front, workers).text


def question(study: Record) -> Record:
    """Return what decides the trials of a study: all but how many, what follows, and its name."""
    search = {field: value for field, value in study["search"].items() if field not in OPEN}
    return {field: value for field, value in study.items() if field != "name"} | {"search": search}
