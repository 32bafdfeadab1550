"""The record of a study: finished trials, each in its slot, in any of Optuna's storages.

A trial is recorded once, finished, in one transaction: a driver killed at any moment leaves whole
trials and nothing that runs for ever. Slot s is the s-th trial of an undisturbed study.
"""

import warnings
from collections.abc import Mapping
from typing import Any, Final

import optuna
from optuna.exceptions import DuplicatedStudyError, ExperimentalWarning
from optuna.trial import FrozenTrial, TrialState, create_trial

from codesign.errors import UsageError
from codesign.objectives import Direction
from codesign.records import differences
from codesign.search.storage import Store

SLOT: Final = "slot"
QUESTION: Final = "codesign:question"
SAMPLER: Final = "codesign:sampler"

DASHBOARD_CONSTRAINTS: Final = "constraints"
"""Where optuna-dashboard 0.21 looks for a list; Optuna 5 keeps constraints by name."""

UNTOLD: Final = "tpe:relative_params"
"""What TPE notes for trials that are not told yet."""


class StudyRecord:
    """One study in a storage.

    Parameters
    ----------
    store : Store
    name : str
    directions : list of str
    metrics : list of str
        Names of the objectives.
    question : dict
        What decides the study's trials; a study that is resumed must have asked the same.
    resume : bool
        Go on with a study of that name if there is one.

    Attributes
    ----------
    begun : bool
        Whether there was one.

    Raises
    ------
    UsageError
        If there is one and it is not to be resumed, or it asked something else.
    """

    def __init__(
        self,
        store: Store,
        name: str,
        directions: list[Direction],
        metrics: list[str],
        question: dict[str, Any],
        resume: bool,
    ) -> None:
        self.store, self.name = store, name
        taken = False
        try:
            self.study = optuna.create_study(
                storage=store.storage, study_name=name, directions=directions,
                load_if_exists=resume,
            )  # fmt: skip
        except DuplicatedStudyError:  # what to do about it depends on what it asked
            taken = True
            self.study = optuna.load_study(storage=store.storage, study_name=name)
        asked: dict[str, Any] = self.study.user_attrs.get(QUESTION, {})
        self.begun = bool(asked)
        if self.begun and asked != question:
            raise UsageError(
                f"{store.place}: study {name!r} asked another question "
                f"({', '.join(differences(asked, question))} differ); only trials may change: "
                "for a new question choose another --out, --storage or name"
            )
        if taken:
            raise UsageError(
                f"{store.place} already holds a study named {name!r}: --resume continues it; "
                "for a new one choose another --out, --storage or name"
            )
        if not self.begun:
            self.study.set_user_attr(QUESTION, question)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ExperimentalWarning)
                self.study.set_metric_names(metrics)
        self._fail_running()

    def told(self) -> dict[int, FrozenTrial]:
        """Return the finished trials by slot, as the sampler saw them."""
        slots: dict[int, FrozenTrial] = {}
        for trial in self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)):
            slot = trial.user_attrs.get(SLOT)
            if slot is not None:
                slots.setdefault(slot, trial)
        return slots

    def sampler_state(self, batch: int) -> dict[str, Any]:
        """Return what the sampler had kept in the study before a batch."""
        kept = self.study.user_attrs.get(SAMPLER, {"batch": batch, "before": {}})
        state: dict[str, Any] = kept["before" if kept["batch"] == batch else "after"]
        return state

    def record(
        self, trials: Mapping[int, FrozenTrial], sampler: dict[str, Any] | None = None
    ) -> list[int]:
        """Record trials by slot where it is still free, and return those slots.

        Parameters
        ----------
        trials : mapping of int to FrozenTrial
        sampler : dict, optional
            What the sampler keeps in the study before and after the batch.
        """
        recorded = []
        with self.store.exclusive():
            told = self.told()
            if sampler is not None and told.keys().isdisjoint(trials):
                self.study.set_user_attr(SAMPLER, sampler)
            for slot, trial in trials.items():
                if slot not in told:
                    self.study.add_trial(_shown(trial, slot))
                    recorded.append(slot)
        return recorded

    def _fail_running(self) -> None:
        """Fail trials that some other program asked for and never told: they run for ever."""
        for trial in self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            self.study.tell(trial.number, state=TrialState.FAIL)


def as_sampled(trial: FrozenTrial) -> FrozenTrial:
    """Return a recorded trial without what was added for the dashboard."""
    system = {name: v for name, v in trial.system_attrs.items() if name != DASHBOARD_CONSTRAINTS}
    return create_trial(
        values=trial.values, params=trial.params, distributions=trial.distributions,
        system_attrs=system,
    )  # fmt: skip


def _shown(trial: FrozenTrial, slot: int) -> FrozenTrial:
    """Return a trial as it is recorded: in its slot, its constraints where dashboards look."""
    system = {name: v for name, v in trial.system_attrs.items() if not name.startswith(UNTOLD)}
    system[DASHBOARD_CONSTRAINTS] = list(trial.constraints.values())
    return create_trial(
        values=trial.values, params=trial.params, distributions=trial.distributions,
        system_attrs=system, user_attrs=trial.user_attrs | {SLOT: slot},
    )  # fmt: skip
