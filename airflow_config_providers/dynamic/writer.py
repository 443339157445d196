"""Writes planned changes, with their histories and the audit log, until no one interferes, and takes them back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import count
from typing import Final, TypeVar

from airflow_config_providers.core.resource import ConfigResource
from airflow_config_providers.core.text import first_of, grouped
from airflow_config_providers.core.variable import variables
from airflow_config_providers.dynamic import document, history
from airflow_config_providers.dynamic.document import (
    DEPLOYMENT,
    EMPTY,
    PREFIX,
    Document,
    Value,
    history_name,
    listed_as,
    name_of,
)
from airflow_config_providers.dynamic.history import Change
from airflow_config_providers.dynamic.planner import PlannedChange
from airflow_config_providers.dynamic.store import AuditEntry, ConfigStore, Listing, Snapshot, TurnTaking
from airflow_config_providers.exceptions import ConfigProvidersError, ProviderUnavailableError

_T = TypeVar("_T")

TAKE_BACK: Final = "take_back"
"""The event of a change that takes back another one."""

REFRESH: Final = "refresh"
"""The event of a plan that changes nothing: references are read again."""

UNGUARDED: Final = 2
"""The number of attempts without a lock. After them, a writer takes a turn; otherwise it might never succeed."""

_ATTEMPTS: Final = 200
"""The most attempts of a writer, with at most ``_LONGEST_WAIT`` between two."""

_SHORTEST_WAIT: Final = 0.01
_LONGEST_WAIT: Final = 0.25
"""Seconds between two attempts, of which one takes about ten milliseconds: a dozen others finish in that time."""


def now() -> str:
    """Return the current time in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class ChangeAuthor:
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
    author: ChangeAuthor

    def write(
        self, snapshot: Snapshot, plans: Sequence[PlannedChange], *, event: str, restored: int | None = None
    ) -> bool:
        """
        Write ``plans``, which were made from ``snapshot``, and return True; return False if others wrote meanwhile.

        A plan that changes nothing refreshes its resource. That is no version to which one can return, so it is in the
        audit log, and not in the history.

        :param snapshot: the documents and histories; what it has parsed for the plans is not parsed again
        :param restored: the version that a rollback restores
        """
        texts: dict[str, str] = {}
        documents: dict[str, Document] = {}
        groups = grouped((name_of(plan.resource), plan) for plan in plans)
        beside = snapshot.base(DEPLOYMENT).version + 1 if name_of(DEPLOYMENT) in groups else 0
        for name, group in groups.items():
            resource = group[0].resource
            changing = [plan for plan in group if plan.keys]
            refreshed = [plan.resource for plan in group if not plan.keys]
            after = snapshot.base(resource).changed({plan.resource: plan.after for plan in changing}, refreshed)
            after = replace(after, beside=after.beside if name == name_of(DEPLOYMENT) else beside or after.beside)
            documents[name] = after
            changes = [self._change(plan, after.version, event, restored) for plan in changing]
            if changes or snapshot.is_lost(resource):
                past = snapshot.history(resource)
                texts[history_name(resource)] = history.write(replace(past, changes=[*past.changes, *changes]))
        listing = _with_list(documents, snapshot, self.store)
        is_written = name_of(DEPLOYMENT) in groups
        if not is_written and snapshot.document(DEPLOYMENT) is EMPTY and snapshot.is_lost(DEPLOYMENT):
            texts[history_name(DEPLOYMENT)] = history.write(snapshot.history(DEPLOYMENT))
        texts |= {name: document.write(one) for name, one in listing.items()}
        expected = {name: snapshot.kept[name] for name in texts}
        entries = [_audit(plan, event, documents[name_of(plan.resource)].version, restored) for plan in plans]
        return self.store.swap(expected, texts, entries)

    def _change(self, plan: PlannedChange, version: int, event: str, restored: int | None) -> Change:
        was = {key: plan.before.values.get(key) for key in plan.keys}
        became = {key: plan.after.get(key) for key in plan.keys}
        at, by = self.author.clock(), self.author.name
        return Change(
            version, plan.resource.task_id, at=at, by=by, was=was, became=became, event=event, restored=restored
        )


@dataclass(frozen=True, slots=True)
class Attempts:
    """
    Retries a change of a store until no other change interferes.

    :param sleep: waits before the next attempt
    """

    store: ConfigStore
    sleep: Callable[[float], None]

    def until_done(self, attempt: Callable[[ConfigStore], _T | None], names: Collection[str]) -> _T:
        """
        Return the first result of ``attempt`` that is not None.

        :param attempt: makes the change in the store that it gets
        :param names: the names that it writes
        :raises ProviderUnavailableError: all results were None
        """
        from tenacity import RetryError, Retrying, retry_if_result, stop_after_attempt, wait_random_exponential  # noqa: PLC0415 - slow

        retrying = Retrying(
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_random_exponential(_SHORTEST_WAIT, max=_LONGEST_WAIT),
            retry=retry_if_result(lambda result: result is None),
            sleep=self.sleep,
        )
        numbers = count()
        try:
            done = retrying(lambda: self._once(attempt, names, is_guarded=next(numbers) >= UNGUARDED))
        except RetryError:
            done = None
        if done is None:
            raise ProviderUnavailableError(
                f"Others keep changing {first_of(sorted(names))}: they were faster in each of {_ATTEMPTS} attempts, "
                f"and nothing was changed. See who it is with airflow config-providers history, and try again."
            )
        return done

    def _once(
        self, attempt: Callable[[ConfigStore], _T | None], names: Collection[str], *, is_guarded: bool
    ) -> _T | None:
        if not is_guarded or not isinstance(self.store, TurnTaking):
            return attempt(self.store)
        with self.store.turn(names) as store:
            return attempt(store)


