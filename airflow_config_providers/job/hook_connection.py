"""Hands a connection that was already read to the hook of Airflow's that would ask for it again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.providers import airflow_secrets


@dataclass(slots=True)
class _Handed:
    """A connection, and whether a hook has taken it."""

    conn_id: str
    connection: Any = field(repr=False)
    is_taken: bool = False

    def take(self) -> Any:
        self.is_taken = True
        return self.connection


_HANDED: Final[ContextVar[_Handed | None]] = ContextVar("handed_connection", default=None)


def _handed(conn_id: str) -> _Handed | None:
    """Return what is handed over in this thread now, if it is this connection."""
    handed = _HANDED.get()
    return handed if handed is not None and handed.conn_id == conn_id else None


@contextmanager
def handed_to_hooks(conn_id: str) -> Iterator[None]:
    """
    Hand a connection to the hooks that are made in the block, and in this thread.

    A hook asks for its connection in ways that depend on the process: a command does not ask Airflow's database, and a
    failure of a secrets backend is taken for its absence. Some hooks then go on with whatever credentials the machine
    has. In the block, a hook that calls ``Connection.get``, as ``BaseHook.get_connection`` does, does not ask: it gets
    the connection that was found before. One that asks in another thread, after the block, or by another way, such as
    ``Connection.async_get``, asks as always; if none in the block takes the connection, that is an error.

    :raises ConfigException: there is no such connection, or nothing in the block took it
    :raises ProviderDefinitionError: the environment variable that defines it is broken
    :raises AccessDeniedError: a secrets backend refuses
    :raises ProviderUnavailableError: a secrets backend cannot answer now
    """
    handed = _Handed(conn_id, _found(conn_id))
    _intercept()
    outer = _HANDED.set(handed)
    try:
        yield
    finally:
        _HANDED.reset(outer)
    if not handed.is_taken:  # such as by a file system that has no use for one, or asks for it later
        raise ConfigException(
            f"What opens the path did not take its connection '{printable(conn_id)}' while it was opened: it has no "
            f"use for one, or asks later or in another way, and could then go on with the credentials of this machine. "
            f"Write the path without a connection, or use a package that takes it at once."
        )


def _found(conn_id: str) -> Any:
    connection = airflow_secrets.connection(conn_id)
    if connection is None:
        raise ConfigException(f"There is no connection '{printable(conn_id)}'. Add it, or correct its id in the path.")
    _mask(connection)
    return connection


def _mask(connection: Any) -> None:
    """Register the secrets of a connection with Airflow's masker, as Airflow does when a hook asks."""
    from airflow.sdk.log import mask_secret  # noqa: PLC0415 - slow to import, and few need it

    for secret in (connection.password, connection.extra_dejson):
        if secret:
            mask_secret(secret)


@cache
def _intercept() -> None:
    """Let ``Connection.get``, by which most hooks ask, return what is handed to them; once in a process."""
    from airflow.sdk import Connection  # noqa: PLC0415 - as above

    ask = vars(Connection)["get"].__func__

    def get(cls: type[Connection], conn_id: str, *args: Any, **kwargs: Any) -> Any:
        if handed := _handed(conn_id):
            return handed.take()
        return ask(cls, conn_id, *args, **kwargs)

    Connection.get = classmethod(get)  # type: ignore[assignment,method-assign]
