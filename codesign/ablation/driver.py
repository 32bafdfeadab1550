"""Run an ablation: its rows in order, over workers, resumed where it was interrupted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from codesign.ablation.cases import Case, cases_of, overridden
from codesign.ablation.evaluation import Plan, Setting, evaluate_case
from codesign.ablation.journal import Journal
from codesign.ablation.outcome import AblationResult
from codesign.errors import Location
from codesign.figure import find_figure
from codesign.paths import is_file
from codesign.prediction import Prediction
from codesign.records import Record
from codesign.search.executor import Shared, open_pool
from codesign.spec.ablation import Ablation
from codesign.spec.load import load_spec, raw_data
from codesign.spec.study import Study
from codesign.spec.study_file import beside, located, read_study
from codesign.starters import find_ablation, find_study

Progress = Callable[[str, int, int], None]
"""Told the stage, how much of it is done, and how much there is."""


INLINE: Final[Location] = ("study",)
"""Where a study stands that has no file of its own."""


def load_ablation(name_or_path: str | Path) -> tuple[Ablation, Path]:
    """Read an ablation and the study it names: beside it, or bundled.

    Parameters
    ----------
    name_or_path : str or Path
        A path that exists, or the name of a bundled ablation.

    Returns
    -------
    Ablation
        Its study resolved.
    Path
        What the study's paths of objectives and constraints are relative to.

    Raises
    ------
    UsageError
        With file, line and column of what is wrong.
    """
    path = find_ablation(str(name_or_path))
    ablation = load_spec(path, Ablation)
    if isinstance(ablation.study, Study):
        study = beside(ablation.study, path, INLINE)
        return ablation.model_copy(update={"study": study}), path.parent
    file = _file_of(ablation.study, path)
    return ablation.model_copy(update={"study": read_study(file)}), file.parent


@contextmanager
def located_study(name_or_path: str | Path, ablation: Ablation) -> Iterator[None]:
    """Put file, line and column before complaints about the study of an ablation.

    Fields that the ablation itself changes stand where it changes them, which is not looked for.

    Parameters
    ----------
    name_or_path : str or Path
        As `load_ablation` takes it.
    ablation : Ablation
        Its study resolved.
    """
    assert isinstance(ablation.study, Study)
    path = find_ablation(str(name_or_path))
    data: Any = raw_data(path)
    inline = not isinstance(data["study"], str)
    file = path if inline else _file_of(data["study"], path)
    changes = (ablation.overrides, ablation.factors, *ablation.variants.values())
    changed = frozenset(name.partition(".")[0] for each in changes for name in each)
    with located(file, ablation.study, INLINE if inline else (), changed):
        yield


def _file_of(study: str, path: Path) -> Path:
    own = path.parent / study
    return own if is_file(own) else find_study(study)


def ablate(
    ablation: Ablation,
    *,
    folder: Path | None = None,
    journal: Journal | None = None,
    workers: int = 1,
    cluster: str | None = None,
    progress: Progress | None = None,
) -> AblationResult:
    """Evaluate every row of an ablation.

    Parameters
    ----------
    ablation : Ablation
    folder : Path, optional
        What paths of objectives and constraints are relative to.
    journal : Journal, optional
        Holds the rows that an interrupted run had finished; new ones are added to it.
    workers : int
        Local processes.
    cluster : str, optional
        Address of a Dask scheduler, instead.
    progress : callable, optional

    Returns
    -------
    AblationResult
        The same whatever executes it.

    Raises
    ------
    UsageError
        If the ablation asks for what cannot be.
    InfeasibleError
        If the design of a study is to be held that has none.
    """
    for name in ablation.figures:
        find_figure(Prediction, name)
    asked = question(ablation)
    study = Study.from_data(asked["study"])
    cases = cases_of(ablation, study)
    plan = Plan(ablation, folder)
    if ablation.design == "hold":
        held, _ = Setting(plan, study).optimum()
        plan = Plan(ablation, folder, held)
    rows = _finished(plan, cases, journal)
    _tell(progress, len(rows), len(cases))
    missing = [case for case in cases if case.name not in rows]
    with open_pool(min(workers, max(len(missing), 1)), cluster) as pool:
        results = pool.map(partial(_evaluate, Shared(plan)), missing)
        for case, row in zip(missing, results, strict=True):
            rows[case.name] = row
            if journal is not None:
                journal.add(plan, case, row)
            _tell(progress, 1, len(cases))
    return AblationResult(
        ablation=asked,
        rows=[rows[case.name] for case in cases],
        versions={name: version(name) for name in ("codesign", "numpy", "scipy")},
    )


def question(ablation: Ablation) -> Record:
    """Return what is asked, as a result carries it: with the study that every row begins from."""
    study = ablation.study
    if isinstance(study, str):
        study = read_study(find_study(study))
    return ablation.to_data() | {"study": overridden(study, ablation.overrides).to_data()}


def _finished(plan: Plan, cases: list[Case], journal: Journal | None) -> dict[str, Record]:
    if journal is None:
        return {}
    known = {case.name: journal.row(plan, case) for case in cases}
    return {name: row for name, row in known.items() if row is not None}


def _evaluate(plan: Shared[Plan], case: Case) -> Record:
    return evaluate_case(plan.value, case)


def _tell(progress: Progress | None, done: int, total: int) -> None:
    if progress is not None and done:
        progress("variants", done, total)
