"""The connection that a hook of Airflow's is about to ask for, in every process that may read it."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.foreign import BACKENDS_OF_PROCESS, has_supervisor, require
from airflow_config_providers.providers import airflow_secrets

_PROCESS: Final = "_AIRFLOW_PROCESS_CONTEXT"
"""The variable by which the Task SDK knows whether this process may read Airflow's database."""

_LOCK: Final = threading.RLock()
"""The variable is one for all threads: the first to leave its block would take it from the others."""


@contextmanager
def readable_by_hooks(conn_id: str) -> Iterator[None]:
    """
    Let the hooks that are made in the block read a connection, also where only Airflow's database has it.

    A command may read the database, but the Task SDK does not ask it there, and some hooks then go on with whatever
    credentials the machine has. In a command, the block sets a variable of the process, as Airflow's own commands do;
    other threads wait for their turn.

    :raises ConfigException: there is no such connection
    :raises ProviderDefinitionError: the environment variable that defines it is broken
    :raises AccessDeniedError: a secrets backend refuses
    :raises ProviderUnavailableError: a secrets backend cannot answer now
    :raises UnsupportedVersionError: the installed Airflow does not read this variable
    """
    if airflow_secrets.connection(conn_id) is None:
        raise ConfigException(f"There is no connection '{printable(conn_id)}'. Add it, or correct its id in the path.")
    with _LOCK:
        if has_supervisor() or _PROCESS in os.environ:
            yield
            return
        require(BACKENDS_OF_PROCESS)
        os.environ[_PROCESS] = "server"
        try:
            yield
        finally:
            os.environ.pop(_PROCESS, None)
