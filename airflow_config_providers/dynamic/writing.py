"""Writes planned changes: documents, their histories and the audit log, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from airflow_config_providers.core.variable import variables
from airflow_config_providers.dynamic import document, history
from airflow_config_providers.dynamic.change import PlannedChange
from airflow_config_providers.dynamic.document import Document, Value, history_name, name_of
from airflow_config_providers.dynamic.history import Change
from airflow_config_providers.dynamic.listing import with_list
from airflow_config_providers.dynamic.snapshot import DEPLOYMENT, Snapshot
from airflow_config_providers.dynamic.store import AuditEntry, ConfigStore


def now() -> str:
    """Return the current time in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class Author:
    """
    The author of changes.

    :param name: the name of the user
    :param clock: returns the current time in ISO 8601
    """

    name: str = ""
    clock: Callable[[], str] = now


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes to a store on behalf of an author."""

    store: ConfigStore
    author: Author

    def write(self, snapshot: Snapshot, plans: Sequence[PlannedChange], *, event: str) -> bool:
        """
        Write ``plans``, which were made from ``snapshot``, and return True; return False if others wrote meanwhile.

        :param snapshot: the documents and histories; what it has parsed for the plans is not parsed again
        """
        texts: dict[str, str] = {}
        documents: dict[str, Document] = {}
        default = snapshot.document(DEPLOYMENT).version
        groups = _by_document(plans)
        beside = default + 1 if name_of(DEPLOYMENT) in groups else 0
        for name, group in groups.items():
            before = snapshot.document(group[0].resource)
            after = before.changed({plan.resource: plan.after for plan in group})
            after = replace(after, beside=after.beside if name == name_of(DEPLOYMENT) else beside or after.beside)
            documents[name] = after
            changes = [self._change(plan, after.version, event) for plan in group]
            past = snapshot.history(group[0].resource).extended(changes)
            texts[history_name(group[0].resource)] = history.write(past)
        listing = with_list(documents, snapshot.document(DEPLOYMENT), self.store)
        texts |= {name: document.write(one) for name, one in listing.items()}
        expected = {name: snapshot.kept[name] for name in texts}
        return self.store.swap(expected, texts, [_audit(plan, event) for plan in plans])

    def _change(self, plan: PlannedChange, version: int, event: str) -> Change:
        was = {key: plan.before.values.get(key) for key in plan.keys}
        became = {key: plan.after.get(key) for key in plan.keys}
        return Change(version, plan.resource.task_id, self.author.clock(), self.author.name, was, became, event)


def _by_document(plans: Iterable[PlannedChange]) -> dict[str, list[PlannedChange]]:
    groups: dict[str, list[PlannedChange]] = {}
    for plan in plans:
        groups.setdefault(name_of(plan.resource), []).append(plan)
    return groups


def _audit(plan: PlannedChange, event: str) -> AuditEntry:
    resource = plan.resource
    keys = {key: _references(plan.after.get(key)) for key in plan.keys}
    return AuditEntry(event, resource.dag_id, resource.task_id, {"resource": str(resource), "keys": keys})


def _references(value: Value | None) -> str | list[str]:
    """Return what the audit log may say about a value: that it was deleted, or its references."""
    if value is None:
        return "deleted"
    return [str(variable) for variable in variables(value)] if isinstance(value, str) else []
