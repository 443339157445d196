"""A task's supervisor and a deployment's secrets backends that answer what a test says."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from airflow.secrets import BaseSecretsBackend


class Supervisor:
    """
    Replaces the supervisor, with which a task communicates.

    :param answers: name of a variable or connection, or the beginning of names with ``*`` -> answer, or error to raise;
        other names do not exist
    :param names: the names of variables in the database, whether or not it can decrypt them
    """

    def __init__(self, answers: Mapping[str, Any], names: Collection[str] = ()) -> None:
        self._answers = answers
        self._names = names
        self.asked: list[str] = []

    def send(self, msg: Any) -> Any:
        from airflow.sdk.exceptions import ErrorType
        from airflow.sdk.execution_time.comms import ErrorResponse

        kind = type(msg).__name__
        if kind == "GetVariableKeys":
            name, otherwise = f"{msg.prefix}*", self._with_names(msg.prefix)
        elif kind == "GetVariable":
            name, otherwise = msg.key, ErrorResponse(error=ErrorType.VARIABLE_NOT_FOUND)
        elif kind == "GetConnection":
            name, otherwise = msg.conn_id, ErrorResponse(error=ErrorType.CONNECTION_NOT_FOUND)
        else:
            return None
        self.asked.append(name)
        answer = self._answers.get(name, otherwise)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _with_names(self, beginning: str) -> Any:
        from airflow.sdk.execution_time.comms import VariableKeysResult

        names = [name for name in self._names if name.startswith(beginning)]
        return VariableKeysResult(keys=names, total_entries=len(names))


def variable_result(key: str, value: str | None) -> Any:
    from airflow.sdk.execution_time.comms import VariableResult

    return VariableResult(key=key, value=value)


def connection_result(conn_id: str, **fields: Any) -> Any:
    from airflow.sdk.execution_time.comms import ConnectionResult

    unset = dict.fromkeys(("host", "schema", "login", "password", "port", "extra"))
    return ConnectionResult(**{"conn_id": conn_id, "conn_type": "postgres", **unset, **fields})


def error_response(kind: str, **detail: Any) -> Any:
    from airflow.sdk.exceptions import ErrorType
    from airflow.sdk.execution_time.comms import ErrorResponse

    return ErrorResponse(error=ErrorType(kind), detail=detail or None)


class ScriptedBackend(BaseSecretsBackend):
    """A deployment's backend; ``answers`` as with ``Supervisor``, and None for what it does not have."""

    answers: ClassVar[dict[str, Any]] = {}
    kwargs: ClassVar[list[dict[str, Any]]] = []

    def __init__(self, **kwargs: Any) -> None:
        self.kwargs.append(kwargs)

    def _answer(self, name: str) -> Any:
        answer = self.answers.get(name)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def get_conn_value(self, conn_id: str, team_name: str | None = None) -> str | None:
        assert team_name is None
        return self._answer(conn_id)

    def get_variable(self, key: str, team_name: str | None = None) -> str | None:
        assert team_name is None
        return self._answer(key)

    def get_config(self, key: str) -> str | None:
        return self._answer(key)


class OldBackend(BaseSecretsBackend):
    """Written before Airflow knew teams."""

    def get_conn_value(self, conn_id: str) -> str | None:  # type: ignore[override]
        return "postgres://u:old@h" if conn_id == "old" else None

    def get_variable(self, key: str) -> str | None:  # type: ignore[override]
        return "old" if key == "old" else None


class ConnectionsOnly(BaseSecretsBackend):
    """Has no variables, and says so as Airflow's base class does."""

    def get_conn_value(self, conn_id: str, team_name: str | None = None) -> str | None:
        return None


class Unmakeable(BaseSecretsBackend):
    """Shows its arguments when it is made."""

    def __init__(self, **kwargs: Any) -> None:
        raise ValueError(f"bad arguments {kwargs}")
