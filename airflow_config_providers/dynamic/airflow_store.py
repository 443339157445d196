"""Dynamic configuration in Airflow's variables, and the signals of a change that PostgreSQL sends."""

from __future__ import annotations

import json
import logging
import selectors
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from uuid import uuid4

from airflow_config_providers.core.closed_on_exit import ClosedOnExit
from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic.database import (
    impatient,
    is_busy,
    is_read_only,
    lock_rows,
    reason,
    unavailable,
    unwritable,
)
from airflow_config_providers.dynamic.store import AuditEntry, Kept
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, ProviderUnavailableError
from airflow_config_providers.lazy import sa

if TYPE_CHECKING:
    from airflow.models.crypto import FernetProtocol
    from sqlalchemy import CursorResult, Engine
    from sqlalchemy.orm import Session, scoped_session

_log: Final = logging.getLogger(__name__)

_T = TypeVar("_T")

EVENT: Final = "config_providers"
"""The prefix of the names of events in Airflow's audit log."""

_WHOLE_OR_NOTHING: Final = "The change was made completely or not at all. See the history."

_REFUSED: Final = (
    "Airflow's database cannot keep what it was given: {} failed ({}). Nothing was changed. In MySQL, an entry of the "
    "audit log has at most 65,535 bytes, for the names of the changed keys and their references: change fewer keys of "
    "a resource at once."
)

_LOOKALIKE: Final = (
    "Airflow's database takes the variable '{0}' for '{1}', which it has, so it cannot keep both: MySQL compares names "
    "without case, accents and spaces at the end. Nothing was changed. If there are two such DAGs, rename one; if the "
    "other is gone, delete what it left: airflow variables delete '{1}'"
)


_OF_TEAM: Final = (
    "The variable '{0}' belongs to team '{1}', so it is no dynamic configuration: that belongs to no team. Nothing was "
    "changed. Tasks of that team read it in place of the dynamic configuration, so look at who has created it. Then "
    "delete it: airflow variables delete '{0}'"
)

_IS_OF_TEAM: Final = (
    "The variable '%s' belongs to team '%s'. It is ignored here, because dynamic configuration belongs to no team, but "
    "tasks of that team read it. Look at who has created it, and delete it: airflow variables delete '%s'"
)

_CHANNEL: Final = "airflow_config_providers"
_POSTGRESQL: Final = "postgresql"
_DRIVER: Final = "psycopg2"

_NEXT_TRY: Final = 60.0
"""Seconds after which a lost connection is made again; followers poll meanwhile."""

_PATIENCE: Final = 5.0
"""Seconds to wait for the end of the thread, which can be connecting to a database that does not answer."""


def airflow_session() -> Session:
    """Return a new session with the deployment's database, since the thread's own session can be in use."""
    from airflow import settings  # noqa: PLC0415 - slow to import

    sessions: scoped_session[Session] = settings.get_session()  # type: ignore[no-untyped-call]  # Airflow has no types
    return sessions.session_factory()


