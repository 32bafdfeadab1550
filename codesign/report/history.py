"""The trials of a study, read back from its journal."""

from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from codesign.records import Record
from codesign.report.charts import Axis, Chart, Series
from codesign.report.result_charts import axis_of, scaled
from codesign.search.record import SLOT
from codesign.search.storage import BROKEN_JOURNAL

if TYPE_CHECKING:
    from optuna import Study


@dataclass(frozen=True)
class History:
    """Finished trials in their order.

    Parameters
    ----------
    values : list of float
        Of the first objective.
    feasible : list of bool
    minimized : bool
        Whether less is better.
    """

    values: list[float]
    feasible: list[bool]
    minimized: bool

    def best_so_far(self) -> list[float | None]:
        """Return the best feasible value up to each trial; none before the first."""
        choose = min if self.minimized else max

        def better(best: float | None, value: float | None) -> float | None:
            known = [each for each in (best, value) if each is not None]
            return choose(known) if known else None

        own = [v if ok else None for v, ok in zip(self.values, self.feasible, strict=True)]
        return list(accumulate(own, better))


def read_history(journal: Path | None, result: Record) -> History | None:
    """Return a study's trials; none where its journal is absent, another study's, or broken."""
    if journal is None or not journal.is_file():
        return None
    study = _loaded(journal, result["study"]["name"])
    if study is None or not study.directions:
        return None
    from optuna.study import StudyDirection
    from optuna.trial import TrialState

    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    found = [trial for trial in complete if trial.values]  # a journal changed by hand may lack them
    trials = sorted(found, key=lambda trial: trial.user_attrs.get(SLOT, trial.number))
    return History(
        [float(trial.values[0]) for trial in trials],
        [all(each <= 0 for each in trial.constraints.values()) for trial in trials],
        study.directions[0] == StudyDirection.MINIMIZE,
    )


def _loaded(journal: Path, name: str) -> "Study | None":
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    try:
        storage = JournalStorage(JournalFileBackend(str(journal)))
        return optuna.load_study(study_name=name, storage=storage)
    except (OSError, *BROKEN_JOURNAL):
        return None


def history_chart(result: Record, history: History) -> Chart:
    """Return what each trial found, the best so far, and the best design of the answer."""
    name = result["verdict"]["objective"]
    numbers = range(1, len(history.values) + 1)
    values = scaled(name, history.values)
    split = {met: [n for n in numbers if history.feasible[n - 1] == met] for met in (False, True)}
    best = [(n, v) for n, v in zip(numbers, history.best_so_far(), strict=True) if v is not None]
    answer = float(scaled(name, result["best"]["objectives"][name]))
    proven = result["certificate"]["kind"] == "exact"
    return Chart(
        "history",
        "How did the sampled search approach the optimum?",
        "Objective of each trial of the Optuna study, its best so far, and the design of the "
        "answer; infeasible trials may lie beyond it.",
        Axis("trial"),
        axis_of(name),
        (
            Series("infeasible trials", split[False], [values[n - 1] for n in split[False]],
                   "points", "quiet"),
            Series("feasible trials", split[True], [values[n - 1] for n in split[True]],
                   "points", "control"),
            Series("best so far", [n for n, _ in best], scaled(name, [v for _, v in best]),
                   "steps", "best"),
            Series("proven optimum" if proven else "best known", [1, numbers[-1]],
                   [answer, answer], "line", "reference", "dash"),
        ),
    )  # fmt: skip
