"""Rows that show records: what a try had, and what waits for the next submit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from airflow_config_providers.core.definition.config_def import ConfigDef
from airflow_config_providers.core.layers import ConfigSource
from airflow_config_providers.core.reload import RELOAD_ACTION_KEYS
from airflow_config_providers.core.templates import is_template
from airflow_config_providers.core.text import nearest, one_line, printable
from airflow_config_providers.core.variable import variables
from airflow_config_providers.deployment.rows import (
    BELOW_FILES,
    HINTS,
    Hidden,
    KeySelection,
    Row,
    is_secret,
    key_columns,
    names,
    shown,
)
from airflow_config_providers.dynamic.inheritance import SOURCES
from airflow_config_providers.exceptions import ConfigException, refuse
from airflow_config_providers.job.records.record import RecordedValue, TryRecord, shown_value, unversioned
from airflow_config_providers.spark.catalogue import spark_definition

_OF_ONE_RUN: Final = frozenset({ConfigSource.RUN_CONFIG.name, ConfigSource.ENVIRONMENT_CONFIG.name})
"""The sources that only a run has."""

_READ_AGAIN: Final = frozenset(source.name for source in (ConfigSource.STATIC_FILE_CONFIG, *SOURCES.values()))
"""The sources that a task reads again while its job runs."""

_SEEN_NOW: Final = frozenset(source.name for source in (ConfigSource.DAG_CONFIG, *SOURCES.values()))
"""The sources that a description of a task shows completely; files can be only on the workers."""


def of_record(record: TryRecord, selection: KeySelection) -> list[Row]:
    """
    Return a row for each selected key of a record, with its synonyms.

    :raises ConfigException: a selected key is not in the record
    """
    unknown = [key for key in selection.keys if key not in record.configs]
    hints = {key: nearest(key, record.configs) for key in unknown[:HINTS]}
    way_out = "Correct the name, or ask for all keys."
    missing = (f"The job had no key '{printable(key)}'{hints.get(key) or '.'} {way_out}" for key in unknown)
    refuse(ConfigException, missing)
    version = record.versions.get("spark")
    definition = spark_definition(version)
    found = [
        _row(record, key, _hidden(key, record.configs[key]), definition)
        for key in sorted(selection.keys or record.configs)[: selection.first]
    ]
    return [{**row, **key_columns(row["key"], row["value"], version)} for row in found] if selection.notes else found


def about(record: TryRecord) -> Iterator[str]:
    """Yield sentences about the try for the reader."""
    one = record.task
    job = f" The id of its job is {printable(record.job)}." if record.job else ""
    instance = f" of instance {one.map_index}" if one.map_index >= 0 else ""
    begun = f", begun at {printable(record.at)}" if record.at else ""
    yield f"Try {one.try_number}{instance} in run '{printable(one.run_id)}'{begun}.{job}"
    if record.versions:
        named = (f"{printable(name)} {printable(version)}" for name, version in record.versions.items())
        yield f"Versions: {', '.join(named)}."
    if record.restarts:
        often = "once" if record.restarts == 1 else f"{record.restarts} times"
        yield f"The job was restarted {often}, because its secrets changed. This is what it had last."
    if record.policies:
        yield f"Policies that allowed it: {', '.join(map(printable, record.policies))}."
    yield from (f"The try was refused: {one_line(problem)}" for problem in record.problems)
    if record.problems and not record.configs:
        yield "It was refused before its layers were settled, so its configuration is not known."
    yield from map(one_line, record.notes)


def with_applied(
    rows: Sequence[Row], record: TryRecord, has_unread_file: Callable[[], object] = bool, *, dag_file: str = ""
) -> list[Row]:
    """
    Return ``rows`` of what would settle now, with what the job of ``record`` had, and whether it differs.

    :param has_unread_file: returns whether a layer file of the job is not in ``rows``; called if that matters
    :param dag_file: the path of the DAG file that ``rows`` come from; empty if it is not known
    """
    folder = record.bundle_folder_of(dag_file)
    placed = [{**row, **_folder(row, folder)} for row in rows]
    found: list[Row] = [{**row, **_applied(row, record)} for row in placed]
    if not any(map(_can_be_of_file, found)) or not has_unread_file():
        return found
    return [{**row, "pending": None} if _can_be_of_file(row) else row for row in found]


def _can_be_of_file(row: Row) -> bool:
    return bool(row["pending"]) and row["source"] in BELOW_FILES


def no_longer_set(rows: Iterable[Row], record: TryRecord, *, shows_dag: bool) -> list[str]:
    """
    Return the keys that the job of ``record`` had, and that the next submit would not set.

    :param shows_dag: whether ``rows`` have everything that the DAG sets
    """
    now = {row["key"] for row in rows}
    seen = _SEEN_NOW if shows_dag else _SEEN_NOW - {ConfigSource.DAG_CONFIG.name}
    return [key for key, of in record.configs.items() if key not in now and of[0].source in seen]


def _row(record: TryRecord, key: str, of: Sequence[RecordedValue], definition: ConfigDef) -> Row:
    defined = definition.config_keys.get(key)
    alterable_at = definition.alterable_at(key)
    row: Row = {
        "key": key,
        "value": shown(of[0].value),
        "source": of[0].source,
        "origin": of[0].origin,
        "type": defined.type_name or defined.type.name if defined else None,
        "sensitive": definition.is_sensitive(key) or of[0].value is None,
        "read_only": not alterable_at,
        "alterable_at": list(names(alterable_at)),
        "hashes": _hashes(record, of[0]),
        "synonyms": [
            {"key": one.name or key, "value": shown(one.value), "source": one.source, "origin": one.origin}
            for one in of
        ],
    }
    return {**row, **_folder(row, record.bundle_folder)}


def _folder(row: Row, folder: str) -> Row:
    """Return a column with the folder of the version of the DAG bundle, if the value of ``row`` is in it."""
    return {"bundle_folder": folder} if folder and folder in str(row["value"]) else {}


def _hashes(record: TryRecord, one: RecordedValue) -> Mapping[str, str | None]:
    """Return reference -> name of the key and hash: only those of the same key can be compared."""
    found = (str(variable) for variable in variables(one.value or ""))
    hashes = {reference: record.references.get(reference) for reference in found}
    return {reference: hash_ and f"{record.key_id}:{hash_}" for reference, hash_ in hashes.items()}


def _hidden(key: str, of: Sequence[RecordedValue]) -> list[RecordedValue]:
    """Return ``of`` without plaintext secrets: an older version knew fewer of them, and a task can write a record."""
    secret = [one.value is not None and is_secret(one.name or key, one.value) for one in of]
    return [replace(one, value=None) if hidden else one for one, hidden in zip(of, secret, strict=True)]


def _applied(row: Row, record: TryRecord) -> Row:
    had = _hidden(row["key"], record.configs.get(row["key"], ())[:1])
    value, source = (shown(had[0].value), had[0].source) if had else (None, None)
    pending = _is_pending(row, had, record.bundle_folder)
    if pending and row["key"] in RELOAD_ACTION_KEYS and not _READ_AGAIN.isdisjoint({row["source"], source}):
        pending = None  # only a job that was submitted with restart reads it at once
    return {"applied": value, "applied_source": source, "pending": pending}


def _is_pending(row: Row, had: Sequence[RecordedValue], folder: str) -> bool | None:
    """
    Return whether a key waits for the next submit; None if that cannot be known before the next run.

    :param folder: of the version of the DAG bundle in which ``had`` was settled
    """
    now = row["value"]
    if not had:
        return bool(row["source"] != ConfigSource.DEFAULT_CONFIG.name)
    before = had[0].value
    if isinstance(now, Hidden) or before is None:
        return None if isinstance(now, Hidden) and before is None else True
    if unversioned(shown_value(now), row.get("bundle_folder", "")) == unversioned(before, folder):
        return False
    is_of_run = had[0].source in _OF_ONE_RUN or "***" in before or is_template(now)
    return None if is_of_run else True
