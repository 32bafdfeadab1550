"""Where a study is kept: memory, a journal file that survives a kill, or a database."""

import json
import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import optuna
from optuna.exceptions import DuplicatedStudyError, StorageInternalError
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, ProgrammingError, SQLAlchemyError

from codesign.errors import DataError, UsageError
from codesign.whole_file import append_line, cut_half_line, lock_file, unwritable, writing

JOURNAL: Final = "study.journal"

BROKEN_JOURNAL: Final = (
    ValueError, KeyError, AttributeError, TypeError, IndexError, RecursionError, AssertionError,
    DuplicatedStudyError,
)  # fmt: skip
"""What Optuna raises while it replays a journal that is none, or broken inside."""

STALE_AFTER: Final = 5.0
"""Time after which the holder of a lock must be dead: it is held for one append [s]."""

KEPT: Final = "what was told is kept, the same command with --resume continues"


@dataclass(frozen=True)
class Store:
    """An opened storage.

    Parameters
    ----------
    storage : BaseStorage
    place : str
        How to name it; empty where nothing outlives the process.
    exclusive : callable
        Returns a context in which no other driver of the study records. A killed holder lets go.
    """

    storage: BaseStorage
    place: str
    exclusive: Callable[[], AbstractContextManager[Any]] = nullcontext

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Say what is kept where a database fails in this context.

        Raises
        ------
        UsageError
        """
        try:
            yield
        except (StorageInternalError, SQLAlchemyError) as error:
            reason = str(error.__cause__ or error).partition("\n")[0]
            raise UsageError(f"storage {self.place} failed: {reason}; {KEPT}") from error

    def close(self) -> None:
        """Give database connections back."""
        engine = _engine(self.storage)
        if engine is not None:
            self.storage.remove_session()
            engine.dispose()


def open_store(url: str | None, folder: Path | None, study_name: str) -> Store:
    """Open a storage: a database URL or journal path, else a journal in the folder, else memory.

    Raises
    ------
    UsageError
        If it cannot be opened, or its driver is missing.
    DataError
        If a journal is broken beyond its last line.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if url is not None and "://" in url:
        return _database(url, study_name)
    if url is None and folder is None:
        return Store(InMemoryStorage(), "")
    return _journal(Path(url) if url is not None else (folder or Path()) / JOURNAL)


def _journal(path: Path) -> Store:
    path = path.absolute()  # the lock is a link, which a relative path would leave dangling
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        repair_journal(path)
        storage = JournalStorage(JournalFile(path))
    except OSError as error:
        raise unwritable(path, error) from None
    except BROKEN_JOURNAL as error:
        raise DataError(f"{path}: not a journal of Optuna, or broken inside ({error})") from error
    return Store(storage, str(path), lambda: _kernel_lock(path.with_name(f"{path.name}.driver")))


class JournalFile(JournalFileBackend):
    """Optuna's journal, but a record that cannot be written leaves no half line behind."""

    def __init__(self, path: Path) -> None:
        self._held = JournalLock(str(path)).held
        super().__init__(str(path))

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append records, all of them or none.

        Raises
        ------
        UsageError
            If they cannot be written.
        """
        path = Path(self._file_path)
        lines = "\n".join(json.dumps(log, separators=(",", ":")) for log in logs)
        try:
            with self._held():
                append_line(path, lines)
        except OSError as error:
            raise UsageError(f"{unwritable(path, error)}; {KEPT}") from error


class JournalLock(JournalFileSymlinkLock):
    """Optuna's own lock, but one left by a killed process is taken over sooner.

    Whether it was left is told by how long it is seen unchanged: the clocks of this machine and of
    a file server may differ, and may be set while a study runs.
    """

    def acquire(self) -> bool:
        """Wait for the lock and take it."""
        seen, since = None, 0.0
        while True:
            try:
                Path(self._lock_file).symlink_to(self._lock_target_file)
            except FileExistsError:
                with suppress(FileNotFoundError):  # released meanwhile
                    status = Path(self._lock_file).lstat()
                    if seen != (seen := (status.st_ino, status.st_ctime_ns)):
                        since = time.monotonic()
                    elif time.monotonic() - since > STALE_AFTER:
                        self.release()
                time.sleep(0.002)
            else:
                return True

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock."""
        self.acquire()
        try:
            yield
        finally:
            self.release()

    def release(self) -> None:
        """Let go; of a lock that was taken over while its holder was suspended, nothing is left."""
        with suppress(RuntimeError):
            super().release()


@contextmanager
def _kernel_lock(path: Path) -> Iterator[None]:
    """Lock a file as long as this process lives, where the system can."""
    with writing(path):
        file = path.open("a")
    with file:
        lock_file(file.fileno())
        yield


def repair_journal(path: Path) -> Path | None:
    """Cut a line that a killed process left half written, and keep it beside the journal.

    Optuna would append its next record to the half line, after which nobody could read the study.

    Returns
    -------
    Path or None
        Where the half line is kept, if there was one.
    """
    with JournalLock(str(path)).held(), path.open("r+b", buffering=0) as journal:
        torn = cut_half_line(journal)
        end = journal.seek(0, os.SEEK_END)
    if not torn:
        return None
    backup = path.with_name(f"{path.name}.torn-{end}")
    backup.write_bytes(torn)
    return backup


def _database(url: str, study_name: str) -> Store:
    if url.startswith("postgresql://") and find_spec("psycopg2") is None:
        if find_spec("psycopg") is None:
            raise UsageError("PostgreSQL needs a driver: pip install 'codesign[postgres]'")
        url = url.replace("postgresql://", "postgresql+psycopg://", 1)
    try:
        storage = _opened(url)
    except ImportError as error:
        raise UsageError(f"storage {_without_password(url)}: {error}") from error
    except Exception as error:  # each driver has errors of its own
        reason = str(error).partition("\n")[0]
        raise UsageError(f"storage {_without_password(url)} cannot be opened: {reason}") from error
    return Store(storage, _without_password(url), _advisory_lock(storage, study_name))


def _opened(url: str) -> BaseStorage:
    """Open a database; of two drivers that both find it empty, one makes its tables."""
    for pause in (0.5, 1.0, 2.0):
        with suppress(ProgrammingError, IntegrityError):
            return _connected(url)
        time.sleep(pause)
    return _connected(url)


def _connected(url: str) -> BaseStorage:
    """Connect; a server that was restarted between two uses is not noticed."""
    return optuna.storages.get_storage(RDBStorage(url, engine_kwargs={"pool_pre_ping": True}))


def _advisory_lock(
    storage: BaseStorage, study_name: str
) -> Callable[[], AbstractContextManager[Any]]:
    """PostgreSQL's lock between sessions, which ends with its holder's connection."""
    engine = _engine(storage)
    if engine is None or engine.dialect.name != "postgresql":
        return nullcontext

    @contextmanager
    def held() -> Iterator[None]:
        key = {"key": zlib.crc32(f"codesign {study_name}".encode())}
        with engine.connect() as connection:
            connection.execute(text("SELECT pg_advisory_lock(:key)"), key)
            try:
                yield
            finally:
                connection.execute(text("SELECT pg_advisory_unlock(:key)"), key)

    return held


def _engine(storage: BaseStorage) -> Any:
    """Return SQLAlchemy's engine of a database; none of any other storage."""
    return getattr(getattr(storage, "_backend", storage), "engine", None)


def _without_password(url: str) -> str:
    scheme, _, rest = url.partition("://")
    account, at, host = rest.rpartition("@")
    user = account.partition(":")[0]
    return f"{scheme}://{user}{at}{host}"
