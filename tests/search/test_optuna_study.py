"""The study: reproducible, each design evaluated once, honest about what it found."""

import importlib.util
from contextlib import closing
from pathlib import Path
from typing import Any

import optuna
import pytest

from codesign.errors import InfeasibleError, UsageError
from codesign.search.engines import Run
from codesign.search.lattice import Lattice
from codesign.search.optuna_study import StudyOutcome, run_optuna
from codesign.search.sampling import make_sampler
from codesign.search.storage import open_store
from codesign.search.variants import Variants
from codesign.spec.study import Search
from codesign.study import make_problem, optimize
from tests.questions import make_study

SMALL = {"experts": "8:64:8", "top_k": "1:8", "shared_experts": 0, "draft_tokens": 3}
LOOSE = dict.fromkeys(("quality", "expert_width", "sd_tpot", "active_params"), False)
"""Lifted, so that a feasible design is found within a few trials."""

SAMPLERS = ["tpe", "nsga2", "qmc", "random", "optuna.samplers.TPESampler"]


def outcome(trials: int = 60, space: dict[str, Any] | None = None, **search: Any) -> StudyOutcome:
    """Return the outcome of a study without a storage."""
    problem = make_problem(make_study(space=space or {}))
    return run_optuna(problem, Search(trials=trials, **search))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_same_seed_and_batch_give_the_same_trials(sampler: str) -> None:
    first, second = outcome(sampler=sampler), outcome(sampler=sampler)
    assert first.ranked == second.ranked
    assert first.trials == 60


def test_another_seed_gives_other_trials() -> None:
    assert outcome(seed=1).ranked != outcome(seed=2).ranked


@pytest.mark.parametrize("sampler", SAMPLERS[:4])
def test_a_resumed_study_goes_on_as_if_undisturbed(sampler: str, tmp_path: Path) -> None:
    def run(trials: int, folder: str) -> None:
        search = {"engine": "optuna", "trials": trials, "sampler": sampler}
        study = make_study(search=search, constraints=LOOSE)
        optimize(study, run=Run(folder=tmp_path / folder, resume=True))

    run(100, "whole")
    for trials in (20, 47, 100):  # the second one ends within a batch
        run(trials, "parts")
    assert told(tmp_path / "parts") == told(tmp_path / "whole")


def told(folder: Path, name: str = "codesign") -> list[tuple[object, ...]]:
    with closing(open_store(None, folder, name)) as store:
        study = optuna.load_study(study_name=name, storage=store.storage)
        return [(t.number, t.state, t.params, t.values, t.constraints) for t in study.get_trials()]


def test_d02_every_design_of_a_small_space_is_evaluated_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = make_problem(make_study(space=SMALL))
    evaluated: list[tuple[int, ...]] = []
    evaluate = type(problem).evaluate

    def counting(self: Any, designs: Any) -> Any:
        evaluated.extend(tuple(row.values()) for row in designs.rows())
        return evaluate(self, designs)

    monkeypatch.setattr(type(problem), "evaluate", counting)
    found = run_optuna(problem, Search(trials=150))
    assert found.trials == 150
    assert found.distinct == len(set(evaluated)) < 150
    assert len(evaluated) == len(set(evaluated)), "a repeated suggestion is told from memory"


def test_d02_a_space_no_larger_than_the_trials_is_enumerated() -> None:
    result = optimize(make_study(space=SMALL, constraints={"quality": False}))
    assert result.certificate.kind == "exact"
    assert result.certificate.trials is None


def test_d06_every_position_of_the_space_is_a_design() -> None:
    problem = make_problem(make_study(space={"experts": "1,2,4,8:32:8", "top_k": "1:16"}))
    lattice = Lattice(Variants(problem))
    top_k, experts = (list(lattice.axes).index(axis) for axis in ("top_k", "experts"))
    rows = {
        lattice.row(tuple(n if axis == experts else k if axis == top_k else 0 for axis in range(4)))
        for n in range(lattice.shape[experts])
        for k in range(lattice.shape[top_k])
    }
    assert all(row[1 + top_k] <= row[1 + experts] for row in rows)
    axes = problem.space.axes
    pairs = {(n, k) for n in axes["experts"] for k in axes["top_k"] if k <= n}
    assert {(row[1 + experts], row[1 + top_k]) for row in rows} == pairs


@pytest.mark.parametrize("sampler", ["tpe", "random"])
def test_d06_no_trial_is_invalid_and_the_certificate_counts_valid_designs(sampler: str) -> None:
    space = {"experts": "8:64:8", "top_k": "1:64", "shared_experts": 0, "draft_tokens": "3:5"}
    result = optimize(make_study(space=space, search={"sampler": sampler, "trials": 40}))
    pairs = sum(k <= n for n in [*range(8, 65, 8), 128] for k in range(1, 65))
    assert result.certificate.designs == pairs * 3
    assert result.certificate.trials == 40


def test_an_infeasible_space_says_how_many_trials_were_feasible() -> None:
    study = make_study(
        constraints={"sd_tpot": {"at_most": "0.01x"}}, search={"engine": "optuna", "trials": 40}
    )
    with pytest.raises(InfeasibleError, match=r"no feasible design in 40 trials of \d+ designs"):
        optimize(study)


def test_a_nearly_infeasible_space_is_solved_by_the_certificate() -> None:
    study = make_study(
        constraints={"total_params": {"at_most": "0.8x"}, "sd_tpot": {"at_most": "0.86x"}}
    )
    result = optimize(study)
    certificate = result.certificate
    assert certificate.kind == "exact"
    assert certificate.feasible is not None
    assert 0 < certificate.feasible < 0.0005 * certificate.designs
    assert certificate.study_feasible is not None


def test_an_infeasible_space_is_proved_to_be_so() -> None:
    with pytest.raises(InfeasibleError, match=r"no design is feasible: 22,680 designs"):
        optimize(make_study(constraints={"sd_tpot": {"at_most": "0.01x"}}))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tep", "unknown sampler 'tep'; did you mean 'tpe'"),
        ("optuna.samplers.Nope", "sampler optuna.samplers.Nope"),
        ("nowhere.Sampler", "No module named 'nowhere'"),
        ("pathlib:Path", "is not an Optuna sampler"),
    ],
)
def test_an_unknown_sampler_is_a_usage_error(name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_sampler(name, 0, 0)


def test_gp_without_torch_says_how_to_install_its_cpu_build(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "torch" else find(name)
    )
    with pytest.raises(UsageError, match=r"pip install torch --index-url \S+/whl/cpu"):
        make_sampler("gp", 0, 0)


@pytest.mark.slow
def test_gp_runs_where_torch_is_installed() -> None:
    pytest.importorskip("torch")
    assert outcome(trials=13, sampler="gp", batch=11).trials == 13  # the last two are modelled
