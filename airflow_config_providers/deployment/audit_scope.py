"""What an audit was asked to read, for its page: the same for commands and for tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from airflow_config_providers.core.data import HIDDEN
from airflow_config_providers.deployment.known_secrets import KnownSecrets
from airflow_config_providers.deployment.rows import is_secret
from airflow_config_providers.spark.audit.html_page import AuditScope
from airflow_config_providers.spark.audit.leaks.leak_audit import LeakRequest
from airflow_config_providers.spark.audit.records.past_records import PastRecords


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
