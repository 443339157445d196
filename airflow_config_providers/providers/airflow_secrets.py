"""Airflow's own variables and connections, as the process that asks can reach them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from airflow_config_providers.core.document import as_text, parse, parse_object
from airflow_config_providers.core.entry_points import imported
from airflow_config_providers.core.errors import guarded
from airflow_config_providers.core.process_environment import all_variables, value_of
from airflow_config_providers.core.text import nearest, printable, whole_number
from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
    ProviderDefinitionError,
    ProviderUnavailableError,
)
from airflow_config_providers.foreign import BACKEND, BACKENDS_OF_PROCESS, CONTEXT, has_supervisor, require
from airflow_config_providers.providers.backend_faults import (
    denied,
    error_of,
    keep_values_out_of_debug_logs,
    unavailable,
    undecipherable,
)

EXECUTION_API: Final = "Airflow's Execution API"

_CONN: Final = "AIRFLOW_CONN_"
"""What the names of environment variables that define connections begin with."""

_FIELDS: Final = frozenset({"conn_type", "description", "extra", "host", "login", "password", "port", "schema", "uri"})

_T = TypeVar("_T")


def variable(key: str) -> str | None:
    """
    Return the text of an Airflow variable; None if there is none.

    A task, the parsing of a DAG file, and a trigger ask the Task SDK's secrets backends, and no database; the servers
    ask their own; anything else, such as the command line, asks those of Airflow's core, with the database. The first
    backend that has an answer wins. A backend that fails is an error; Airflow would ask the next one. Airflow registers
    the value with its masker if the name is sensitive and the value came from the Execution API.

    :raises AccessDeniedError: a secrets backend refuses
    :raises ProviderUnavailableError: a secrets backend cannot answer now
    """
    return _first_answer(lambda backend: read_variable(backend, key), f"variable '{printable(key)}'")


def stored_variable(key: str) -> str | None:
    """
    Return what ``variable`` does, unless Airflow's database has a variable of this name that was not returned.

    Airflow's API server answers that there is no such variable if it cannot decrypt it. Before Airflow 3.3, and if
    there are teams, a task cannot tell the two apart. Costs a second request if there is no variable.

    :raises ProviderUnavailableError: the API server cannot decrypt it; also as ``variable``
    """
    found, what = variable(key), f"variable '{printable(key)}'"
    if found is not None or not asked(lambda: _has_name(key, what), who=EXECUTION_API, what=what):
        return found
    if (found := variable(key)) is None:  # it can have been created meanwhile
        raise undecipherable(EXECUTION_API, what)
    return found


def connection(conn_id: str) -> Any | None:
    """
    Return an Airflow connection; None if there is none.

    It has ``conn_type``, ``host``, ``port``, ``schema``, ``login``, ``password``, ``extra`` and ``get_uri()``. It
    comes from the same backends as in ``variable``. Airflow registers password and extra with its masker if they came
    from the Execution API.

    :raises AccessDeniedError: a secrets backend refuses
    :raises ProviderUnavailableError: a secrets backend cannot answer now
    :raises ProviderDefinitionError: the environment variable that defines it is broken
    """
    try:
        return _first_answer(lambda backend: read_connection(backend, conn_id), f"connection '{printable(conn_id)}'")
    except ProviderUnavailableError as error:
        failure: ConfigProvidersError = error.again()
    if problem := broken_variable(conn_id):
        failure = ProviderDefinitionError(problem)
    raise failure


def check() -> str:
    """
    Create the backends that ``variable`` and ``connection`` ask, without asking them anything; return their names.

    :raises ProviderUnavailableError: one cannot be created
    """
    return "asks " + ", ".join(type(backend).__name__ for backend in _chain())


def has_teams() -> bool:
    """Return whether this deployment keeps the secrets of several teams apart."""
    from airflow.sdk.configuration import conf  # noqa: PLC0415 - heavy, and not needed to import the package

    return bool(conf.getboolean("core", "multi_team", fallback=False))


def max_workers() -> int:
    """Return how many questions this deployment lets a provider ask at once; one while Airflow starts."""
    if airflow_is_starting():
        return 1
    from airflow.sdk.configuration import conf  # noqa: PLC0415 - heavy, and not needed to import the package

    from airflow_config_providers.get_provider_info import OPTIONS  # noqa: PLC0415 - not in the zip for a driver

    return int(conf.getint("config_providers", "max_workers", fallback=int(OPTIONS["max_workers"].default)))


def airflow_is_starting() -> bool:
    """
    Return whether this might be Airflow's own start, which reads options from secrets backends.

    Everything must then be asked in this thread: another thread that imports a part of Airflow would wait for this one
    forever.
    """
    spec = getattr(sys.modules.get("airflow"), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def configured_backend(*, of_worker: bool | None = None) -> Any | None:
    """
    Return the secrets backend that the deployment has configured for processes such as this one; None without one.

    That is ``[workers] secrets_backend``, or else ``[secrets] backend``, if the Task SDK's backends are asked, and
    ``[secrets] backend`` otherwise.

    :param of_worker: whether to return the backend of a worker, or of another process, whatever this process is
    :raises ProviderDefinitionError: it cannot be created
    """
    return _made(partial(_make_configured, of_worker), "The secrets backend that is configured in airflow.cfg")


def make_backend(path: str, kwargs: Mapping[str, Any]) -> Any:
    """
    Return a new secrets backend of the class with this dotted name, which is imported and called.

    :raises ProviderDefinitionError: it cannot be created
    """

    def make() -> Any:
        kind: Any = imported(path)
        return _with_connections(kind(**kwargs))

    return _made(make, f"Secrets backend '{printable(path)}'")


def read_variable(backend: Any, key: str) -> str | None:
    """
    Return a variable of one secrets backend, and never a team's.

    Raises what the backend raises. For a variable in a file, some backends return parsed JSON or YAML: this is written
    as JSON.
    """
    if _is_execution_api(backend):
        return _variable_of_execution_api(key)
    return _text(backend.get_variable(key=key))  # some backends return what they parsed of a file


def read_config(backend: Any, key: str) -> str | None:
    """Return an option of Airflow's configuration from one secrets backend. Raises what the backend raises."""
    return _text(backend.get_config(key=key))