class VariableStore:
    """
    Keeps strings as Airflow's variables, which Fernet encrypts; for processes that have access to Airflow's database.

    A change is one transaction: it writes each variable if its ciphertext is still the one that was read, and adds an
    entry to the audit log. It starts with writing, and writes in the order of names, so that no two changes wait for
    each other. Thread-safe; holds no connection between calls, except in a ``turn``.

    :param owner: the user that the audit log names
    :param begin: begins a session
    :param sleep: waits before the next attempt to lock a database that has no queue of writers
    """

    def __init__(
        self,
        owner: str = "",
        begin: Callable[[], AbstractContextManager[Session]] = airflow_session,
        *,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._owner = owner
        self._begin = begin
        self._sleep = sleep

    def read(self, names: Collection[str]) -> dict[str, Kept]:
        """
        Return what is stored under each of ``names``, with one query.

        :raises ProviderUnavailableError: the database is unavailable, or a variable cannot be decrypted
        """
        rows = _found(lambda: self._rows(names), "reading dynamic configuration")
        return {name: _kept(name, *rows[name]) if name in rows else Kept() for name in names}

    def names(self, prefix: str) -> list[str]:
        """
        Return the names that begin with ``prefix``, in order, without reading values.

        :raises ProviderUnavailableError: the database is unavailable
        """
        return sorted(_found(lambda: self._names(prefix), "listing dynamic configuration"))

    def swap(self, expected: Mapping[str, Kept], texts: Mapping[str, str], audit: Sequence[AuditEntry]) -> bool:
        """
        Write everything and return True, or nothing if the database is not as ``expected``.

        :raises ConfigException: the database cannot keep it, and will not later: it takes a name for another, or an
            entry is too long for the audit log
        :raises ProviderUnavailableError: the database is unavailable
        """
        encrypted = {name: _encrypted(texts[name]) for name in sorted(texts)}
        swap = partial(self._swap, expected, encrypted, audit)
        return bool(_translated(swap, "writing dynamic configuration", outcome=_WHOLE_OR_NOTHING))

    def require_writable(self) -> None:
        """
        Write a variable in a transaction that is rolled back at once, so that nobody sees it.

        :raises ProviderUnavailableError: the database can only be read, or it is unavailable, or others lock it
        """
        _found(self._write_and_roll_back, "trying to write")

    def _write_and_roll_back(self) -> bool:
        with self._begin() as session:
            _is_written(session, f"{EVENT}.{uuid4()}", None, {"val": "", "is_encrypted": False})
            session.rollback()
        return True

    def listen(self, call: Callable[[], object]) -> ChangeSignals | None:
        """Call ``call`` after each change until the result is closed; None if the database sends no signals."""
        with self._begin() as session:
            engine = session.get_bind().engine
        return ChangeSignals(engine, call) if has_signals(engine) else None

    @contextmanager
    def turn(self, names: Collection[str]) -> Iterator[VariableStore]:
        """
        Yield a store for one change: it reads and writes in one transaction that locks the rows of ``names``.

        On SQLite, it locks the whole database. The store is not thread-safe.

        :raises ProviderUnavailableError: the database is unavailable
        """
        with self._begin() as session:
            lock = partial(lock_rows, session, _table(), sorted(names), self._sleep)
            if _translated(lock, "locking dynamic configuration for a change"):
                yield VariableStore(self._owner, lambda: nullcontext(session))
            else:
                session.rollback()
                yield self

    def _rows(self, names: Collection[str]) -> dict[str, tuple[str, bool]]:
        # Plain columns: Airflow would register a loaded Variable as a single secret to mask in logs, forever.
        columns = _table().c
        asked = (columns.team_name, columns.key, columns.val, columns.is_encrypted)
        with self._begin() as session:
            rows = session.execute(sa.select(*asked).where(columns.key.in_(list(names)))).all()
        for team, key, *_ in rows:
            if team is not None:
                _log.warning(_IS_OF_TEAM, printable(key), printable(team), printable(key))
        return {key: (stored, is_encrypted) for team, key, stored, is_encrypted in rows if team is None}

    def _names(self, prefix: str) -> list[str]:
        key, team = _table().c.key, _table().c.team_name
        query = sa.select(key).where(key.startswith(prefix, autoescape=True), team.is_(None))
        with self._begin() as session:
            return list(session.scalars(query))

    def _swap(
        self, expected: Mapping[str, Kept], encrypted: Mapping[str, Mapping[str, Any]], audit: Sequence[AuditEntry]
    ) -> bool:
        with self._begin() as session:
            with impatient(session):
                is_done = all(_is_written(session, name, expected[name].mark, encrypted[name]) for name in encrypted)
            if not is_done:
                session.rollback()
                for name in (name for name in encrypted if expected[name].mark is None):
                    _refuse_taken(session, name)
                return False
            session.add_all([self._logged(entry) for entry in audit])
            send_signal(session)
            session.commit()
            return True

    def _logged(self, entry: AuditEntry) -> Any:
        from airflow.models.log import Log  # noqa: PLC0415 - slow to import

        dag_id, task_id = entry.dag_id or None, entry.task_id or None
        extra = json.dumps(entry.details)
        return Log(f"{EVENT}.{entry.event}", owner=self._owner, extra=extra, dag_id=dag_id, task_id=task_id)


def _found(read: Callable[[], _T], doing: str) -> _T:
    """
    Return the result of ``read``.

    :raises ProviderUnavailableError: the database is unavailable, or others lock it
    """
    found = _translated(read, doing)
    if found is None:
        raise ProviderUnavailableError(
            f"Other sessions lock Airflow's database: {doing} failed. Nothing was changed. Try again; if that does not "
            f"help, look for a session in the database that has kept its transaction open."
        )
    return found


def _translated(call: Callable[[], _T], doing: str, *, outcome: str = "") -> _T | None:
    """
    Return the result of ``call``, or None if other writers prevented it.

    :param doing: what the call does, for the message
    :param outcome: a sentence about what has become of a change, if the call makes one
    :raises ConfigException: the database refuses what it is given
    :raises ProviderUnavailableError: the database is unavailable, or can only be read
    """
    try:
        return call()
    except sa.exc.SQLAlchemyError as error:
        failure = _failure(error, doing, outcome)
    if failure is not None:
        raise failure
    return None


def _failure(error: Exception, doing: str, outcome: str) -> ConfigProvidersError | None:
    origin = getattr(error, "orig", None)
    if is_busy(origin):
        return None
    if is_read_only(origin):
        return unwritable(doing, error)
    if isinstance(error, sa.exc.DataError):
        return ConfigException(_REFUSED.format(doing, reason(error)))
    return unavailable(doing, error, outcome=outcome)


def _table() -> Any:
    from airflow.models.variable import Variable  # noqa: PLC0415 - slow to import

    return Variable.__table__


def _kept(name: str, stored: str, is_encrypted: bool) -> Kept:
    text = _decrypted(stored) if is_encrypted else stored
    if text is None:
        raise ProviderUnavailableError(
            f"The variable '{printable(name)}' cannot be decrypted. Set fernet_key in [core] to the key with which it "
            f"was written."
        )
    return Kept(text, stored)


def _decrypted(stored: str) -> str | None:
    """Return the decrypted string; None if Airflow has no key, or another one."""
    from cryptography.fernet import InvalidToken  # noqa: PLC0415 - only with the database

    fernet = _fernet()
    if not fernet.is_encrypted:
        return None
    try:
        return fernet.decrypt(stored.encode()).decode()
    except (InvalidToken, UnicodeDecodeError):
        return None


def _encrypted(text: str) -> dict[str, Any]:
    """Return the columns of a variable with ``text``, encrypted."""
    fernet = _fernet()
    return {"val": fernet.encrypt(text.encode()).decode(), "is_encrypted": fernet.is_encrypted}


def _fernet() -> FernetProtocol:
    from airflow.models.crypto import get_fernet  # noqa: PLC0415 - slow to import

    try:
        return get_fernet()
    except Exception as error:  # noqa: BLE001 - an error of Airflow, which differs by version
        problem = type(error).__name__
    raise ProviderUnavailableError(f"Airflow's fernet_key in [core] cannot be used ({problem}). Correct it.")


def _refuse_taken(session: Session, name: str) -> None:
    """
    Refuse a new name that a team has, or that the database takes for another: no attempt to write it would succeed.

    :raises ConfigException: the database has such a name
    """
    columns = _table().c
    found = session.execute(sa.select(columns.key, columns.team_name).where(columns.key == name)).one_or_none()
    key, team = found or (name, None)
    if key != name:
        raise ConfigException(_LOOKALIKE.format(printable(name), printable(key)))
    if team is not None:
        raise ConfigException(_OF_TEAM.format(printable(name), printable(team)))


def _is_written(session: Session, name: str, mark: object | None, columns: Mapping[str, Any]) -> bool:
    """Write a variable if it has not changed, and return whether it was written. The mark of a new variable is None."""
    table = _table()
    if mark is not None:
        own = (table.c.key == name, table.c.team_name.is_(None))
        change = sa.update(table).where(*own, table.c.val == mark).values(**columns)
        return cast("CursorResult[Any]", session.execute(change)).rowcount == 1
    try:
        session.execute(sa.insert(table).values(key=name, **columns))
    except sa.exc.IntegrityError:
        return False
    return True


def send_signal(session: Session) -> None:
    """Have PostgreSQL send a signal when the transaction of ``session`` is committed; other databases have none."""
    if session.get_bind().dialect.name == _POSTGRESQL:
        session.execute(sa.text(f"NOTIFY {_CHANNEL}"))


def has_signals(engine: Engine) -> bool:
    """Return whether signals can be received with the database and the driver of ``engine``."""
    return (engine.dialect.name, engine.dialect.driver) == (_POSTGRESQL, _DRIVER)


class ChangeSignals(ClosedOnExit):
    """
    Receives signals, in a thread with a connection of its own, until it is closed. Thread-safe.

    :param engine: the database, of which ``has_signals`` is true
    :param call: called after each signal, and when the connection was made, since a signal can have been missed
    :raises RuntimeError: no thread can be started now
    """

    def __init__(self, engine: Engine, call: Callable[[], object]) -> None:
        self._engine = engine
        self._call = call
        self._end, self._ended = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="config-signals", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._end.close()
            self._ended.close()
            raise

    def close(self) -> None:
        """Receive no signals any longer; the thread and the connection end, at the latest when it is made."""
        with suppress(OSError):
            self._end.send(b"x")
        self._thread.join(_PATIENCE)
        self._end.close()

    def _run(self) -> None:
        with self._ended:
            self._receive_again()

    def _receive_again(self) -> None:
        complaint = ""
        while True:
            try:
                self._receive()
            except Exception as error:  # noqa: BLE001 - of any driver; followers poll, and the text can hold an address
                complaint, before = type(error).__name__, complaint
            else:
                return
            if complaint != before:
                _log.info("Signals of changed configuration are not received now (%s). It is polled.", complaint)
            if self._ended in _readable(self._ended, seconds=_NEXT_TRY):
                return

    def _receive(self) -> None:
        """Receive signals until this is closed, or raise the error with which the connection was lost."""
        with closing(self._engine.raw_connection()) as lent:
            lent.detach()  # it does not count among the connections of the pool, and is closed and not given back
            connection: Any = lent.dbapi_connection
            connection.rollback()  # what the pool asked when it lent the connection
            connection.set_session(autocommit=True)
            with closing(connection.cursor()) as cursor:
                cursor.execute(f"LISTEN {_CHANNEL}")
            if self._ended not in _readable(self._ended, seconds=0):
                self._call()
            while self._ended not in _readable(connection, self._ended):
                connection.poll()
                if connection.notifies:
                    connection.notifies.clear()
                    self._call()


def _readable(*sources: Any, seconds: float | None = None) -> list[Any]:
    """Wait until something can be read from one of ``sources``; unlike ``select``, in a process with any open files."""
    with selectors.PollSelector() as selector:  # the default one opens a file itself
        for source in sources:
            selector.register(source, selectors.EVENT_READ)
        return [key.fileobj for key, _ in selector.select(seconds)]
