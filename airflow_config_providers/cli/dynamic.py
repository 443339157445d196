"""The commands that describe and alter dynamic configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from airflow_config_providers.cli import arguments
from airflow_config_providers.cli.deployment import admin, altering
from airflow_config_providers.cli.failing import Notes, told
from airflow_config_providers.cli.output import SECRET, Row, is_for_people, show
from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.core.data import HIDDEN
from airflow_config_providers.core.layers import ConfigEntry, ConfigSource, ConfigSynonym, LayeredConfig
from airflow_config_providers.core.text import nearest, printable
from airflow_config_providers.dynamic.admin import AlterConfigResult
from airflow_config_providers.dynamic.document import Value
from airflow_config_providers.dynamic.history import Change
from airflow_config_providers.exceptions import ConfigException
from airflow_config_providers.spark.catalogue import spark_definition


@told
def describe(args: Any) -> None:
    """Show what a resource is configured with."""
    resource = arguments.resource(args)
    entries = admin(Notes()).describe_configs([resource], include_synonyms=True)[resource]
    chosen = _chosen(entries, args)
    rows = [_row(entry) for entry in chosen]
    if is_for_people(args.output):
        rows = _synonyms(chosen) if args.synonyms else rows
    else:
        full = [{"documentation": entry.documentation, "synonyms": _synonyms([entry])} for entry in chosen]
        rows = [{**row, **more} for row, more in zip(rows, full, strict=True)]
    show(rows, args.output, nothing=f"Nothing is configured for {resource}.")


@told
def alter(args: Any) -> None:
    """Change a resource, and show what counts since."""
    resource = arguments.resource(args)
    if_version = {} if args.if_version is None else {resource: args.if_version}
    changes, notes = {resource: arguments.operations(args)}, Notes()
    for operation in arguments.visible(args):
        if _is_secret(operation.name, operation.value or ""):
            notes(f"{printable(operation.name)} is a secret, and other users can read a command line: use a file.")
    with altering(notes) as one:
        done = one.incremental_alter_configs(changes, args.validate_only, if_version=if_version)
    show(_results(done), args.output, nothing="Nothing changes.")


@told
def history(args: Any) -> None:
    """List the changes of a resource."""
    resource = arguments.resource(args)
    rows = [row for change in admin(Notes()).history(resource) for row in _changes(change)]
    show(rows, args.output, nothing=f"Nothing was ever changed for {resource}.")


@told
def rollback(args: Any) -> None:
    """Go back, and show what counts since."""
    resource = arguments.resource(args)
    with altering(Notes()) as one:
        done = one.rollback(resource, args.to_version, validate_only=args.validate_only)
    show(_results({resource: done}), args.output, nothing="Nothing changes.")


def _chosen(entries: Mapping[str, ConfigEntry], args: Any) -> list[ConfigEntry]:
    if unknown := [key for key in args.key or () if key not in entries]:
        raise ConfigException(
            *(f"There is no key '{printable(key)}'{nearest(key, entries) or '.'} Correct the name." for key in unknown)
        )
    found = [entries[key] for key in sorted(args.key or entries)]
    return found if args.key or args.all else [entry for entry in found if _is_set(entry)]


def _is_set(entry: ConfigEntry) -> bool:
    return entry.source is not ConfigSource.DEFAULT_CONFIG


def _row(entry: ConfigEntry) -> Row:
    return {
        "key": entry.name,
        "value": _shown(entry),
        "source": entry.source.name,
        "origin": entry.origin,
        "type": entry.type,
        "sensitive": entry.is_sensitive,
        "read_only": entry.is_read_only,
    }


def _synonyms(entries: Sequence[ConfigEntry]) -> list[Row]:
    return [
        {"key": entry.name, "value": _shown(synonym), "source": synonym.source.name, "origin": synonym.origin}
        for entry in entries
        for synonym in entry.synonyms
    ]


def _shown(of: ConfigEntry | ConfigSynonym) -> Any:
    return SECRET if of.value is None else of.value


def _results(done: Mapping[ConfigResource, AlterConfigResult]) -> list[Row]:
    return [
        {
            "resource": str(resource),
            "key": key,
            "value": None if entry is None else _shown(entry),
            "source": None if entry is None else entry.source.name,
            "origin": "nothing sets it" if entry is None else entry.origin,
        }
        for resource, result in done.items()
        for key, entry in result.entries.items()
    ]


def _changes(change: Change) -> Iterator[Row]:
    for key, before in change.was.items():
        yield {
            "version": change.version,
            "at": change.at,
            "by": change.by,
            "key": key,
            "was": _past(key, before),
            "is": _past(key, change.became.get(key)),
        }


def _past(key: str, value: Value | None) -> str | None:
    """Show a value; None where there was none, so that a secret is not null here."""
    if value is None:
        return None
    return HIDDEN if not isinstance(value, str) or _is_secret(key, value) else value


def _is_secret(key: str, text: str) -> bool:
    return LayeredConfig([], spark_definition()).is_secret(key, text)
