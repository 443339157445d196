"""Stored dynamic configuration: a document for the deployment, and one for each DAG with its tasks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, TypeVar

from airflow_config_providers.core.document import loaded
from airflow_config_providers.core.resource import ConfigResource, ResourceType
from airflow_config_providers.core.text import is_unicode, octets, printable
from airflow_config_providers.exceptions import ConfigException

DEPLOYMENT: Final = ConfigResource(ResourceType.DEFAULT)

PREFIX: Final = "config_providers.dynamic"
"""The beginning of the names of documents and histories."""

FORMAT: Final = 1
"""The version of the format of documents and histories, which each of them has as ``format``."""

HISTORY: Final = ".history"
"""The part of a history's name that its document's name does not have."""

_WITH_LIST: Final = 2
"""The format of a deployment's document with a list, which an older version would not extend and so must not write."""

_OF_DAG: Final = f"{PREFIX}.dag."
_LONG: Final = f"{PREFIX}.long."
"""The beginning of the name of a document of a DAG whose id is too long for a name."""

_LONGEST_NAME: Final = 250
"""The most characters of the name of a variable in Airflow."""

_ENCRYPTED: Final = "gAAAAA"
"""The beginning of a string that Fernet has encrypted. Without a Fernet key, Airflow returns it as it is."""

_Parsed = TypeVar("_Parsed")


@dataclass(frozen=True, slots=True)
class Sealed:
    """
    A secret that ``PasswordEncoder`` has encrypted.

    :param text: the encrypted string
    :param more: members in the same object that only a newer version knows
    """

    text: str = field(repr=False)
    more: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


Value = str | Sealed


@dataclass(frozen=True, slots=True)
class StoredConfig:
    """
    The stored configuration of one resource.

    :param values: key -> string with its references, or a sealed secret
    :param version: the version of its last change; 0 if it was never changed
    :param refreshed: the version of the document that last asked to read the values of references again; 0 for none
    :param more: members that only a newer version knows; a change keeps them
    """

    values: Mapping[str, Value] = field(default_factory=dict, repr=False)
    version: int = 0
    more: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    refreshed: int = 0


@dataclass(frozen=True, slots=True)
class Document:
    """
    The configurations that are read and written together.

    :param version: the number of changes of the document
    :param own: the configuration of the deployment or of the DAG
    :param tasks: task id -> the configuration of the task
    :param beside: the version of the deployment's document that was last written together with this one; a reader
        with an older version of that must read it again
    :param listed: in the deployment's document, ``listed_as`` of the names of all documents of DAGs, and possibly of
        others; None if they are unknown, as with a store that cannot list its names
    :param more: members that only a newer version knows; a change keeps them
    """

    version: int = 0
    own: StoredConfig = field(default_factory=StoredConfig)
    tasks: Mapping[str, StoredConfig] = field(default_factory=dict)
    beside: int = 0
    listed: frozenset[str] | None = None
    more: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def lists(self, name: str) -> bool:
        """
        Return whether a document called ``name`` can exist, according to this document of the deployment.

        The deployment's document is written together with the first document of a DAG: without it, there is no other.
        """
        return self is not EMPTY and (self.listed is None or listed_as(name) in self.listed)

    def config(self, resource: ConfigResource) -> StoredConfig:
        """Return the configuration of ``resource``, which belongs to this document."""
        return self.of(resource.task_id)

    def of(self, task_id: str) -> StoredConfig:
        """Return the configuration of a task; of the deployment or of the DAG if ``task_id`` is empty."""
        return self.tasks.get(task_id, StoredConfig()) if task_id else self.own

    def at(self, version: int, versions: Mapping[str, int]) -> Document:
        """
        Return the document with other versions, and the same values.

        :param version: that of the document
        :param versions: argument of ``of`` -> the version of what it returns, if that is another one
        """
        found = {task_id: replace(self.of(task_id), version=one) for task_id, one in versions.items()}
        own = found.pop("", self.own)
        return replace(self, version=version, own=own, tasks={**self.tasks, **found})

    def changed(
        self, changes: Mapping[ConfigResource, Mapping[str, Value]], refreshed: Iterable[ConfigResource] = ()
    ) -> Document:
        """Return the next version: the resources in ``changes`` have these values, and others are refreshed."""
        version = self.version + 1
        made = {
            resource: replace(self.config(resource), values=dict(values), version=version)
            for resource, values in changes.items()
        }
        made |= {resource: replace(self.config(resource), refreshed=version) for resource in refreshed}
        own = next((config for resource, config in made.items() if not resource.task_id), self.own)
        tasks = {**self.tasks, **{resource.task_id: config for resource, config in made.items() if resource.task_id}}
        return replace(self, version=version, own=own, tasks=tasks)


EMPTY: Final = Document()


def name_of(resource: ConfigResource, *, kind: str = "") -> str:
    """Return the name of the document that contains ``resource``; ``kind`` is added to the prefix."""
    prefix = f"{PREFIX}{kind}"
    if resource.type is ResourceType.DEFAULT:
        return f"{prefix}.default"
    name = f"{prefix}.dag.{resource.dag_id}"
    if len(name) <= _LONGEST_NAME and is_unicode(name):
        return name
    return f"{prefix}.long.{hashlib.sha256(octets(resource.dag_id)).hexdigest()}"


