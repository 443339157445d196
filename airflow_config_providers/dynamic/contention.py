"""How several writers of the same configuration wait for each other."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from airflow_config_providers.core.variable import some_of
from airflow_config_providers.dynamic.store import ConfigStore, TurnTaking
from airflow_config_providers.exceptions import ProviderUnavailableError
from airflow_config_providers.lazy import sa

if TYPE_CHECKING:
    from sqlalchemy.exc import DBAPIError
    from sqlalchemy.orm import Session

_T = TypeVar("_T")

UNGUARDED: Final = 2
"""The number of attempts without a lock. After them, a writer takes a turn; otherwise it might never succeed."""

_ATTEMPTS: Final = 200
_SHORTEST_WAIT: Final = 0.01
_LONGEST_WAIT: Final = 0.25
"""Seconds. An attempt takes about ten milliseconds, so a dozen others finish in that time."""


_STATES: Final = frozenset({"40001", "40P01", "55P03"})
"""SQLSTATEs of a transaction that failed because of other transactions."""

_NUMBERS_OF_MYSQL: Final = frozenset({1205, 1213})
"""MySQL's error numbers for the same: a lock wait that timed out, or a deadlock."""

_TRIES_TO_LOCK: Final = 10_000
_LONGEST_WAIT_TO_LOCK: Final = 0.025
_SHORTEST_WAIT_TO_LOCK: Final = 0.001
"""The range of seconds between attempts to lock SQLite; the longer a writer waits, the more often it tries."""

_IMPATIENCE: Final = 0.98
"""The ratio of a wait to the previous one: after half a second, a writer tries far more often than a newcomer."""


@dataclass(frozen=True, slots=True)
class Attempts:
    """
    Retries a change of a store until no other change interferes.

    :param sleep: waits before the next attempt
    """

    store: ConfigStore
    sleep: Callable[[float], None]

    def until_done(self, attempt: Callable[[ConfigStore], _T | None], names: Collection[str]) -> _T:
        """
        Return the first result of ``attempt`` that is not None.

        :param attempt: makes the change in the store that it gets
        :param names: the names that it writes
        :raises ProviderUnavailableError: all results were None
        """
        from tenacity import RetryError, Retrying, retry_if_result, stop_after_attempt, wait_random_exponential  # noqa: PLC0415 - slow

        retrying = Retrying(
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_random_exponential(_SHORTEST_WAIT, max=_LONGEST_WAIT),
            retry=retry_if_result(lambda result: result is None),
            sleep=self.sleep,
        )
        numbers = count()
        try:
            done = retrying(lambda: self._once(attempt, names, is_guarded=next(numbers) >= UNGUARDED))
        except RetryError:
            done = None
        if done is None:
            raise ProviderUnavailableError(
                f"Others keep changing {some_of(sorted(names))}: they were faster in each of {_ATTEMPTS} attempts, and "
                f"nothing was changed. See who it is with airflow config-providers history, and try again."
            )
        return done

    def _once(
        self, attempt: Callable[[ConfigStore], _T | None], names: Collection[str], *, is_guarded: bool
    ) -> _T | None:
        turn: AbstractContextManager[ConfigStore] = nullcontext(self.store)
        if is_guarded and isinstance(self.store, TurnTaking):
            turn = self.store.turn(names)
        with turn as store:
            return attempt(store)


def is_contention(error: DBAPIError) -> bool:
    """Return whether other writers caused ``error``."""
    origin = error.orig
    code = getattr(origin, "sqlstate", None) or getattr(origin, "pgcode", None)
    number = next(iter(getattr(origin, "args", ())), None)
    return _is_busy(origin) or code in _STATES or number in _NUMBERS_OF_MYSQL


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
            if not _is_busy(error):  # the next use of the connection raises its actual problem
                return False
        else:
            return True
        sleep(random.uniform(0, max(_SHORTEST_WAIT_TO_LOCK, _LONGEST_WAIT_TO_LOCK * _IMPATIENCE**number)))  # noqa: S311 - not a secret
    return False


def _is_busy(error: BaseException | None) -> bool:
    return getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))


def _is_sqlite(session: Session) -> bool:
    return session.get_bind().dialect.name == "sqlite"


def _driver_connection(session: Session) -> sqlite3.Connection:
    """Return the driver's own connection, with which a failed attempt costs a tenth."""
    return cast("sqlite3.Connection", session.connection().connection.driver_connection)
