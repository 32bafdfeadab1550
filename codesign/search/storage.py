"""Where a study is kept: memory, a journal file that survives a kill, or a database."""

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
from optuna.exceptions import DuplicatedStudyError
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, ProgrammingError

from codesign.errors import DataError, UsageError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

JOURNAL: Final = "study.journal"

BROKEN_JOURNAL: Final = (
    ValueError, KeyError, AttributeError, TypeError, IndexError, RecursionError, AssertionError,
    DuplicatedStudyError,
)  # fmt: skip
"""What Optuna raises while it replays a journal that is none, or broken inside."""

STALE_AFTER: Final = 5.0
"""Age of a lock whose holder must be dead: it is held for one append [s]."""


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
    if url is not None and "://" in url:
        return _database(url, study_name)
    if url is None and folder is None:
        return Store(InMemoryStorage(), "")
    return _journal(Path(url) if url is not None else (folder or Path()) / JOURNAL)


def _journal(path: Path) -> Store:
    path = path.absolute()  # the lock is a link, which a relative path would leave dangling
    lock = JournalLock(str(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        repair_journal(path)
        storage = JournalStorage(JournalFileBackend(str(path), lock_obj=lock))
    except OSError as error:
        raise UsageError(f"{path}: cannot be opened ({error.strerror})") from None
    except BROKEN_JOURNAL as error:
        raise DataError(f"{path}: not a journal of Optuna, or broken inside ({error})") from error
    return Store(storage, str(path), lambda: _kernel_lock(path.with_name(f"{path.name}.driver")))


class JournalLock(JournalFileSymlinkLock):
    """Optuna's own lock, but one left by a killed process is seen by its age, at once."""

    def acquire(self) -> bool:
        """Wait for the lock and take it."""
        while True:
            try:
                Path(self._lock_file).symlink_to(self._lock_target_file)
            except FileExistsError:
                with suppress(FileNotFoundError):  # released meanwhile
                    if time.time() - Path(self._lock_file).lstat().st_mtime > STALE_AFTER:
                        with suppress(RuntimeError):  # another one has removed it
                            self.release()
                time.sleep(0.002)
            else:
                return True


@contextmanager
def _held(lock: JournalLock) -> Iterator[None]:
    lock.acquire()
    try:
        yield
    finally:
        with suppress(RuntimeError):
            lock.release()


@contextmanager
def _kernel_lock(path: Path) -> Iterator[None]:
    """Lock a file as long as this process lives, where the system can."""
    with path.open("a") as file:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def repair_journal(path: Path) -> Path | None:
    """Cut a line that a killed process left half written, and keep it beside the journal.

    Optuna would append its next record to the half line, after which nobody could read the study.

    Returns
    -------
    Path or None
        Where the half line is kept, if there was one.
    """
    with _held(JournalLock(str(path))), path.open("r+b") as journal:
        content = journal.read()
        end = content.rfind(b"\n") + 1
        if end == len(content):
            return None
        backup = path.with_name(f"{path.name}.torn-{end}")
        backup.write_bytes(content[end:])
        journal.truncate(end)
        os.fsync(journal.fileno())
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
            return optuna.storages.get_storage(url)
        time.sleep(pause)
    return optuna.storages.get_storage(url)


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