def take_back(
    snapshot: Snapshot, attempts: Attempts, author: ChangeAuthor, plans: Sequence[PlannedChange]
) -> list[str]:
    """
    Restore what resources had before ``plans``, with another change. Changes that others made since are kept.

    Policies do not check this, since it restores what there was.

    :param snapshot: the documents from which the plans were made
    :returns: a sentence about the result for each resource
    """
    written = {plan.resource: snapshot.base(plan.resource).version + 1 for plan in plans}
    try:
        return attempts.until_done(partial(_attempt, plans, written, author), {name_of(one) for one in written})
    except Exception as error:  # noqa: BLE001 - after any error, the result must be reported
        reason = " ".join(error.problems) if isinstance(error, ConfigProvidersError) else type(error).__name__
    return [
        f"The change of {resource} could not be taken back ({reason}): version {version} is perhaps still stored, but "
        f"not in effect. Describe {resource}, and roll the change back."
        for resource, version in written.items()
    ]


def _audit(plan: PlannedChange, event: str, version: int, restored: int | None) -> AuditEntry:
    """Return the entry about a plan, with the version of its change in the history; a refresh has none there."""
    resource = plan.resource
    keys = {key: _references(plan.after.get(key)) for key in plan.keys}
    numbers = {"version": version, **({} if restored is None else {"restored": restored})} if keys else {}
    details = {"resource": str(resource), **numbers, "keys": keys}
    return AuditEntry(event if keys else REFRESH, resource.dag_id, resource.task_id, details)


def _references(value: Value | None) -> str | list[str]:
    """Return what the audit log may say about a value: that it was deleted, or its references."""
    if value is None:
        return "deleted"
    return [str(variable) for variable in variables(value)] if isinstance(value, str) else []


def _with_list(documents: Mapping[str, Document], snapshot: Snapshot, store: ConfigStore) -> dict[str, Document]:
    """
    Return ``documents``, which will be written, and the deployment's document if it is missing or lists too few.

    A change that writes an unlisted document also writes the list, and names are never removed from it. So the list is
    complete if ``snapshot`` has what is stored, which the store ensures.

    :param documents: name -> document
    :param snapshot: has the deployment's document as it was read
    :param store: provides the names if there is no list
    """
    name, before = name_of(DEPLOYMENT), snapshot.document(DEPLOYMENT)
    known = _known(before, store)
    listed = None if known is None else known | {listed_as(one) for one in documents if one != name}
    if listed == before.listed and before is not EMPTY:
        return dict(documents)
    own = documents.get(name) or (snapshot.base(DEPLOYMENT) if before is EMPTY else before)
    return {**documents, name: replace(own, listed=listed)}


def _known(before: Document, store: ConfigStore) -> frozenset[str] | None:
    if before.listed is not None or not isinstance(store, Listing):
        return before.listed
    stored = set(document.documents(store.names(PREFIX))) - {name_of(DEPLOYMENT)}
    return frozenset(map(listed_as, stored))


def _attempt(
    plans: Sequence[PlannedChange], written: Mapping[ConfigResource, int], author: ChangeAuthor, store: ConfigStore
) -> list[str] | None:
    """Take back the plans once; return None if others wrote meanwhile."""
    now = Snapshot.read(store, written, histories=True)
    is_ours = {plan.resource: now.config(plan.resource).version == written[plan.resource] for plan in plans}
    ours = [plan for plan in plans if is_ours[plan.resource]]
    back = [PlannedChange(plan.resource, now.config(plan.resource), plan.before.values) for plan in ours]
    if back and not Writer(store, author).write(now, back, event=TAKE_BACK):
        return None
    done = [_taken_back(plan.resource, now) for plan in ours]
    return [*done, *(_left(plan.resource, now) for plan in plans if not is_ours[plan.resource])]


def _taken_back(resource: ConfigResource, now: Snapshot) -> str:
    version = now.base(resource).version + 1
    return f"The change of {resource} was taken back: version {version} has the previous configuration."


def _left(resource: ConfigResource, now: Snapshot) -> str:
    version = now.numbered(resource).version
    return (
        f"Others changed {resource} meanwhile, so its change was not taken back: version {version} is stored, but the "
        f"previous configuration stays in effect. Describe {resource}, and decide again."
    )