def read_connection(backend: Any, conn_id: str) -> Any | None:
    """Return a connection of one secrets backend, and never a team's. Raises what the backend raises."""
    if _is_execution_api(backend):
        return _connection_of_execution_api(conn_id)
    if type(backend).get_connection.__qualname__ != "BaseSecretsBackend.get_connection":
        return _decrypted(backend.get_connection(conn_id=conn_id))
    text = backend.get_conn_value(conn_id=conn_id)  # Airflow 3.2 passes a team, which older backends do not take
    return backend.deserialize_connection(conn_id=conn_id, value=text) if text else None


def _decrypted(connection: Any) -> Any:
    """Have what Airflow's database encrypts decrypted here: its models do so only when a field is read."""
    for field in ("password", "extra"):
        with suppress(ValueError):  # an extra that is no JSON object is a problem of those who read it
            getattr(connection, field, None)
    return connection


def asked(ask: Callable[[], _T | None], *, who: str, what: str) -> _T | None:
    """
    Return the result of ``ask``; None also if it raises an error that means that there is nothing.

    :raises AccessDeniedError: it raised an error that means so
    :raises ProviderUnavailableError: it raised any other error that is not from this package
    """
    keep_values_out_of_debug_logs()  # no guard of the log knows the values yet
    try:
        return ask()
    except Exception as error:  # noqa: BLE001 - a third party's backend can raise anything
        problem = error_of(error, who=who, what=what)
    if problem is None:
        return None
    raise problem.alone()


def ids_of_variables() -> list[str]:
    """
    Return the ids of all connections without a team that variables define, in lower case.

    An empty variable defines none. ``AIRFLOW_CONN__TEAM___ID`` is a team's, if there are teams.
    """
    variables = all_variables(os.environ).items()
    found = [name.removeprefix(_CONN).lower() for name, text in variables if name.startswith(_CONN) and text]
    return [one for one in found if not (one.startswith("_") and "___" in one)] if has_teams() else found


def empty_variable(conn_id: str) -> str | None:
    """Return the name of the variable that would define the connection, if it is empty, so that Airflow ignores it."""
    name = f"{_CONN}{conn_id.upper()}"
    return name if value_of(os.environ, name) == "" else None


