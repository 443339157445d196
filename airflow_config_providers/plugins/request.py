"""What a request asks for: its resource, the user who sent it, and its body, which is safe to read."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final, TypedDict

from airflow.api_fastapi.app import get_auth_manager
from airflow.api_fastapi.core_api.security import GetUserDep
from fastapi import Depends, HTTPException
from fastapi.dependencies.models import Dependant
from starlette.requests import Request
from starlette.responses import Response

from airflow_config_providers import settings
from airflow_config_providers.airflow_compat import conf
from airflow_config_providers.core.alter import AlterConfigOp, OpType
from airflow_config_providers.core.resource import ConfigResource, ResourceType
from airflow_config_providers.core.text import is_storable, is_unicode, nearest, printable, reporting_once, there_are
from airflow_config_providers.deployment.admin import Caller
from airflow_config_providers.deployment.configurations import DeployedConfigurations
from airflow_config_providers.deployment.failures import NOT_FOUND
from airflow_config_providers.deployment.rows import Row, as_json
from airflow_config_providers.dynamic.planner import LONGEST_VALUE, refuse_many
from airflow_config_providers.exceptions import MalformedRequestError, UnknownResourceError, refuse
from airflow_config_providers.job.authored_job import AuthoredJob
from airflow_config_providers.job.deployed_task import Warn, deployed_job
from airflow_config_providers.job.nested_texts import field_of
from airflow_config_providers.plugins.permissions import is_granted, read_runs, visible_runs
from airflow_config_providers.plugins.problems import HEADERS

LONGEST_NAME: Final = 2000
"""The most characters of a key, a path or a layer that is asked about: it is compared with all names that are known."""

_NAMED: Final = 10
"""The number of unknown fields or parameters that an error names."""

_REQUIRED: Final = object()
_WORDS: Final = {bool: "true or false", int: "a number", list: "a list", str: "a string"}


class Checks(TypedDict):
    """The arguments that every change takes."""

    validate_only: bool
    if_version: int | None


class Alteration(Checks):
    """The arguments of ``DeployedConfigurations.alter`` that a body has."""

    operations: Sequence[AlterConfigOp]


class Rollback(Checks):
    """The arguments of ``DeployedConfigurations.rollback`` that a body has."""

    to_version: int | None
    leave_out: Sequence[str]


def alteration(body: Mapping[str, Any]) -> Alteration:
    """
    Return the arguments of ``alter`` that ``body`` has.

    :raises MalformedRequestError: lists all problems, as all functions for bodies do
    :raises LimitExceededError: there are too many operations
    """
    fields = _Fields(body)
    given = fields.take("operations", list, [])
    refuse_many(len(given))
    read = [_operation(fields, number, one) for number, one in enumerate(given)]
    if not given and not fields.problems:
        fields.problems.append("'operations' is missing or empty. Add a list of objects with op, name and value.")
    checks = _checks(fields)
    return {"operations": [one for one in read if one is not None], **checks}


def rolled_back(body: Mapping[str, Any]) -> Rollback:
    """Return the arguments of ``rollback`` that ``body`` has; without a version, the last change is undone."""
    fields = _Fields(body)
    version, keys = fields.take("to_version", int, None), fields.take("leave_out", list, [])
    refuse_many(len(keys))
    if not all(isinstance(key, str) for key in keys):
        fields.problems.append("'leave_out': expected a list of keys.")
    return {"to_version": version, "leave_out": keys, **_checks(fields)}


def _checks(fields: _Fields) -> Checks:
    """Take what every change has, and end: what is not taken yet is an unknown field."""
    found: Checks = {
        "validate_only": fields.take("validate_only", bool, False),
        "if_version": fields.take("if_version", int, None),
    }
    fields.end()
    return found


def setting_of(body: Mapping[str, Any]) -> str:
    """
    Return the setting that ``body`` asks about: ``KEY=VALUE``, a key, a path of a file, or the name of a layer.

    :raises MalformedRequestError: lists all problems, and quotes no setting, because that can hold a value
    """
    fields = _Fields(body)
    setting = fields.take("setting", str)
    if isinstance(setting, str):
        fields.problems.extend(_of_setting(setting))
    fields.end()
    return str(setting)


def _of_setting(setting: str) -> Iterator[str]:
    name = setting.partition("=")[0].strip()
    if not name:
        yield "'setting' has no key and no layer. Write KEY=VALUE, a path of a file, or the name of a layer."
    if len(name) > LONGEST_NAME:
        yield f"'setting': the name is longer than {LONGEST_NAME} characters. Correct it."
    if len(setting) > len(name) + LONGEST_VALUE + 1:
        yield f"'setting': the value is longer than {LONGEST_VALUE} characters. Ask about the key alone."
    if not is_unicode(setting):
        yield "'setting' contains half of a surrogate pair, which is not a character. Correct it."


def refuse_fields(body: Mapping[str, Any]) -> None:
    """
    Refuse a body that is not ``{}``.

    :raises MalformedRequestError: names its fields
    """
    _Fields(body).end()


def unknown_names(names: Iterable[str], known: Collection[str], what: str, where: str = "") -> Iterator[str]:
    """Yield a problem for each of the first ``names`` that are not known, and one for all others."""
    others = sorted(set(names) - set(known))
    for name in others[:_NAMED]:
        hint = nearest(name, known) or "."
        yield f"'{where}{printable(name)}' is an unknown {what}{hint} Remove or correct it."
    if (more := len(others) - _NAMED) > 0:
        yield f"{there_are(more, f'more unknown {what}')}. Remove {'it' if more == 1 else 'them'}."


class _Fields:
    """
    Reads the fields of an object one by one, and collects problems.

    :param where: the prefix of the fields' names in messages
    """

    def __init__(self, content: Mapping[str, Any], where: str = "", problems: list[str] | None = None) -> None:
        self._content = content
        self._where = where
        self._taken: list[str] = []
        self.problems = [] if problems is None else problems

    def take(self, name: str, kind: type, default: Any = _REQUIRED) -> Any:
        """Return the value of a field of type ``kind``; ``default``, if given, when it is missing or null."""
        self._taken.append(name)
        value = self._content.get(name)
        if type(value) is kind:  # not isinstance: a boolean is not a number here
            return value
        if name not in self._content and default is _REQUIRED:
            self.problems.append(f"'{self._where}{name}' is missing. Add {_WORDS[kind]}.")
        elif value is not None or default is _REQUIRED:
            self.problems.append(f"'{self._where}{name}': expected {_WORDS[kind]}.")
        return default

    def end(self) -> None:
        """
        Raise the problems, if there are any.

        :raises MalformedRequestError: lists all problems, including fields that were not read
        """
        self.refuse_others()
        if self.problems:
            raise MalformedRequestError(*self.problems)

    def refuse_others(self) -> None:
        """Collect the fields that were not read: the names of the first ones, and the number of the others."""
        self.problems.extend(unknown_names(self._content, self._taken, "field", self._where))


def _operation(fields: _Fields, number: int, content: Any) -> AlterConfigOp | None:
    where = f"operations.{number}"
    if not isinstance(content, dict):
        fields.problems.append(f"'{where}': expected an object.")
        return None
    inner = _Fields(content, f"{where}.", fields.problems)
    op, name, value = inner.take("op", str, "SET"), inner.take("name", str), inner.take("value", str, None)
    for part, text in (("name", name), ("value", value)):
        if isinstance(text, str) and not is_unicode(text):
            of = f" of the key '{printable(name)}'" if isinstance(name, str) else ""
            fields.problems.append(
                f"'{where}.{part}'{of} contains half of a surrogate pair, which is not a character. Correct it."
            )
    if op not in OpType.__members__:
        fields.problems.append(f"'{where}.op' is not one of {', '.join(OpType.__members__)}.")
    inner.refuse_others()
    return AlterConfigOp(name, value, OpType[op]) if not fields.problems else None


LONGEST_BODY: Final = 4 * 1024 * 1024
"""The most bytes in a body. A change of the largest configuration that is stored fits, however it is escaped."""


@dataclass(frozen=True, slots=True)
class Asked:
    """
    A request for which the user has the permission.

    :param configurations: describes and alters on behalf of the user
    :param notes: the notes for the reader
    """

    resource: ConfigResource
    configurations: DeployedConfigurations
    notes: list[str] = field(default_factory=list)

    def answer(self, rows: Sequence[Row], about: str = "") -> Response:
        """Return the answer that contains ``rows``; ``about`` replaces the name of the resource."""
        content = {"resource": about or str(self.resource), "rows": rows, "notes": self.notes}
        return Response(as_json(content), 200, HEADERS, "application/json")


def _asked(request: Request, user: GetUserDep) -> Asked:
    notes: list[str] = []
    request.state.notes = notes  # an answer that refuses includes them too
    known = _parameters(request.scope["route"].dependant)
    refuse(MalformedRequestError, unknown_names(request.query_params, known, "parameter"))
    resource = _resource(request.path_params.get("dag_id"), request.path_params.get("task_id"))
    warn = reporting_once(notes.append)
    if settings.environment_enabled():
        warn("Overrides by environment variables of the workers are not shown: the server does not have them.")
    return Asked(resource, DeployedConfigurations(warn, _caller(request, user)), notes)


AskedDep = Annotated[Asked, Depends(_asked)]


def _parameters(dependant: Dependant) -> set[str]:
    """Return the names of the parameters that a route takes from the query, with those of its dependencies."""
    names = {parameter.alias for parameter in dependant.query_params}
    return names.union(*map(_parameters, dependant.dependencies))


def _caller(request: Request, user: Any) -> Caller:
    """
    Return the caller to work for.

    The files and the environment of the server hold secrets to which DAG authors have no access. An author must not be
    able to choose which of them are read, so none is.
    """

    def may_see(dag_ids: Collection[str]) -> Collection[str]:
        return get_auth_manager().get_authorized_dag_ids(user=user, method="GET") & set(dag_ids)

    return Caller(
        user.get_name(),
        {},
        without_files,
        may_see,
        may_see_runs=lambda: is_granted(read_runs, request, user),
        may_see_runs_of=lambda dag_ids: set(visible_runs(request, user, may_see(dag_ids))),
    )


def without_files(task: Any, name: str, warn: Warn) -> AuthoredJob | None:
    """Return the result of ``deployed_job``, without the files that the author of the task names."""
    job = deployed_job(task, name, warn)
    if job is None:
        return None
    if named := dict.fromkeys(map(field_of, job.files)):
        warn(
            f"{name}: its {' and '.join(named)} are not shown: the server does not open files that DAG authors name. "
            "Run airflow config-providers describe on a worker to see them."
        )
    return replace(job, files={})


def _resource(dag_id: str | None, task_id: str | None) -> ConfigResource:
    """
    Return the resource that the URL names.

    :raises UnknownResourceError: it is not the resource for which the permission was checked
    """
    if dag_id is None:
        return ConfigResource(ResourceType.DEFAULT)
    if not is_storable(task_id or ""):
        raise UnknownResourceError(f"DAG '{printable(dag_id)}' has no task '{printable(task_id or '')}'. {NOT_FOUND}")
    resource = ConfigResource.of_task(dag_id, task_id) if task_id else ConfigResource(ResourceType.DAG, dag_id)
    if (resource.dag_id, resource.task_id) != (dag_id, task_id or ""):
        raise _no_dag(dag_id)
    return resource


def refuse_unstorable_id(request: Request, user: GetUserDep) -> None:
    """
    Refuse the id of a DAG that no database can have, before Airflow searches its database for it.

    :param user: is not used; with it, FastAPI first makes sure that the user is signed in
    :raises UnknownResourceError: it is such an id
    """
    dag_id = request.path_params.get("dag_id", "")
    if not is_storable(dag_id):
        raise _no_dag(dag_id)


def _no_dag(dag_id: str) -> UnknownResourceError:
    return UnknownResourceError(f"There is no DAG '{printable(dag_id)}'. {NOT_FOUND}")


async def _checked_body(request: Request) -> Mapping[str, Any]:
    """
    Return the body of a request whose permissions were checked before.

    :raises HTTPException: the body is too long or compressed, or its type is not JSON
    :raises MalformedRequestError: it is not a JSON object, the request comes from a page of another site, or it has a
        condition in its headers
    """
    _refuse_other_sites(request)
    _refuse_ignored(request.headers)
    content = _parsed(await _read(request))
    if not isinstance(content, dict):
        raise MalformedRequestError("The body is not a JSON object, or contains a name twice. Correct it.")
    return content


BodyDep = Annotated[Mapping[str, Any], Depends(_checked_body)]


def _refuse_other_sites(request: Request) -> None:
    """Refuse requests that a page of another site can make a browser send, with the cookie of its user."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "The body must be JSON, with the Content-Type application/json")
    if not _is_of_this_site(request.headers):
        raise MalformedRequestError(
            "Changes from a page of another site are not accepted. If this is the page of Airflow, behind a proxy, set "
            "[api] base_url to the address that browsers use."
        )


