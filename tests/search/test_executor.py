"""What is mapped does not depend on what executes it; a lost worker's task is run again."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from codesign.errors import UsageError
from codesign.search.enumerate import Enumeration, enumerate_space
from codesign.search.executor import ATTEMPTS, Pool, Shared, open_pool
from codesign.search.optuna_study import StudyOutcome, run_optuna
from codesign.search.problem import Problem
from codesign.spec.study import Search
from codesign.study import make_problem
from tests.questions import make_study

OWN = """
from codesign.objectives import Objective


class Wide(Objective):
    name = "wide"
    direction = "maximize"
    unit = "-"

    def evaluate(self, prediction):
        return prediction.designs.experts * prediction.value("sd_speedup")
"""


def square(number: int) -> int:
    return number * number


def threads(_: int) -> str | None:
    return os.environ.get("OMP_NUM_THREADS")


def die_once(marker: Path) -> int:
    """Die as if out of memory, but only the first time."""
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 7


def process(_: int) -> int:
    time.sleep(0.05)
    return os.getpid()


def wait_for_end(number: int) -> None:
    """Wait until a process is gone, or only its parent has not noticed yet."""
    for _ in range(200):
        try:
            if Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except OSError:
            return
        time.sleep(0.05)
    raise AssertionError(f"process {number} goes on")


def die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(scope="module")
def processes() -> Iterator[Pool]:
    with open_pool(workers=2) as pool:
        yield pool


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with started_cluster() as (address, _):
        yield address


@contextmanager
def started_cluster() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A scheduler, which is given too, and two workers of one thread each, in processes."""
    pytest.importorskip("distributed", reason="needs the extra cluster")
    root = Path(__file__).parents[2]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(root)}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = f"tcp://127.0.0.1:{port}"
    commands = [
        ["scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"],
        *(["worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny"],) * 2,
    ]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + command[0], *command[1:]],
            cwd=root, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for command in commands
    ]  # fmt: skip
    try:
        for _ in range(60):
            try:
                with open_pool(cluster=address) as pool:
                    if pool.workers == 2:
                        break
            except UsageError:
                pass
            time.sleep(0.5)
        yield address, started[0]
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def small_problem(folder: Path | None = None, **fields: object) -> Problem:
    space = {"experts": "32:160:16", "top_k": "4:10", "shared_experts": "0:1"}
    return make_problem(make_study(space=space, **fields), folder)


def findings(found: Enumeration) -> tuple[object, ...]:
    """Return everything that an answer is made from."""
    assert found.front.designs is not None
    return (
        found.designs, found.feasible, found.excluded,
        found.best.score, found.throughput_best.score,
        found.front.designs.rows(), found.front.merits.tolist(), found.variance.indices(),
        found.contenders.scores.tolist(),
    )  # fmt: skip


def test_results_come_in_the_order_of_the_items(processes: Pool) -> None:
    assert list(processes.map(square, range(50))) == [n * n for n in range(50)]


def test_worker_processes_have_one_thread_each(processes: Pool) -> None:
    assert set(processes.map(threads, range(8))) == {"1"}


def test_items_are_taken_as_they_are_needed(processes: Pool) -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in range(100):
            taken.append(number)
            yield number

    results = processes.map(square, items())
    next(results)
    assert len(taken) <= 3 * processes.workers
    list(results)


@pytest.mark.slow
def test_a_lost_workers_task_is_run_again(tmp_path: Path) -> None:
    with open_pool(workers=2) as pool:
        assert list(pool.map(die_once, [tmp_path / "one"] * 3)) == [7, 7, 7]


@pytest.mark.slow
def test_a_worker_that_dies_between_tasks_is_replaced() -> None:
    with open_pool(workers=2) as pool:
        (worker,) = pool.map(process, [0])
        os.kill(worker, signal.SIGKILL)
        wait_for_end(worker)
        assert list(pool.map(square, range(5))) == [n * n for n in range(5)]


