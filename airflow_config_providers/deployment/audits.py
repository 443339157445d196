"""What audits share, as commands and as tasks: the job that reads records, what is set now, and what was asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple

from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.sensitive import HIDDEN
from airflow_config_providers.core.storage_url import AZURE, GOOGLE, S3, StorageUrl
from airflow_config_providers.core.text import counted, printable
from airflow_config_providers.deployment.known_secrets import KnownSecrets
from airflow_config_providers.deployment.rows import is_secret
from airflow_config_providers.dynamic import document, history
from airflow_config_providers.dynamic.airflow_store import VariableStore
from airflow_config_providers.dynamic.document import PREFIX, Document, Sealed, documents, history_name, owner_of
from airflow_config_providers.dynamic.history import Change
from airflow_config_providers.dynamic.inheritance import dynamic_layer
from airflow_config_providers.dynamic.store import Kept
from airflow_config_providers.exceptions import ConfigException, ConfigProvidersError, ProviderUnavailableError
from airflow_config_providers.job.records.table import rows_of
from airflow_config_providers.spark.audit.html_page import AuditScope
from airflow_config_providers.spark.audit.leaks.leak_audit import LeakRequest
from airflow_config_providers.spark.audit.records.past_records import (
    CONFIGS,
    PastRecords,
    RecordReader,
    restored,
    ticking,
)
from airflow_config_providers.spark.audit.session import Tick, audit_session
from airflow_config_providers.spark.audit.spark_failures import NO_PATH, translating_failures

_MOST_NAMED: Final = 20
"""How many files without a record are named."""

_HADOOP: Final = {
    **dict.fromkeys(S3, "s3a://{}/PATH"),
    **dict.fromkeys(GOOGLE, "gs://{}/PATH"),
    **dict.fromkeys(AZURE, "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH"),
}
"""For each scheme that Airflow's connections open, how Hadoop names a path. No key is shown, as it can be a secret."""


def require_no_connection(path: str) -> None:
    """
    Refuse a folder of records that Spark cannot read, because its path names a connection of Airflow.

    :raises ConfigException: it does
    """
    url = StorageUrl.split(path)
    if url is None or not url.connection or url.scheme not in _HADOOP:
        return
    if url.scheme in AZURE and "." in url.host:  # Hadoop writes the container before the @
        return
    is_unclear = ":" in url.host or "@" in url.key.partition("/")[0]  # a part of a password can be in its place
    name = _HADOOP[url.scheme].format("BUCKET" if is_unclear else printable(url.host))
    raise ConfigException(
        f"The path of the records names a connection of Airflow, with which Spark cannot read. Name the folder as "
        f"Hadoop does: --records {name}, or records=... of an operator. Give Spark the connector of the store, and "
        f"credentials, with --conf."
    )


@contextmanager
def record_reader(
    parquet: str, master: str | None, configs: Mapping[str, str], tick: Tick | None = None
) -> Iterator[RecordReader]:
    """
    Yield what reads records, with a Spark session until the end of the block.

    :param parquet: the folder in which they are kept; empty to keep none
    :param master: Spark's master; None for the one of Spark's own defaults, or else this machine
    :param configs: configuration of the Spark job
    :param tick: is called now and then with the files that were read so far, and the files to read in all
    :raises ConfigException: Spark does not start, its executors lack this package, or the path does not exist
    :raises ProviderUnavailableError: Spark cannot read them
    """
    with (
        audit_session(master, {**CONFIGS, **configs}) as session,
        restored(session),
        translating_failures(_unreadable),
        ticking(session, tick) as progress,
    ):
        yield RecordReader(session, rows_of, parquet, progress=progress)


def problems_of(records: PastRecords, against: str = "") -> Iterator[str]:
    """
    Yield sentences about what could not be read, and about what is not there.

    :param against: the folder of the records, which each sentence names, if others are compared with them
    """
    if not against:
        return _problems(records, "audited")
    shown = HIDDEN if is_secret("path", against) else printable(against)  # an address can hold a password
    return (f"{shown}: {problem}" for problem in _problems(records, "compared"))


def _problems(records: PastRecords, done: str) -> Iterator[str]:
    if not records.count:
        yield f"No record was found, so nothing was {done}. Check the path of the records, the first day and the DAG."
    for file, problem in list(records.unread.items())[:_MOST_NAMED]:
        yield f"{printable(file)} has no record: {problem}"
    if records.unread_count > _MOST_NAMED:
        yield f"{records.unread_count} files have no record. Only {_MOST_NAMED} of them are named."
    if records.later_count:
        yield (
            f"A later version of airflow-config-providers wrote {counted(records.later_count, 'record')}. What this "
            f"version does not know of them is left out."
        )


def _unreadable(problem: str) -> ConfigProvidersError:
    if NO_PATH in problem:
        return ConfigException(
            "The folder of the records does not exist. Correct --records or --against, or those of an operator, "
            "or [config_providers] records_path; a path without a scheme, such as s3a://, is a folder of this machine."
        )
    return ProviderUnavailableError(
        f"The records could not be read by Spark ({problem}). Correct the path, and give Spark the classes and rights "
        f"that it needs for it with --conf. Executors need this package, too."
    )


