"""What is stored of a dynamic configuration: one document for the deployment, and one for each DAG with its tasks."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from airflow_config_providers.core.alter import ConfigResource, ResourceType
from airflow_config_providers.core.text import is_unicode, octets
from airflow_config_providers.dynamic.stored_json import FORMAT, read_json, unknown, variable

HISTORY: Final = ".history"
"""What the name of a document's history has more than that of the document."""

_WITH_LIST: Final = 2
"""The format of the deployment's document if it has a list: an older version would not add what it writes to that."""

_PREFIX: Final = "config_providers.dynamic"
_LONGEST_NAME: Final = 250


@dataclass(frozen=True, slots=True)
class Sealed:
    """
    A secret that was written out, as ``PasswordEncoder`` wrote it.

    :param more: members beside it that only a newer version knows
    """

    text: str = field(repr=False)
    more: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


Value = str | Sealed


@dataclass(frozen=True, slots=True)
class StoredConfig:
    """
    What one resource has.

    :param values: key -> text with its references, or a secret that is sealed
    :param version: that of the change that made it so; 0 where nothing was ever changed
    :param more: members that only a newer version knows; a change keeps them
    """

    values: Mapping[str, Value] = field(default_factory=dict, repr=False)
    version: int = 0
    more: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Document:
    """
    The configurations that are read and written together.

    :param version: counts the changes of the document
    :param own: that of the deployment or of the DAG
    :param tasks: task id -> that of the task
    :param beside: version of the deployment's document that was last written together with this one; who read an
        older one of that has to read it again
    :param listed: in the deployment's document ``listed_as`` of the names of all documents of DAGs, and perhaps of
        others; None where they are not known, as of a store that cannot list what it keeps
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
        Return whether there may be a document called ``name``, as far as this one, the deployment's, knows.

        With the first document of a DAG the deployment's is written: where that is not there, no other is.
        """
        return self is not EMPTY and (self.listed is None or listed_as(name) in self.listed)

    def config(self, resource: ConfigResource) -> StoredConfig:
        """Give what ``resource`` has, which is one of this document's."""
        return self.tasks.get(resource.task_id, StoredConfig()) if resource.task_id else self.own

    def changed(self, changes: Mapping[ConfigResource, Mapping[str, Value]]) -> Document:
        """Give the next version, in which each resource has what ``changes`` says."""
        version = self.version + 1
        made = {
            resource: replace(self.config(resource), values=dict(values), version=version)
            for resource, values in changes.items()
        }
        own = next((config for resource, config in made.items() if not resource.task_id), self.own)
        tasks = {**self.tasks, **{resource.task_id: config for resource, config in made.items() if resource.task_id}}
        return replace(self, version=version, own=own, tasks=tasks)


EMPTY: Final = Document()


def name_of(resource: ConfigResource, *, kind: str = "") -> str:
    """Give the name under which the document that holds ``resource`` is stored; ``kind`` is a suffix of the prefix."""
    prefix = f"{_PREFIX}{kind}"
    if resource.type is ResourceType.DEFAULT:
        return f"{prefix}.default"
    name = f"{prefix}.dag.{resource.dag_id}"
    if len(name) <= _LONGEST_NAME and is_unicode(name):
        return name
    return f"{prefix}.long.{hashlib.sha256(octets(resource.dag_id)).hexdigest()}"


def listed_as(name: str) -> str:
    """Return what stands for a document's name in ``listed``; of two that look alike, a task reads both."""
    return hashlib.sha256(octets(name)).hexdigest()[:8]


def history_name(resource: ConfigResource) -> str:
    """Give the name under which the history of the document is stored that holds ``resource``."""
    return name_of(resource, kind=HISTORY)


def write(document: Document) -> str:
    """Give the text of a document."""
    tasks = {task: _written(config) for task, config in document.tasks.items()}
    parts = {"version": document.version, "beside": document.beside, "own": _written(document.own), "tasks": tasks}
    listed: dict[str, Any] = {"format": FORMAT}
    if document.listed is not None:
        listed = {"format": _WITH_LIST, "listed": sorted(document.listed)}
    return json.dumps({**document.more, **parts, **listed}, ensure_ascii=False, sort_keys=True)


def read(text: str | None, *, name: str) -> Document:
    """
    Read a document; what is not there is empty.

    :param name: under which it is stored
    :raises ConfigException: it cannot be read; it is neither used nor written over
    """
    if text is None:
        return EMPTY
    newest = _WITH_LIST if name == f"{_PREFIX}.default" else FORMAT
    return read_json(text, _read, where=variable(name, "dynamic configuration"), newest=newest)


def written_value(value: Value) -> Any:
    """Give what stands for ``value`` in JSON."""
    return {**value.more, "sealed": value.text} if isinstance(value, Sealed) else value


def value_of(found: Any) -> Value:
    """
    Read what ``written_value`` gave.

    :raises ValueError: it is something else
    :raises KeyError: so is this
    """
    if isinstance(found, str):
        return found
    if not isinstance(found, dict) or not isinstance(found["sealed"], str):
        raise ValueError
    return Sealed(found["sealed"], unknown(found, "sealed"))


def _written(config: StoredConfig) -> dict[str, Any]:
    values = {key: written_value(value) for key, value in config.values.items()}
    return {**config.more, "version": config.version, "values": values}


def _read(found: Mapping[str, Any]) -> Document:
    tasks = {str(task): _config(config) for task, config in found["tasks"].items()}
    return Document(
        _number(found["version"]),
        _config(found["own"]),
        MappingProxyType(tasks),
        _number(found["beside"]),
        frozenset(map(_text, found["listed"])) if found["format"] == _WITH_LIST else None,
        unknown(found, "format", "version", "own", "tasks", "beside", "listed"),
    )


def _config(found: Mapping[str, Any]) -> StoredConfig:
    values = {str(key): value_of(value) for key, value in found["values"].items()}
    return StoredConfig(MappingProxyType(values), _number(found["version"]), unknown(found, "version", "values"))


def _text(found: Any) -> str:
    if not isinstance(found, str):
        raise ValueError
    return found


def _number(found: Any) -> int:
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        raise ValueError
    return found
