"""One ordered map over workers: this process, local processes, or a Dask cluster.

What is mapped is cut the same way whatever executes it, and results come in the order of the
items, so that an answer does not depend on where it was computed. This module imports neither
numpy nor the model: a worker process sets its environment before they load.
"""

import logging
import os
import pickle
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
)
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from multiprocessing import get_context, parent_process
from pathlib import Path
from threading import Thread
from typing import Any, Final, Generic, TypeVar

from codesign.errors import CodesignError, UsageError
from codesign.registry import EXTENSION_MODULE, module_of_file

Item = TypeVar("Item")
Result = TypeVar("Result")
Value = TypeVar("Value")

ATTEMPTS: Final = 3
"""Times a task is run before its workers' deaths are taken for its own fault."""

AHEAD: Final = 2
"""Tasks in flight per worker: enough to keep it busy, few enough to bound memory."""

PATIENCE: Final = "20s"
"""How long a cluster's scheduler is waited for."""

ONE_THREAD: Final = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
"""Workers are the parallelism; threads below them would fight over the cores."""


class Pool:
    """An ordered map over one `concurrent.futures.Executor`, replaced when it breaks.

    Parameters
    ----------
    start : callable
        Returns a fresh executor.
    workers : int
        Tasks that it runs at a time.
    stop : callable, optional
        Ends an executor and drops what has not begun; told whether to wait for the rest.
    """

    def __init__(
        self,
        start: Callable[[], Executor],
        workers: int,
        stop: Callable[[Executor, bool], None] | None = None,
    ) -> None:
        self._start = start
        self._stop = stop or _stop
        self._executor = start()
        self.workers = workers

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Apply a function to items, and yield the results in the items' order.

        Raises
        ------
        UsageError
            If an item's worker died every time it was tried.
        """
        waiting, deaths = iter(items), 0
        running: deque[Item] = deque()
        futures: deque[Future[Result]] = deque()
        while True:
            running.extend(islice(waiting, AHEAD * self.workers - len(running)))
            if not running:
                return
            try:  # a worker that died idle is only noticed when the next task is handed over
                for item in islice(running, len(futures), None):
                    futures.append(self._executor.submit(function, item))
                result = futures[0].result()
            except BrokenExecutor as error:
                deaths += 1
                if deaths == ATTEMPTS:
                    raise UsageError(_lost_workers(error)) from error
                self._replace()
                futures.clear()
                continue
            deaths = 0
            running.popleft()
            futures.popleft()
            yield result

    def close(self) -> None:
        """Let the workers go; what has not begun is dropped."""
        self._stop(self._executor, True)

    def _replace(self) -> None:
        self._stop(self._executor, False)
        self._executor = self._start()


def _stop(executor: Executor, wait: bool) -> None:
    executor.shutdown(wait=wait, cancel_futures=True)


class Shared(Generic[Value]):
    """A value that many tasks need: pickled once here, opened once in each worker process.

    Extensions that the user gave by path, as far as the value refers to them, are imported there
    first.
    """

    def __init__(self, value: Value) -> None:
        self.value = value
        self._packed: bytes | None = None

    def __reduce__(self) -> tuple[Callable[..., "Shared[Any]"], tuple[object, ...]]:
        if self._packed is None:
            self._packed = pickle.dumps(self.value)
        files = tuple(
            str(module.__file__)
            for name, module in list(sys.modules.items())
            if name.startswith(EXTENSION_MODULE) and name.encode() in self._packed
        )
        return _opened, (self._packed, files)


@lru_cache(maxsize=8)
def _opened(packed: bytes, extensions: tuple[str, ...]) -> Shared[Any]:
    for file in extensions:
        module_of_file(Path(file))
    return Shared(pickle.loads(packed))


class InProcess(Executor):
    """Run each task at once, here."""

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Run a task and return its finished future."""
        future: Future[Result] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def check_workers(workers: int) -> None:
    """Raise a UsageError for a number of processes that does no work."""
    if workers < 1:
        raise UsageError(f"workers must be at least 1 ({workers})")


@contextmanager
def open_pool(workers: int = 1, cluster: str | None = None) -> Iterator[Pool]:
    """Open a pool: a Dask cluster if an address is given, else so many local processes.

    Parameters
    ----------
    workers : int
        One: everything runs in this process.
    cluster : str, optional
        Address of a Dask scheduler, such as ``tcp://host:8786``.

    Raises
    ------
    UsageError
        If the number is not positive, dask.distributed is missing, or nobody answers.
    """
    check_workers(workers)
    if cluster is not None:
        with _cluster_pool(cluster) as pool:
            yield pool
        return
    pool = Pool(InProcess, 1) if workers == 1 else Pool(lambda: _processes(workers), workers)
    try:
        yield pool
    finally:
        pool.close()


def _processes(workers: int) -> Executor:
    """Start all processes now, while what they inherit is as they need it."""
    with _one_thread(), _out_of_reach():
        pool = ProcessPoolExecutor(workers, get_context("spawn"), _obey_the_driver)
        for _ in range(workers):
            pool.submit(int)
    return pool


@contextmanager
def _one_thread() -> Iterator[None]:
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _out_of_reach() -> Iterator[None]:
    """A terminal that is closed tells all its processes: only the one that drives may hear it.

    Python's own, which looks after what processes share, would die of it and complain.
    """
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _obey_the_driver() -> None:
    """Leave Ctrl-C to the process that drives, which lets the workers go; and end when it does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_the_driver, daemon=True).start()


def _end_with_the_driver() -> None:
    """Waiting for a task, a worker would outlive a driver that was killed, for ever."""
    driver = parent_process()
    assert driver is not None
    driver.join()
    os._exit(1)


@contextmanager
def _cluster_pool(address: str) -> Iterator[Pool]:
    try:
        from distributed import Client, KilledWorker
    except ImportError:
        raise UsageError(
            "a cluster needs dask.distributed: pip install 'codesign[cluster]'"
        ) from None
    for name in ("distributed", "distributed.client"):  # tracebacks of what is said in one message
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"no Dask scheduler answers at {address}: {error}") from error
    with client:
        threads = sum(client.nthreads().values())
        if not threads:
            raise UsageError(f"the scheduler at {address} has no workers: start dask workers")
        # The scheduler runs a lost worker's tasks again; `pure` would merge equal ones.
        pool = Pool(
            lambda: client.get_executor(pure=False, retries=ATTEMPTS),
            threads,
            lambda executor, wait: executor.shutdown(wait=wait),
        )
        try:
            yield pool
        except KilledWorker as error:
            raise UsageError(_lost_workers(error)) from error
        except CodesignError:
            raise
        except Exception as error:  # a lost scheduler shows as errors of many types
            if client.status == "running" and not isinstance(error, CancelledError):
                raise
            raise UsageError(
                f"the scheduler at {address} is gone; start it again, then the same command: "
                "--resume continues a study that is kept"
            ) from error
        finally:
            pool.close()


def _lost_workers(error: Exception) -> str:
    return f"workers died {ATTEMPTS} times at the same task ({error}); they may be short of memory"