@dataclass(frozen=True, slots=True)
class RecordsChoice:
    """
    Which records an audit reads.

    :param records: their folder; empty for Airflow's database
    :param parquet: the folder in which they are kept; None to keep none
    :param since: the first day; None for all
    :param dag: the only DAG; None for all
    """

    records: str
    parquet: str | None = None
    since: str | None = None
    dag: str | None = None


def scope_of_records(
    choice: RecordsChoice,
    past: PastRecords,
    more: Sequence[tuple[str, object]] = (),
    *,
    there: PastRecords | None = None,
    notes: Sequence[str],
) -> AuditScope:
    """
    Return the scope of an audit of records.

    :param more: what else was chosen
    :param there: the records that those of ``past`` are compared with
    """
    rows: list[tuple[str, object]] = [
        ("records", choice.records or "Airflow's database"),
        ("kept in", choice.parquet),
        ("since", choice.since or "all days"),
        ("DAG", choice.dag or "all DAGs"),
        ("records read", past.count),
        ("files without a record", past.unread_count or None),
        *more,
    ]
    if there and there.unread_count:
        rows.append(("files without a record to compare with", there.unread_count))
    return AuditScope(_shown(rows), notes)


def scope_of_leaks(
    request: LeakRequest, known: KnownSecrets, references_in: Sequence[str], *, notes: Sequence[str]
) -> AuditScope:
    """
    Return the scope of a search for leaks.

    :param references_in: where the references were found that were searched for
    """
    rows: list[tuple[str, object]] = [
        ("files and folders", list(request.paths)),
        ("Airflow's database", "searched" if request.database else "not searched"),
        ("references from", list(references_in)),
        ("references whose values were searched for", len({one.variable for one in known.secrets})),
        ("patterns of references that were left out", list(request.excepted)),
        ("references that were left out", len(known.excepted) or None),
        ("fingerprints", list(request.fingerprints)),
        ("tokens of well-known formats", "searched for" if request.tokens else "not searched for"),
        ("baseline of accepted leaks", request.baseline),
        ("what earlier audits searched", request.state),
    ]
    return AuditScope(_shown(rows), notes)


def _shown(rows: Sequence[tuple[str, object]]) -> list[tuple[str, object]]:
    return [(name, _without_secret(value)) for name, value in rows]


def _without_secret(value: object) -> object:
    """Return a value as people may see it: an address can hold a password."""
    if isinstance(value, list):
        return [_without_secret(one) for one in value]
    return HIDDEN if isinstance(value, str) and is_secret("path", value) else value


class DynamicSetting(NamedTuple):
    """
    A key that dynamic configuration sets now.

    :param dag: empty for the default of the deployment
    :param task: empty for all tasks
    :param value: the string with its references; None for a secret
    :param by: who set it; empty if that is no longer known
    :param at: when, in ISO 8601 and UTC; empty if that is no longer known
    """

    source: str
    dag: str
    task: str
    key: str
    value: str | None
    origin: str
    by: str
    at: str


def dynamic_settings() -> list[DynamicSetting]:
    """
    Return what dynamic configuration sets now.

    A DAG whose id is too long for the name of a variable is left out: the name does not say which it is.

    :raises ProviderUnavailableError: the database is unavailable
    :raises ConfigException: a document or its history cannot be read
    """
    store = VariableStore("")
    owners = {name: owner for name in documents(store.names(PREFIX)) if (owner := owner_of(name))}
    kept = store.read([*owners, *map(history_name, owners.values())])
    return [row for name, owner in owners.items() for row in _of_document(name, owner, kept)]


def _of_document(name: str, owner: ConfigResource, kept: Mapping[str, Kept]) -> Iterator[DynamicSetting]:
    of_history = history_name(owner)
    found = document.read(kept[name].text, name=name)
    changes = history.read(kept.get(of_history, Kept()).text, name=of_history).changes
    yield from _of_resource(owner, found, changes)
    for task in found.tasks:
        yield from _of_resource(ConfigResource.of_task(owner.dag_id, task), found, changes)


def _of_resource(resource: ConfigResource, found: Document, changes: Sequence[Change]) -> Iterator[DynamicSetting]:
    config = found.config(resource)
    layer = dynamic_layer(resource, config)
    for key, value in config.values.items():
        change = _last(key, [one for one in changes if one.task_id == resource.task_id])
        shown = None if isinstance(value, Sealed) or is_secret(key, value) else value
        made = (printable(change.by), change.at) if change else ("", "")
        yield DynamicSetting(layer.source.name, resource.dag_id, resource.task_id, key, shown, layer.name, *made)


def _last(key: str, changes: Sequence[Change]) -> Change | None:
    return next((one for one in reversed(changes) if key in one.became), None)