@pytest.mark.slow
def test_workers_end_with_a_driver_that_is_killed() -> None:
    code = (
        "import os, time\nfrom codesign.search.executor import open_pool\n"
        "from tests.search.test_executor import process\n"
        "with open_pool(2) as pool:\n"
        "    print(*{*pool.map(process, range(8))}, flush=True); time.sleep(60)"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=root) as driver:
        assert driver.stdout is not None
        workers = [int(number) for number in driver.stdout.readline().split()]
        driver.kill()
    assert workers
    for worker in workers:
        wait_for_end(worker)


@pytest.mark.slow
def test_a_task_that_kills_every_worker_is_named() -> None:
    with (
        open_pool(workers=2) as pool,
        pytest.raises(UsageError, match=f"workers died {ATTEMPTS} times at the same task"),
    ):
        list(pool.map(die, [1]))


def test_a_shared_value_is_opened_once_per_process(processes: Pool) -> None:
    shared = Shared({"a": 1})
    assert list(processes.map(shared_value, [shared] * 3)) == [{"a": 1}] * 3


def shared_value(shared: Shared[dict[str, int]]) -> dict[str, int]:
    return shared.value


@pytest.mark.parametrize("workers", [0, -1])
def test_no_workers_is_a_usage_error(workers: int) -> None:
    with pytest.raises(UsageError, match="workers must be at least 1"), open_pool(workers):
        pass


def test_enumeration_is_the_same_in_two_processes(
    processes: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codesign.search.enumerate.CHUNKS_PER_SHARD", 1)
    monkeypatch.setattr("codesign.search.enumerate.POINTS_AT_ONCE", 300)
    problem = small_problem(uncertainty={"draws": 4})
    alone = enumerate_space(problem, problem.objectives)
    shared = enumerate_space(problem, problem.objectives, None, processes)
    assert findings(shared) == findings(alone)


def test_an_objective_of_ones_own_reaches_the_workers(processes: Pool, tmp_path: Path) -> None:
    (tmp_path / "wide.py").write_text(OWN)
    problem = small_problem(tmp_path, objectives=["wide.py"])
    alone = enumerate_space(problem, problem.objectives)
    shared = enumerate_space(problem, problem.objectives, None, processes)
    assert findings(shared) == findings(alone)


def trials(pool: Pool | None) -> StudyOutcome:
    search = Search(trials=60, batch=12, piece=5)
    return run_optuna(small_problem(), search, pool=pool)


def test_a_study_has_the_same_trials_with_two_workers(processes: Pool) -> None:
    alone, shared = trials(None), trials(processes)
    assert shared.ranked == alone.ranked
    assert shared.best_score == alone.best_score


@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_trials_and_enumeration(cluster: str) -> None:
    problem = small_problem()
    with open_pool(cluster=cluster) as pool:
        assert pool.workers >= 1  # two, unless another test has killed one
        shared, found = trials(pool), enumerate_space(problem, problem.objectives, None, pool)
    alone = trials(None)
    assert (shared.ranked, shared.best_score) == (alone.ranked, alone.best_score)
    assert findings(found) == findings(enumerate_space(problem, problem.objectives))


@pytest.mark.slow
def test_a_task_of_a_lost_dask_worker_is_run_again(cluster: str, tmp_path: Path) -> None:
    with open_pool(cluster=cluster) as pool:
        assert list(pool.map(die_once, [tmp_path / "one"])) == [7]


@pytest.mark.slow
def test_a_scheduler_that_is_lost_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codesign.search.executor.PATIENCE", "3s")

    def lost(scheduler: subprocess.Popen[bytes]) -> Iterator[int]:
        for number in range(1000):
            if number == 20:
                scheduler.kill()
            yield number

    with (
        started_cluster() as (address, scheduler),
        pytest.raises(UsageError, match=r"the scheduler at .* is gone; start it .* --resume"),
        open_pool(cluster=address) as pool,
    ):
        list(pool.map(process, lost(scheduler)))


def test_nobody_at_the_address_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="needs the extra cluster")
    monkeypatch.setattr("codesign.search.executor.PATIENCE", "1s")
    with (
        pytest.raises(UsageError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"),
        open_pool(cluster="tcp://127.0.0.1:9"),
    ):
        pass