def broken_variable(conn_id: str) -> str | None:
    """
    Return what is wrong with the variable that should define the connection, without its content; None if nothing is.

    Airflow ignores such a variable, and asks its database for the connection; in a task, it takes any string as extra.
    """
    name = f"{_CONN}{conn_id.upper()}"
    text = value_of(os.environ, name)
    if not text or (_is_connection(conn_id, text) and not _extra_mistake(text)):
        return None
    return f"The environment variable {name} does not define a connection. {mistake(text)}"


def _is_connection(conn_id: str, text: str) -> bool:
    from airflow.secrets import BaseSecretsBackend  # noqa: PLC0415 - heavy

    try:
        _with_connections(BaseSecretsBackend()).deserialize_connection(conn_id=conn_id, value=text)
    except Exception:  # noqa: BLE001 - it can raise anything, with the content in its message
        return False
    return True


def mistake(text: str) -> str:
    """Return what is wrong with a text of which Airflow cannot make a connection, and how to correct it, without it."""
    if not text.lstrip().startswith("{"):
        return "Airflow cannot read it as a URI. Correct it, or write a JSON object."
    try:
        fields = parse(text)
    except ConfigException as error:
        return f"{error} Correct the variable."
    return (
        " ".join(_mistakes(fields)) or _extra_mistake(text) or "Airflow cannot read its fields. Correct the variable."
    )


def _extra_mistake(text: str) -> str | None:
    """Return what is wrong with the extra of a JSON object, also if it is a string; None if nothing is wrong."""
    extra = (parse_object(text) or {}).get("extra")
    if not extra:
        return None
    try:
        content = parse(extra) if isinstance(extra, str) else extra
    except ConfigException as error:
        return f"Its extra is not a JSON object. {error} Correct it."
    return None if isinstance(content, Mapping) else "Its extra is not a JSON object. Correct it."


def unknown_fields(written: Iterable[object], known: Collection[str]) -> list[str]:
    """Return a sentence for each name that is no field of a connection."""
    return [
        f"'{printable(str(name))}' is not a field{nearest(str(name), known) or '.'} Correct its name, or move it to "
        f"extra."
        for name in written
        if name not in known
    ]


def _mistakes(fields: Mapping[str, object]) -> list[str]:
    found = unknown_fields(fields.keys() - {"conn_id"}, _FIELDS)
    if "conn_id" in fields:
        found.append("Its id is in the name of the variable. Remove conn_id.")
    if fields.get("port") and whole_number(fields["port"]) is None:
        found.append("Its port is not a number. Correct it.")
    return sorted(found)


def _first_answer(ask: Callable[[Any], _T | None], what: str) -> _T | None:
    for backend in _chain():
        answer = asked(partial(ask, backend), who=f"Secrets backend {type(backend).__name__}", what=what)
        if answer is not None:
            return answer
    if _is_starting():
        raise ProviderUnavailableError(
            f"Airflow is starting, and its database cannot be asked for the {what} yet. Set it in the environment or "
            f"in a file of the secrets backend."
        )
    return None


def _chain() -> list[Any]:
    what, way_out = "Airflow's secrets backends cannot be created", "Correct [secrets] and [workers] in airflow.cfg."
    return guarded(_load_chain, lambda: what, ProviderUnavailableError, way_out=way_out)


def _load_chain() -> list[Any]:
    if _is_starting():
        return _chain_without_database()
    if _asks_task_sdk():
        from airflow.sdk.execution_time.supervisor import ensure_secrets_backend_loaded  # noqa: PLC0415 - heavy; a task has it at hand

        if not has_supervisor():  # then the variable decides what it returns
            require(BACKENDS_OF_PROCESS)
        return ensure_secrets_backend_loaded()
    from airflow.configuration import ensure_secrets_loaded  # noqa: PLC0415 - as above

    return ensure_secrets_loaded()


def _chain_without_database() -> list[Any]:
    """Return backends that can answer while Airflow reads its configuration, which has the database's address."""
    from airflow.secrets.environment_variables import EnvironmentVariablesBackend  # noqa: PLC0415 - needed only then

    custom = _make_configured()
    return [*([] if custom is None else [custom]), _with_connections(EnvironmentVariablesBackend())]