def documents(names: Iterable[str]) -> list[str]:
    """Return those of the variables' ``names`` that are documents, in order."""
    return sorted(name for name in names if owner_of(name) or name.startswith(_LONG))


def owner_of(name: str) -> ConfigResource | None:
    """Return the deployment or the DAG whose document has this name; None if the name does not say it, as a hash."""
    if name == name_of(DEPLOYMENT):
        return DEPLOYMENT
    return ConfigResource(ResourceType.DAG, name.removeprefix(_OF_DAG)) if name.startswith(_OF_DAG) else None


def listed_as(name: str) -> str:
    """Return the form of a document's name in ``listed``. If two names have the same form, a task reads both."""
    return hashlib.sha256(octets(name)).hexdigest()[:8]


def history_name(resource: ConfigResource) -> str:
    """Return the name of the history of the document that contains ``resource``."""
    return name_of(resource, kind=HISTORY)


def write(document: Document) -> str:
    """Return the text of a document."""
    tasks = {task: _written(config) for task, config in document.tasks.items()}
    parts = {"version": document.version, "beside": document.beside, "own": _written(document.own), "tasks": tasks}
    listed: dict[str, Any] = {"format": FORMAT}
    if document.listed is not None:
        listed = {"format": _WITH_LIST, "listed": sorted(document.listed)}
    return json.dumps({**document.more, **parts, **listed}, ensure_ascii=False, sort_keys=True)


def read(text: str | None, *, name: str) -> Document:
    """
    Return the document in ``text``; an empty one for None.

    :param name: the name under which it is stored
    :raises ConfigException: it cannot be read; it is neither used nor overwritten
    """
    if text is None:
        return EMPTY
    newest = _WITH_LIST if name == name_of(DEPLOYMENT) else FORMAT
    return read_json(text, _document, name=name, what="dynamic configuration", newest=newest)


def written_value(value: Value) -> Any:
    """Return the form of ``value`` in JSON."""
    return {**value.more, "sealed": value.text} if isinstance(value, Sealed) else value


def value_of(found: Any) -> Value:
    """
    Return the value that ``written_value`` has written as ``found``.

    :raises ValueError: ``found`` has another form
    :raises KeyError: ``found`` has another form, too
    """
    if isinstance(found, str):
        return found
    if not isinstance(found, dict) or not isinstance(found["sealed"], str):
        raise ValueError
    return Sealed(found["sealed"], unknown(found, "sealed"))


def read_json(
    text: str, parse: Callable[[Mapping[str, Any]], _Parsed], *, name: str, what: str, newest: int = FORMAT
) -> _Parsed:
    """
    Return the result of ``parse`` for the JSON object in ``text``.

    :param name: the name under which it is stored
    :param what: what it is, for messages
    :param newest: the newest format that ``parse`` supports
    :raises ConfigException: it cannot be read; it is neither used nor overwritten
    """
    found: Any = None
    try:
        found = loaded(text)
        if FORMAT <= _format(found) <= newest:
            return parse(found)
    except (ArithmeticError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise ConfigException(
        f"The {what} in the variable '{printable(name)}' cannot be read. {_reason(text, found, newest)} It is neither "
        f"used nor changed."
    )


def unknown(found: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """Return the members of ``found`` that are not ``known``, which are written back unchanged."""
    return {name: value for name, value in found.items() if name not in known}


def _written(config: StoredConfig) -> dict[str, Any]:
    values = {key: written_value(value) for key, value in config.values.items()}
    refreshed = {"refreshed": config.refreshed} if config.refreshed else {}
    return {**config.more, "version": config.version, "values": values, **refreshed}


def _document(found: Mapping[str, Any]) -> Document:
    tasks = {str(task): _config(config) for task, config in found["tasks"].items()}
    return Document(
        _number(found["version"]),
        _config(found["own"]),
        tasks=MappingProxyType(tasks),
        beside=_number(found["beside"]),
        listed=frozenset(map(_text, found["listed"])) if found["format"] == _WITH_LIST else None,
        more=unknown(found, "format", "version", "own", "tasks", "beside", "listed"),
    )


def _config(found: Mapping[str, Any]) -> StoredConfig:
    values = {str(key): value_of(value) for key, value in found["values"].items()}
    more = unknown(found, "version", "values", "refreshed")
    return StoredConfig(MappingProxyType(values), _number(found["version"]), more, _number(found.get("refreshed", 0)))


def _text(found: Any) -> str:
    if not isinstance(found, str):
        raise ValueError
    return found


def _number(found: Any) -> int:
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise ValueError
    return found


def _reason(text: str, found: Any, newest: int) -> str:
    if text.startswith(_ENCRYPTED):
        return "It is encrypted, but Airflow has no Fernet key here. Set fernet_key in [core] to its key."
    if (later := _format(found)) > newest:
        return f"It has format {later}, but this version supports {newest}: upgrade airflow-config-providers here."
    return "A later version or another program wrote it. Upgrade airflow-config-providers here, or restore it."


def _format(found: Any) -> int:
    """Return the number of the format of ``found``; 0 if it has none."""
    number = found.get("format") if isinstance(found, dict) else None
    return number if isinstance(number, int) else 0
