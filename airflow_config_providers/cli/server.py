"""The configuration of a deployment, accessed through its server with the permissions of the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from airflow_config_providers.cli.server_client import ServerClient
from airflow_config_providers.core.alter import AlterConfigOp, ConfigResource
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.outcomes import NOT_FOUND, error_of
from airflow_config_providers.deployment.rows import Row, Selection, of_json
from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
    ForbiddenError,
    ProviderUnavailableError,
    UnknownResourceError,
)

ROOT: Final = "/config-providers/v1"
"""The path of the REST interface on the server."""


class ServerConfigurations:
    """
    ``Configurations`` over REST, with the same errors.

    :param client: the client of the server, signed in
    :param warn: is called with each note for the reader
    """

    def __init__(self, client: ServerClient, warn: Callable[[str], None]) -> None:
        self._client = client
        self._warn = warn

    def describe(self, resource: ConfigResource, selection: Selection) -> list[Row]:
        """Return the selected keys, each with its synonyms."""
        query = [("synonyms", "true"), ("all", str(selection.defaults).lower()), *(("key", k) for k in selection.keys)]
        return self._rows("GET", path(resource), query=query)

    def alter(
        self,
        resource: ConfigResource,
        operations: Sequence[AlterConfigOp],
        *,
        validate_only: bool = False,
        if_version: int | None = None,
    ) -> list[Row]:
        """Change keys, and return what applies now."""
        changes = [{"op": one.op.name, "name": one.name, "value": one.value} for one in operations]
        body = {"operations": changes, "validate_only": validate_only, "if_version": if_version}
        return self._rows("PATCH", path(resource), body=body)

    def history(self, resource: ConfigResource) -> list[Row]:
        """Return the changes, newest last."""
        return self._rows("GET", f"{path(resource)}/history")

    def rollback(
        self, resource: ConfigResource, *, to_version: int | None = None, validate_only: bool = False
    ) -> list[Row]:
        """Restore a version, and return what applies now."""
        body = {"to_version": to_version, "validate_only": validate_only}
        return self._rows("POST", f"{path(resource)}/rollback", body=body)

    def _rows(self, method: str, path_: str, *, query: Sequence[tuple[str, str]] = (), body: Any = None) -> list[Row]:
        answer = self._client.ask(method, f"{ROOT}{path_}", query=query, body=body)
        content = answer.content if isinstance(answer.content, Mapping) else {}
        for note in _texts(content, "notes"):
            self._warn(note)
        rows = content.get("rows")
        if answer.status != 200 or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise _refusal(self._client.address, answer.status, content)
        return [of_json(row) for row in rows]


def path(resource: ConfigResource) -> str:
    """
    Return the path of a resource below ``ROOT``.

    :raises UnknownResourceError: in a URL, its name would lead elsewhere; Airflow allows no such names
    """
    dag, task = resource.dag_id, resource.task_id
    if _is_elsewhere(dag):
        raise UnknownResourceError(f"There is no DAG '{printable(dag)}'. {NOT_FOUND}")
    if _is_elsewhere(task):
        raise UnknownResourceError(f"DAG '{printable(dag)}' has no task '{printable(task)}'. {NOT_FOUND}")
    if not dag:
        return "/default"
    return f"/dags/{quote(dag, safe='')}/tasks/{quote(task, safe='')}" if task else f"/dags/{quote(dag, safe='')}"


def _is_elsewhere(name: str) -> bool:
    return name in {".", ".."} or "/" in name or not name.isprintable()


def _texts(content: Mapping[str, Any], name: str) -> list[str]:
    found = content.get(name)
    return [text for text in found if isinstance(text, str)] if isinstance(found, list) else []


def _refusal(address: str, status: int, content: Mapping[str, Any]) -> ConfigProvidersError:
    """Return the error that the server reported or, if this package did not answer, one for the status."""
    error, problems = error_of(str(content.get("kind"))), _texts(content, "problems")
    if error is not None and problems:
        return error(*problems)
    where = printable(address)
    if status in {401, 403}:
        return ForbiddenError(f"{where} refuses access ({status}). Get a new token, or ask for the permission.")
    if status >= 500:
        return ProviderUnavailableError(f"{where} failed ({status}). Try again later.")
    return ConfigException(
        f"{where} has no interface of airflow-config-providers ({status}). Use the address at which people open "
        f"Airflow, and install the package there."
    )
