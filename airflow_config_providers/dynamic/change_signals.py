"""Signals that dynamic configuration has changed, which PostgreSQL sends."""

from __future__ import annotations

import logging
import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core.closed_on_exit import ClosedOnExit
from airflow_config_providers.lazy import sa

if TYPE_CHECKING:
    from sqlalchemy import Engine
    from sqlalchemy.orm import Session

_log: Final = logging.getLogger(__name__)

_CHANNEL: Final = "airflow_config_providers"
_POSTGRESQL: Final = "postgresql"
_DRIVER: Final = "psycopg2"

_NEXT_TRY: Final = 60.0
"""Seconds after which a lost connection is made again; followers poll meanwhile."""

_PATIENCE: Final = 5.0
"""Seconds to wait for the end of the thread, which can be connecting to a database that does not answer."""


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
