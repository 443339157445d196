"""
Rows of plain values that show configuration, the same in a command and in an answer of the server.

Their columns also say what Spark knows of a key, such as its unit and its successor.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.definition.config_type import ConfigType, parse_type
from airflow_config_providers.core.java_text import SIZES, TIMES, read_quantity
from airflow_config_providers.core.layers import ConfigEntry, ConfigSource, ConfigSynonym, LayeredConfig
from airflow_config_providers.core.policy import keys_in
from airflow_config_providers.core.resource import ConfigResource, ResourceType
from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.core.templates import is_known_only_in_run, is_template
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.core.variable import scan
from airflow_config_providers.dynamic.alterer import AlterConfigResult
from airflow_config_providers.dynamic.document import Value
from airflow_config_providers.dynamic.history import Change
from airflow_config_providers.exceptions import ConfigException, refuse
from airflow_config_providers.spark.catalogue import spark_definition
from airflow_config_providers.spark.key_notes import key_notes
from airflow_config_providers.spark.substitutions import is_substituted_by_spark

Row = Mapping[str, Any]

DETAILS: Final = (
    "alterable_at",
    "applied_source",
    "bundle_folder",
    "hashes",
    "or_from",
    "synonyms",
    "warnings",
    "winner",
)
"""Columns of a description or a change that only programs get."""

HINTS: Final = 10
"""The number of unknown keys for which a message suggests the nearest name; the search goes through all keys."""


class Hidden:
    """A value that is not shown: ``[hidden]`` for people, null for programs."""

    def __str__(self) -> str:
        return HIDDEN


SECRET: Final = Hidden()


@dataclass(frozen=True, slots=True)
class KeySelection:
    """
    The keys of a resource that a user selects.

    :param keys: only these keys, even those that have only their default; empty for all keys
    :param defaults: whether to include keys that have only their default
    :param notes: whether to include what Spark says of each key
    :param first: only this many of these keys, in the order of their names; None for no limit
    """

    keys: Sequence[str] = ()
    defaults: bool = False
    notes: bool = False
    first: int | None = None

    @property
    def includes_defaults(self) -> bool:
        """Whether keys that have only their default are among the selected ones."""
        return self.defaults or bool(self.keys)

    def of(self, entries: Mapping[str, ConfigEntry], others: Container[str] = ()) -> list[ConfigEntry]:
        """
        Return the selected entries, in the order of their keys.

        :param entries: all entries; with or without those of defaults, as ``includes_defaults`` says
        :param others: keys that exist elsewhere, so that it is no mistake to select them
        :raises ConfigException: a selected key does not exist
        """
        unknown = [key for key in self.keys if key not in entries and key not in others]
        hints = {key: nearest(key, entries) for key in unknown[:HINTS]}
        missing = (f"There is no key '{printable(key)}'{hints.get(key) or '.'} Correct the name." for key in unknown)
        refuse(ConfigException, missing)
        selected = (key for key in self.keys if key in entries) if self.keys else entries
        return [entries[key] for key in sorted(selected)[: self.first]]  # each is made on request


def described(entries: Sequence[ConfigEntry]) -> list[Row]:
    """Return a row for each entry, with its synonyms."""
    return [
        {
            "key": entry.name,
            "value": shown(entry.value),
            "source": entry.source.name,
            "origin": entry.origin,
            "type": entry.type,
            "sensitive": entry.is_sensitive or entry.value is None,
            "read_only": entry.is_read_only,
            "alterable_at": list(names(entry.alterable_at)),
            "synonyms": [_synonym(synonym) for synonym in entry.synonyms],
        }
        for entry in entries
    ]


def misfit_reasons(key: str, value: Any) -> Sequence[str]:
    """Return why a run that gets a value would fail, as a row shows it; nothing if only a run knows the value."""
    definition = spark_definition()
    if not isinstance(value, str) or key not in definition.names() or scan(value) or is_template(value):
        return ()
    return definition.misfit_reasons(key, value)


def changed(done: Mapping[ConfigResource, AlterConfigResult]) -> list[Row]:
    """Return a row for each changed key: what applies now, and what policies only warn of."""
    return [
        {
            "resource": str(resource),
            "key": key,
            "value": None if entry is None else shown(entry.value),
            "source": None if entry is None else entry.source.name,
            "origin": _origin(resource, entry),
            "warnings": warnings[key],
        }
        for resource, result in done.items()
        for warnings in [_warnings(result)]
        for key, entry in result.entries.items()
    ]


def _warnings(result: AlterConfigResult) -> dict[str, list[str]]:
    """Return changed key -> the warnings that name it, and those that name no changed key."""
    named = {text: keys_in(result.reasons.get(text, ""), result.entries) for text in result.warnings}
    return {key: [text for text, keys in named.items() if not keys or key in keys] for key in result.entries}


def _origin(resource: ConfigResource, entry: ConfigEntry | None) -> str:
    """Return where a value was written, if anywhere, and that a task can have another one that its author wrote."""
    if entry is None:
        return "not set anywhere" if resource.task_id else "not set here; a task can set it"
    is_beaten_by_tasks = not resource.task_id and entry.source < ConfigSource.DAG_CONFIG
    return f"{entry.origin}; a task can set it" if is_beaten_by_tasks else entry.origin


def past(changes: Sequence[Change]) -> list[Row]:
    """Return a row for each key of each change."""
    return [row for change in changes for row in _keys(change)]


def file_of(value: Row) -> str:
    """Return the path of the file in which a value was written, as its layer has it; empty if it was in none."""
    is_of_file = value["source"] == ConfigSource.STATIC_FILE_CONFIG.name
    return str(value["origin"]).rpartition(":")[0] if is_of_file else ""


def is_secret(key: str, text: str) -> bool:
    """Return whether ``text`` is a secret under ``key``, which must not be shown."""
    return _without_layers().is_secret(key, text)


@cache
def _without_layers() -> LayeredConfig:
    return LayeredConfig([], spark_definition())


@cache
def names(kinds: tuple[ResourceType, ...]) -> tuple[str, ...]:
    """Return the names of ``kinds``. There are few such tuples, and thousands of rows have one."""
    return tuple(kind.name for kind in kinds)


def as_json(rows: object) -> str:
    """Return rows, or an object that holds rows, as JSON; a hidden value becomes null."""
    return json.dumps(rows, default=_null)


def of_json(row: Row) -> Row:
    """Return a row as it was before ``as_json``: a value that is null is hidden if the row has a source of it."""
    found = {name: [of_json(one) for one in value] if name == "synonyms" else value for name, value in row.items()}
    sources = {"value": found.get("source"), "applied": found.get("applied_source")}
    hidden = (name for name, source in sources.items() if source is not None and found.get(name, "") is None)
    return {**found, **dict.fromkeys(hidden, SECRET)}


def _null(value: object) -> None:
    if not isinstance(value, Hidden):
        raise TypeError


def _synonym(synonym: ConfigSynonym) -> Row:
    return {"key": synonym.name, "value": shown(synonym.value), "source": synonym.source.name, "origin": synonym.origin}


def shown(value: str | None) -> Any:
    """Return what a row has for ``value``; None is a secret."""
    return SECRET if value is None else value


def _keys(change: Change) -> Iterator[Row]:
    for key, before in change.was.items():
        yield {
            "version": change.version,
            "at": change.at,
            "by": change.by,
            "event": change.event,
            "restored": change.restored,
            "key": key,
            "was": _past(key, before),
            "is": _past(key, change.became.get(key)),
        }


def _past(key: str, value: Value | None) -> str | None:
    """Return a value to show. None means that there was no value, so a secret is ``[hidden]`` here."""
    if value is None:
        return None
    return HIDDEN if not isinstance(value, str) or is_secret(key, value) else value


KEY_COLUMNS: Final = (
    "typed",
    "default",
    "unit",
    "allowed_values",
    "documentation",
    "since",
    "deprecated",
    "removed",
    "successor",
)
"""The columns of ``key_columns``; only programs get them."""

_PER_MILLISECOND: Final = 1000
"""Microseconds."""


def key_columns(key: str, value: Any, version: str | None = None) -> Row:
    """
    Return what Spark ``version`` says of ``key``, and ``value`` as a value of its type.

    :param version: such as ``3.5.8``; None for the newest in the catalogue
    """
    definition, notes = spark_definition(version), key_notes(key, version)
    return {
        "typed": typed(key, value, definition, unit=notes.unit) if isinstance(value, str) else None,
        "default": definition.default_texts().get(key),
        "unit": notes.unit,
        "allowed_values": list(notes.allowed_values),
        "documentation": " ".join(notes.documentation.split()),
        "since": notes.since,
        "deprecated": notes.deprecated,
        "removed": notes.removed,
        "successor": notes.successor,
    }


def typed(key: str, text: str, definition: ConfigDef, *, unit: str = "") -> Any:
    """
    Return ``text`` as a boolean, a number, a list or a string; a size in bytes, a duration in milliseconds.

    :param unit: the unit of a number without one
    :return: None if the type is unknown, the text does not fit it, or something in it is only known in a run
    """
    defined = definition.config_keys.get(key)
    if defined is None or scan(text) or is_substituted_by_spark(text) or is_template(text):
        return None
    if defined.type_name == "SIZE":
        return read_quantity(text, SIZES, default_unit=unit.lower())
    if defined.type_name == "DURATION":
        return _milliseconds(read_quantity(text, TIMES, default_unit=unit))
    return _parsed(key, text, defined.type)


def _milliseconds(microseconds: int | None) -> float | None:
    if microseconds is None or microseconds % _PER_MILLISECOND:
        return None if microseconds is None else microseconds / _PER_MILLISECOND
    return microseconds // _PER_MILLISECOND


def _parsed(key: str, text: str, kind: ConfigType) -> Any:
    try:
        found = parse_type(key, text, kind)
    except ConfigException:
        return None
    return None if isinstance(found, float) and not math.isfinite(found) else found  # JSON has no such numbers


BELOW_FILES: Final = frozenset({ConfigSource.STATIC_FILE_CONFIG.name, ConfigSource.DEFAULT_CONFIG.name})
"""The sources of values that another file can beat."""


NOT_READ_HERE: Final = "not read here"
"""What is known of a key that a file can have, if the server does not read it."""


def with_chosen_files(rows: Sequence[Row], files: Callable[[], Sequence[str]]) -> list[Row]:
    """
    Return ``rows`` with the column ``or_from``: the files that only a run chooses and that would beat the value.

    :param files: returns the paths of the files that are layers, strongest last; called if a file could beat a value
    """
    paths = files() if any(row["source"] in BELOW_FILES for row in rows) else ()
    return [{**row, "or_from": files_that_beat(row, paths)} for row in rows]


def files_that_beat(value: Row, paths: Sequence[str]) -> list[str]:
    """
    Return the files that only a run chooses and that would beat a value.

    :param value: a row with ``source`` and ``origin``
    :param paths: the paths of the files that are layers, strongest last
    """
    if value["source"] not in BELOW_FILES:
        return []
    after = paths.index(file) + 1 if (file := file_of(value)) in paths else 0
    return list(filter(is_known_only_in_run, paths[after:]))
