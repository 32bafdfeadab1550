"""The Optuna study: asked in batches from what was told, recorded trial by trial.

The sampler works on a copy of the study in memory. Each batch follows from the seed, its number and
the trials of the batches before; the storage holds finished trials only, each in its slot. So a
study that was killed, or is worked on by two drivers, has the trials of an undisturbed one.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning
from optuna.storages import InMemoryStorage
from optuna.trial import FrozenTrial, create_trial

from codesign.designs import Designs
from codesign.objectives import Direction
from codesign.search.assess import Assessor, Outcome
from codesign.search.executor import InProcess, Pool
from codesign.search.interrupt import Interruption
from codesign.search.lattice import Lattice, Place, Row
from codesign.search.problem import Problem
from codesign.search.record import StudyRecord, as_sampled
from codesign.search.sampling import make_sampler
from codesign.search.storage import open_store
from codesign.search.variants import Variants
from codesign.spec.study import Search

Progress = Callable[[int], None]


@dataclass(frozen=True)
class StudyOutcome:
    """What the study found.

    Parameters
    ----------
    trials, distinct, feasible : int
        Finished trials; distinct designs among them, and feasible ones among those.
    best : Designs, optional
        Best feasible design by the first objective; absent where none is feasible.
    best_score : float
        Its merit.
    variant : int
        Which one the best design belongs to.
    ranked : tuple of Place
        Positions of distinct designs: feasible ones by merit, then the others by their shortfall.
    """

    trials: int
    distinct: int
    feasible: int
    best: Designs | None
    best_score: float
    variant: int = 0
    ranked: tuple[Place, ...] = ()


def run_optuna(
    problem: Problem | Variants,
    search: Search,
    progress: Progress | None = None,
    pool: Pool | None = None,
    record: StudyRecord | None = None,
) -> StudyOutcome:
    """Run or continue one study; the same seed and batch give the same trials.

    Parameters
    ----------
    problem : Problem or Variants
    search : Search
    progress : callable, optional
        Told how many trials were finished since the last call.
    pool : Pool, optional
        What evaluates the designs; this process where absent.
    record : StudyRecord, optional
        Where trials are kept; nowhere but in memory where absent.

    Raises
    ------
    InterruptedStudyError
        After Ctrl-C, once the batch at hand is recorded, if the record outlives the process.
    """
    variants = Variants(problem) if isinstance(problem, Problem) else problem
    assessor = Assessor(Lattice(variants), pool or Pool(InProcess, 1), search.piece)
    driver = _Driver(assessor, search, record or _forgotten(variants))
    with Interruption(driver.record.store.place) as interruption:
        for finished in driver.run():
            if progress is not None:
                progress(finished)
            interruption.check(driver.told, search.trials)
    return driver.outcome()


def directions_of(variants: Variants) -> list[Direction]:
    """Return the directions of the objectives, as Optuna names them."""
    return [objective.direction for objective in variants.own.objectives]


def _forgotten(variants: Variants) -> StudyRecord:
    names = [objective.name for objective in variants.own.objectives]
    store = open_store(None, None, "codesign")
    return StudyRecord(store, "codesign", directions_of(variants), names, {}, False)


class _Driver:
    """One process at work on a study."""

    def __init__(self, assessor: Assessor, search: Search, record: StudyRecord) -> None:
        self.record = record
        self.told = self._restored = 0
        self._assessor, self._search = assessor, search
        self._lattice = assessor.lattice
        self._rows: list[Row] = []
        self._places: dict[Row, Place] = {}
        self._accompanied = self._backwards = False
        self._memory = InMemoryStorage()
        directions = directions_of(self._lattice.variants)
        self._study = optuna.create_study(directions=directions, storage=self._memory)

    def run(self) -> Iterator[int]:
        """Finish batch after batch; yields how many trials were finished."""
        self.told = self._restored = self._restore()
        yield self.told
        while self.told < self._search.trials:
            batch, first = divmod(self.told, self._search.batch)
            assert first == 0, "only whole batches are restored"
            size = min(self._search.batch, self._search.trials - self.told)
            self._run_batch(batch, size)
            self.told += size
            yield size

    def _restore(self) -> int:
        """Load whole batches that were told; return how many trials they have."""
        told = self.record.told()
        whole = 0
        while whole in told and whole < self._search.trials:
            whole += 1
        if whole < self._search.trials:
            whole -= whole % self._search.batch
        for slot in range(whole):
            trial = as_sampled(told[slot])
            place = self._lattice.place(trial.params)
            row = self._lattice.row(place)
            self._places.setdefault(row, place)
            self._assessor.known[row] = self._outcome_of(trial)
            self._rows.append(row)
            self._study.add_trial(trial)
        return whole

    def _run_batch(self, batch: int, size: int) -> None:
        before = self.record.sampler_state(batch)
        for key, value in before.items():
            self._memory.set_study_system_attr(self._study._study_id, key, value)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            self._study.sampler = make_sampler(self._search.sampler, self._search.seed, batch)
            trials = [self._study.ask() for _ in range(size)]
            places = [self._lattice.suggest(trial) for trial in trials]
        rows = [self._lattice.row(place) for place in places]
        for row, place in zip(rows, places, strict=True):
            self._places.setdefault(row, place)
        asked = self._study.get_trials(deepcopy=False)[-size:]
        work = _Batch(batch * self._search.batch, asked, rows)
        after = self._memory.get_study_system_attrs(self._study._study_id)
        if after:
            work.sampler = {"batch": batch, "before": before, "after": after}
        self._evaluate(work)
        for trial, row in zip(trials, rows, strict=True):
            outcome = self._assessor.known[row]
            for name, violation in outcome.violations.items():
                trial.set_constraint(name, violation)
            self._study.tell(trial, outcome.values)
        self._rows += rows

    def _evaluate(self, work: "_Batch") -> None:
        """Evaluate a batch piece by piece; record each as soon as it is known."""
        pieces = self._assessor.pieces(work.rows)
        if self._accompanied or work.first == self._restored:
            self._adopt(work)
        if self._backwards:
            pieces.reverse()
        for _ in self._assessor.assess(piece for piece in pieces if self._is_open(work, piece)):
            self._record(work)
        self._record(work)

    def _is_open(self, work: "_Batch", rows: list[Row]) -> bool:
        """Whether some of these rows are left to do."""
        if self._accompanied:
            self._adopt(work)
        return not work.left.isdisjoint(rows)

    def _adopt(self, work: "_Batch") -> None:
        """Take over what is recorded of a batch, by an earlier process or another driver."""
        told = self.record.told()
        for slot in work.slots.keys() & told.keys():
            self._assessor.known[work.slots[slot]] = self._outcome_of(as_sampled(told[slot]))
            work.recorded.add(slot)

    def _record(self, work: "_Batch") -> None:
        """Record what is known of a batch, in the order of its slots and without a gap."""
        ready = {}
        for slot, row in work.slots.items():
            if row not in self._assessor.known:
                if not self._backwards:
                    break
            elif slot not in work.recorded:
                ready[slot] = self._finished(work.trials[slot - work.first], row)
        done = self.record.record(ready, work.sampler)
        work.recorded.update(done)
        if len(done) < len(ready):  # another driver is at the same batch: meet it half-way
            self._accompanied, self._backwards = True, not self._backwards
            self._adopt(work)

    def _finished(self, trial: FrozenTrial, row: Row) -> FrozenTrial:
        outcome = self._assessor.known[row]
        return create_trial(
            values=outcome.values, params=trial.params, distributions=trial.distributions,
            system_attrs=dict(trial.system_attrs), constraints=outcome.violations,
            user_attrs={"design": self._lattice.shown(row)},
        )  # fmt: skip

    def _outcome_of(self, trial: FrozenTrial) -> Outcome:
        """Return what was told; a database gives constraints back in any order."""
        told = trial.constraints
        names = (constraint.name for constraint in self._lattice.variants.own.constraints)
        return Outcome(tuple(trial.values), {name: told[name] for name in names})

    def outcome(self) -> StudyOutcome:
        """Return what the study found so far."""
        distinct = list(dict.fromkeys(self._rows))
        known = self._assessor.known
        feasible = [row for row in distinct if known[row].feasible]
        rest = [row for row in distinct if not known[row].feasible]
        # Of equals the fewest draft tokens, as everywhere; the design itself makes it definite.
        feasible.sort(key=lambda row: (-self._assessor.merit(known[row]), row[4], row))
        rest.sort(key=lambda row: (known[row].shortfall, row))
        best = feasible[0] if feasible else None
        return StudyOutcome(
            trials=len(self._rows),
            distinct=len(distinct),
            feasible=len(feasible),
            best=self._lattice.designs([best]) if best else None,
            best_score=self._assessor.merit(known[best]) if best else -math.inf,
            variant=best[0] if best else 0,
            ranked=tuple(self._places[row] for row in (*feasible, *rest)),
        )


@dataclass
class _Batch:
    """Trials asked for together, and the slots they are recorded in."""

    first: int
    trials: list[FrozenTrial]
    rows: list[Row]
    sampler: dict[str, Any] | None = None
    recorded: set[int] = field(default_factory=set)

    @property
    def slots(self) -> dict[int, Row]:
        return dict(enumerate(self.rows, start=self.first))

    @property
    def left(self) -> set[Row]:
        return {row for slot, row in self.slots.items() if slot not in self.recorded}