def _refuse_ignored(headers: Mapping[str, str]) -> None:
    """Refuse headers that would be ignored although they change what the request means."""
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise HTTPException(415, "A body with a Content-Encoding is not read. Send it as it is, without the header")
    if found := [name for name in ("If-Match", "If-None-Match") if name in headers]:
        raise MalformedRequestError(
            f"{' and '.join(found)} would be ignored. Remove it; to change only what you saw, send its version as "
            f"'if_version' in the body."
        )


def _is_of_this_site(headers: Mapping[str, str]) -> bool:
    """Return whether a request is from a page of this server, or from no page."""
    if "sec-fetch-site" in headers:  # which browsers leave out over plain HTTP
        return headers["sec-fetch-site"] in {"none", "same-origin"}
    origin = headers.get("origin")
    if origin is None:
        return True
    asked = f"{origin.partition('://')[0]}://{headers.get('host', '')}"  # some proxies write the default port, too
    own = {_host_and_port(url) for url in (asked, str(conf.get("api", "base_url", fallback="")))}
    return _host_and_port(origin) in own - {""}


def _host_and_port(url: str) -> str:
    """Return the host of a URL with its port, without a default one; empty if there is no host, as in ``null``."""
    scheme, _, rest = url.strip().lower().partition("://")
    return rest.partition("/")[0].removesuffix(":443" if scheme == "https" else ":80")


async def _read(request: Request) -> bytes:
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > LONGEST_BODY:
            raise HTTPException(413, f"The body is longer than {LONGEST_BODY} bytes. Split it into several changes")
    return bytes(content)


def _parsed(content: bytes) -> Any:
    try:
        return json.loads(content, object_pairs_hook=_once_each)
    except (ValueError, RecursionError):  # the error quotes the body
        return None


def _once_each(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found