def _is_starting() -> bool:
    """Return whether Airflow's configuration, which makes the chain of backends last, is still being imported."""
    configuration = sys.modules.get("airflow.configuration")
    return configuration is not None and not hasattr(configuration, "secrets_backend_list")


def _asks_task_sdk() -> bool:
    """Return whether to ask the Task SDK. Its import might need the very option that Airflow is starting with."""
    is_server = value_of(os.environ, "_AIRFLOW_PROCESS_CONTEXT") == "server"
    return (has_supervisor() or is_server) and not airflow_is_starting()


def _make_configured(of_worker: bool | None = None) -> Any | None:
    if _asks_task_sdk():
        from airflow.sdk.configuration import get_custom_secret_backend  # noqa: PLC0415 - heavy
    else:
        from airflow.configuration import get_custom_secret_backend  # noqa: PLC0415 - heavy

    backend = get_custom_secret_backend(worker_mode=has_supervisor() if of_worker is None else of_worker)
    return None if backend is None else _with_connections(backend)


def _with_connections(backend: Any) -> Any:
    from airflow.sdk import Connection  # noqa: PLC0415 - heavy

    require(BACKEND)
    backend._set_connection_class(Connection)
    return backend


def _made(make: Callable[[], _T], who: str) -> _T:
    way_out = "Correct its class or its arguments."
    return guarded(make, lambda: f"{who} cannot be created", ProviderDefinitionError, way_out=way_out)


def _is_execution_api(backend: Any) -> bool:
    return type(backend).__module__ == "airflow.sdk.execution_time.secrets.execution_api"


def _text(value: Any) -> str | None:
    return None if value is None else as_text(value)


def _variable_of_execution_api(key: str) -> str | None:
    from airflow.sdk.execution_time.comms import GetVariable  # noqa: PLC0415 - heavy; only a task has it at hand

    answer = _ask_execution_api(GetVariable(key=key), f"variable '{printable(key)}'")
    return None if answer is None else _text(answer.value)


def _has_name(key: str, what: str) -> bool:
    """Return whether Airflow's database has a variable of this name, readable or not; False if that is not known."""
    if not has_supervisor() or has_teams():  # a task without a team gets the names of all teams' variables
        return False
    from airflow.sdk.execution_time import comms  # noqa: PLC0415 - heavy; only a task has it at hand

    if not hasattr(comms, "GetVariableKeys"):  # before Airflow 3.3
        return False
    answer = _ask_execution_api(comms.GetVariableKeys(prefix=key), what)
    return answer is not None and key in answer.keys


def _connection_of_execution_api(conn_id: str) -> Any | None:
    from airflow.sdk.execution_time.comms import GetConnection  # noqa: PLC0415 - heavy; only a task has it at hand
    from airflow.sdk.execution_time.context import _process_connection_result_conn  # noqa: PLC0415 - as above

    require(CONTEXT)
    answer = _ask_execution_api(GetConnection(conn_id=conn_id), f"connection '{printable(conn_id)}'")
    return None if answer is None else _process_connection_result_conn(answer)


def _ask_execution_api(message: Any, what: str) -> Any | None:
    """Return the answer; ExecutionAPISecretsBackend asks in the same way but takes an outage for "not found"."""
    from airflow.sdk.exceptions import AirflowRuntimeError  # noqa: PLC0415 - heavy; only a task has it at hand
    from airflow.sdk.execution_time import task_runner  # noqa: PLC0415 - as above
    from airflow.sdk.execution_time.comms import ErrorResponse  # noqa: PLC0415 - as above

    try:
        answer = task_runner.SUPERVISOR_COMMS.send(message)
    except AirflowRuntimeError as error:
        answer = error.error
    if not isinstance(answer, ErrorResponse):
        return answer
    if problem := _problem(answer, what):
        raise problem
    return None


def _problem(answer: Any, what: str) -> ConfigProvidersError | None:
    kind, status = answer.error.value, (answer.detail or {}).get("status_code")
    if kind.endswith("_NOT_FOUND"):
        return None
    if kind == "PERMISSION_DENIED" or status in (401, 403):
        return denied(EXECUTION_API, what)
    return unavailable(EXECUTION_API, what, reason=f"status {status}" if isinstance(status, int) else kind)
