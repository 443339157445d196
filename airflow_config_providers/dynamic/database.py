"""What Airflow's databases do if several write at once, and our errors if one fails."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from airflow_config_providers.exceptions import ProviderUnavailableError
from airflow_config_providers.lazy import sa

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

_BUSY: Final[frozenset[str | int]] = frozenset({"40001", "40P01", "55P03", 1205, 1213})
"""SQLSTATEs of a transaction that failed because of other transactions, and MySQL's error numbers for the same."""

_READ_ONLY: Final[frozenset[str | int]] = frozenset({"25006", "42501", 1142, 1290, 1792, 1836})
"""
The same of a write in a transaction that can only read, as of a standby, or without the right to write; in MySQL: no
right, a server or a transaction that can only read, or read-only mode.
"""

_TRIES_TO_LOCK: Final = 10_000
"""The most attempts to lock SQLite, which take six seconds or more."""
_LONGEST_WAIT_TO_LOCK: Final = 0.025
_SHORTEST_WAIT_TO_LOCK: Final = 0.001
"""The range of seconds between attempts to lock SQLite; the longer a writer waits, the more often it tries."""

_IMPATIENCE: Final = 0.98
"""The ratio of a wait to the previous one: after half a second, a writer tries far more often than a newcomer."""


def is_busy(origin: BaseException | None) -> bool:
    """Return whether a driver's error says that other writers prevented this one."""
    return _is_one_of(origin, _BUSY, ("SQLITE_BUSY", "SQLITE_LOCKED"))


def is_read_only(origin: BaseException | None) -> bool:
    """Return whether a driver's error says that a database can be read, but not written."""
    return _is_one_of(origin, _READ_ONLY, ("SQLITE_READONLY",))


def _is_one_of(origin: BaseException | None, codes: Collection[str | int], names_of_sqlite: tuple[str, ...]) -> bool:
    state = getattr(origin, "sqlstate", None) or getattr(origin, "pgcode", None)
    number = next(iter(getattr(origin, "args", ())), None)
    is_of_sqlite = getattr(origin, "sqlite_errorname", "").startswith(names_of_sqlite)
    return is_of_sqlite or state in codes or (isinstance(number, int) and number in codes)


def unavailable(doing: str, error: Exception, *, outcome: str = "") -> ProviderUnavailableError:
    """
    Return the error for a database that fails.

    :param doing: what failed, such as ``reading DAG 'flights'``
    :param outcome: a sentence about what has become of a change
    """
    return ProviderUnavailableError(
        f"Airflow's database is unavailable: {doing} failed ({reason(error)}). {outcome and f'{outcome} '}To see "
        f"whether it is the database, run airflow db check, which connects to it, and airflow db check-migrations, "
        f"which looks for its tables. If it is new, create them: airflow db migrate."
    )


def unwritable(doing: str, error: Exception) -> ProviderUnavailableError:
    """Return the error for a database that can be read, but not written. A write that it refuses changes nothing."""
    return ProviderUnavailableError(
        f"Airflow's database can be read, but not written: {doing} failed ({reason(error)}). Nothing was changed. See "
        f"whether sql_alchemy_conn in [database] names a standby, a server in read-only mode, or a user who may only "
        f"read; of SQLite, make its file and its folder writable."
    )


def reason(error: Exception) -> str:
    """Return the type of an error, and whether SQLite has a full disk: a message can contain an address or a value."""
    is_full = getattr(getattr(error, "orig", None), "sqlite_errorname", "") == "SQLITE_FULL"
    return type(error).__name__ + (": its disk is full. Free some space" if is_full else "")


def lock_rows(session: Session, table: Any, keys: Sequence[str], sleep: Callable[[float], None]) -> bool:
    """
    Lock the rows of ``table`` that have one of ``keys``, in this order, until the transaction ends.

    SQLite cannot lock rows, so this locks the whole database there.

    :param sleep: waits before the next attempt if the database has no queue
    :returns: whether the rows are locked
    """
    if _is_sqlite(session):
        with impatient(session):
            return _lock_database(_driver_connection(session), sleep)
    for key in keys:  # one by one, in the order of swaps: a database can sort differently, which could cause deadlocks
        session.execute(sa.select(table.c.key).where(table.c.key == key).with_for_update()).all()
    return True


@contextmanager
def impatient(session: Session) -> Iterator[None]:
    """
    Make SQLite fail at once, instead of waiting, if others write; other databases let writers queue.

    SQLite's own waiting favours newcomers, which check most often if the database is free.
    """
    if not _is_sqlite(session):
        yield
        return
    connection = _driver_connection(session)
    (patience,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        yield
    finally:
        connection.execute(f"PRAGMA busy_timeout = {patience}")


def _lock_database(connection: sqlite3.Connection, sleep: Callable[[float], None]) -> bool:
    for number in range(_TRIES_TO_LOCK):
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if not is_busy(error):  # the next use of the connection raises its actual problem
                return False
        else:
            return True
        sleep(random.uniform(0, max(_SHORTEST_WAIT_TO_LOCK, _LONGEST_WAIT_TO_LOCK * _IMPATIENCE**number)))  # noqa: S311 - not a secret
    return False


def _is_sqlite(session: Session) -> bool:
    return session.get_bind().dialect.name == "sqlite"


def _driver_connection(session: Session) -> sqlite3.Connection:
    """Return the driver's own connection, with which a failed attempt costs a tenth."""
    return cast("sqlite3.Connection", session.connection().connection.driver_connection)
