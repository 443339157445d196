"""The configuration of a deployment, accessed over HTTP through its server, with the permissions of the user."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import SplitResult, quote, urlsplit

from airflow_config_providers.cli.failing import WrongArgumentsError
from airflow_config_providers.core.alter import AlterConfigOp
from airflow_config_providers.core.concurrency.workers import in_thread
from airflow_config_providers.core.document import MOST_VALUES, has_too_many_values, loaded
from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import printable
from airflow_config_providers.deployment.failures import error_of
from airflow_config_providers.deployment.rows import NOT_READ_HERE, KeySelection, Row, of_json
from airflow_config_providers.deployment.why_not import Reading, refusals, why_not
from airflow_config_providers.exceptions import (
    ConfigException,
    ConfigProvidersError,
    ForbiddenError,
    ProviderUnavailableError,
    UnknownResourceError,
)

if TYPE_CHECKING:
    import httpx

    from airflow_config_providers.deployment.records import RunChoice

ROOT: Final = "/config-providers/v1"
"""The path of the REST interface on the server."""

_SECONDS: Final = 60.0
"""The time limit for an answer. A change takes a few seconds if policies check it and others change the same."""

_SECONDS_TO_CONNECT: Final = 10.0
"""The time limit for a connection, which a server accepts at once, however long its answer takes."""

_MEBIBYTES: Final = 64
"""The largest answer, decompressed. A row takes about a kilobyte."""

_ELSEWHERE: Final = (
    "A server cannot be asked for {}: in an address, its name would lead elsewhere. Correct the name, or run the "
    "command without a server."
)


class ServerConfigurations:
    """
    The operations of ``DeployedConfigurations`` over REST, with the same errors.

    :param client: the client of the server, signed in
    :param warn: is called with each note for the reader
    """

    def __init__(self, client: ServerClient, warn: Callable[[str], None]) -> None:
        self._client = client
        self._warn = warn

    def describe(self, resource: ConfigResource, selection: KeySelection) -> list[Row]:
        """Return the selected keys, each with its synonyms."""
        query = [*_query_of(selection), ("all", str(selection.defaults).lower())]
        return self._rows("GET", path(resource), query=query)

    def describe_run(self, task: ConfigResource, choice: RunChoice, selection: KeySelection) -> list[Row]:
        """Return the selected keys that one try had, each with its synonyms."""
        if _is_elsewhere(choice.run_id):
            raise UnknownResourceError(_ELSEWHERE.format(f"run '{printable(choice.run_id)}'"))
        chosen = {"try": choice.try_number, "map_index": choice.map_index}
        query = [*_query_of(selection), *((name, str(number)) for name, number in chosen.items() if number is not None)]
        return self._rows("GET", f"{path(task)}/runs/{quote(choice.run_id, safe='')}", query=query)

    def why_not(self, resource: ConfigResource, asked: str, choice: RunChoice | None = None) -> list[Row]:
        """Return why a setting that someone wrote does not apply, as far as the rows of the server say it."""
        if choice:
            return why_not(asked, self.describe_run(resource, choice, KeySelection()))
        reading = Reading(refusals=partial(refusals, self.alter, resource))
        return why_not(asked, self.describe(resource, KeySelection()), reading)

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
        self,
        resource: ConfigResource,
        *,
        to_version: int | None = None,
        validate_only: bool = False,
        if_version: int | None = None,
        leave_out: Collection[str] = (),
    ) -> list[Row]:
        """Restore a version, and return what applies now."""
        kept = {"leave_out": [*leave_out]} if leave_out else {}  # a server of an older version does not know it
        body = {"to_version": to_version, "validate_only": validate_only, "if_version": if_version, **kept}
        return self._rows("POST", f"{path(resource)}/rollback", body=body)

    def refresh(self, resource: ConfigResource) -> list[Row]:
        """Have the values of references read again, and return the resources that this concerns."""
        return self._rows("POST", f"{path(resource)}/refresh", body={})

    def unread_files(self, task: ConfigResource) -> str:
        """Return why a description of a task can lack layer files: a server reads none that a task names."""
        return NOT_READ_HERE

    def references(self, pattern: str) -> list[Row]:
        """Return the tasks whose last job used a reference, as far as the user may see their runs."""
        return self._rows("GET", "/references", query=[("pattern", pattern)])

    def _rows(self, method: str, path_: str, *, query: Sequence[tuple[str, str]] = (), body: Any = None) -> list[Row]:
        status, answer = self._client.ask(method, f"{ROOT}{path_}", query=query, body=body)
        content = answer if isinstance(answer, Mapping) else {}
        for note in _texts(content, "notes"):
            self._warn(note)
        rows = content.get("rows")
        if status != 200 or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise _refusal(self._client.address, status, content)
        return [of_json(row) for row in rows]


def path(resource: ConfigResource) -> str:
    """
    Return the path of a resource below ``ROOT``.

    :raises UnknownResourceError: in a URL, its name would lead elsewhere; Airflow allows the name '..'
    """
    dag, task = resource.dag_id, resource.task_id
    if _is_elsewhere(dag):
        raise UnknownResourceError(_ELSEWHERE.format(f"DAG '{printable(dag)}'"))
    if _is_elsewhere(task):
        raise UnknownResourceError(_ELSEWHERE.format(f"task '{printable(task)}' of DAG '{printable(dag)}'"))
    if not dag:
        return "/default"
    return f"/dags/{quote(dag, safe='')}/tasks/{quote(task, safe='')}" if task else f"/dags/{quote(dag, safe='')}"


def _query_of(selection: KeySelection) -> list[tuple[str, str]]:
    """Return the parameters that select keys, with what a server leaves out otherwise."""
    return [("synonyms", "true"), ("notes", str(selection.notes).lower()), *(("key", key) for key in selection.keys)]


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


@dataclass(frozen=True, slots=True)
class _Answer:
    """A whole answer of a server."""

    status: int
    is_redirect: bool
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ServerClient:
    """
    A client of one server. It follows no redirect, so that the token goes nowhere else. Thread-safe.

    :param address: the address at which people open Airflow, without a trailing slash
    :param token: the user's token; empty for an anonymous request
    :param seconds: the time limit for an answer
    """

    address: str
    token: str = field(default="", repr=False)
    seconds: float = _SECONDS

    @classmethod
    def of(cls, address: str, *, plain_http: bool = False) -> Self:
        """
        Return a client for an address that a user wrote.

        :param plain_http: allow the token to travel unencrypted to another machine
        :raises WrongArgumentsError: the address is invalid, or it is not safe to send a token to it
        """
        parts = _split(address)
        if parts is None or parts.scheme not in {"http", "https"} or not parts.hostname:
            raise WrongArgumentsError("The server must be an address such as https://airflow.example.com. Correct it.")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise WrongArgumentsError("The address of the server must not contain a user, '?' or '#'. Remove them.")
        if parts.scheme == "http" and not plain_http and not _is_loopback(parts.hostname):
            raise WrongArgumentsError(
                f"{printable(address)}: anyone on the network path could read the token. Use https, or "
                f"--allow-plain-http."
            )
        return cls(address.rstrip("/"))

    def ask(
        self, method: str, path: str, *, query: Sequence[tuple[str, str]] = (), body: Any = None
    ) -> tuple[int, Any]:
        """
        Send one request, without retries: after a failure it is unknown whether a change was made.

        :param body: what to send as JSON; None for nothing
        :raises ProviderUnavailableError: the server did not answer
        :raises ConfigException: the server redirected, its certificate is not trusted, or its answer is too large
        :raises WrongArgumentsError: HTTP cannot express the request
        """
        import httpx  # noqa: PLC0415 - slow to import

        try:
            answer = self._in_time(method, path, query=query, body=body)
        except httpx.HTTPError as error:
            failure = _failure(self.address, error, is_change=method != "GET")
        except (ValueError, httpx.InvalidURL) as error:  # a name is too long, or not valid in HTTP
            failure = WrongArgumentsError(f"{printable(self.address)}: invalid request ({type(error).__name__}).")
        else:
            if not answer.is_redirect:
                return answer.status, loaded(answer.content)
            failure = ConfigException(
                f"{printable(self.address)} redirects, and the token is not sent to another address. Use the address "
                f"that it redirects to."
            )
        raise failure

    def _in_time(self, method: str, path: str, *, query: Sequence[tuple[str, str]], body: Any) -> _Answer:
        """Send one request, and wait for the whole answer: the timeout of httpx is that of each piece."""
        import httpx  # noqa: PLC0415 - slow to import

        answer = in_thread(self._send, method, path, query=query, body=body)
        if not wait([answer], self.seconds).done:
            raise httpx.ReadTimeout("")
        return answer.result()

    def _send(self, method: str, path: str, *, query: Sequence[tuple[str, str]], body: Any) -> _Answer:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        address = f"{self.address}{path}"
        too_large = partial(_too_large, self.address, is_change=method != "GET")
        with (
            self._opened() as client,
            client.stream(method, address, params=list(query), json=body, headers=headers) as answer,
        ):
            return _Answer(answer.status_code, answer.is_redirect, _bounded(answer.iter_bytes(), too_large))

    def _opened(self) -> httpx.Client:
        import httpx  # noqa: PLC0415 - slow to import

        return httpx.Client(
            follow_redirects=False,
            timeout=httpx.Timeout(self.seconds, connect=min(self.seconds, _SECONDS_TO_CONNECT)),
            trust_env=self.address.startswith("https:"),  # a proxy could read unencrypted requests
        )


def _split(address: str) -> SplitResult | None:
    try:
        parts = urlsplit(address)
        return parts if parts.port != 0 and address.isprintable() and " " not in address else None
    except ValueError:
        return None


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bounded(pieces: Iterable[bytes], too_large: Callable[[str], ConfigException]) -> bytes:
    """
    Return ``pieces`` as one.

    :raises ConfigException: that of ``too_large``: there are too many, or too many values of JSON in them
    """
    found = bytearray()
    for piece in pieces:
        found += piece
        if len(found) > _MEBIBYTES * 1024 * 1024:
            raise too_large(f"more than {_MEBIBYTES} MiB")
    if has_too_many_values(content := bytes(found)):
        raise too_large(f"more than {MOST_VALUES:,} values")
    return content


def _too_large(address: str, found: str, *, is_change: bool) -> ConfigException:
    way_out = "The change might have been made: check the history" if is_change else "Ask for less, such as one task"
    return ConfigException(f"{printable(address)} answered with {found}. {way_out}.")


def _failure(address: str, error: Exception, *, is_change: bool) -> ConfigProvidersError:
    """Return the error for a failed request. It quotes the type of ``error``, never its message."""
    import httpx  # noqa: PLC0415 - slow to import

    where, kind = printable(address), type(error).__name__
    if "CERTIFICATE" in str(error):
        return ConfigException(
            f"The certificate of {where} is not trusted. If your own certificate authority issued it, set the "
            f"environment variable SSL_CERT_FILE to the authority's file."
        )
    if is_change and not isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout)):
        return ProviderUnavailableError(
            f"{where} did not answer ({kind}), but might have made the change. Check the history before you try again."
        )
    return ProviderUnavailableError(f"{where} cannot be reached ({kind}). Check the address, or try again later.")
