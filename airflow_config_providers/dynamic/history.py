"""The history of changes of a document, newest last."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.dynamic.document import (
    FORMAT,
    Document,
    Value,
    read_json,
    unknown,
    value_of,
    written_value,
)
from airflow_config_providers.exceptions import ConfigException

LOSS: Final = "lost"
"""The event of a change without this package: of a document that was deleted, or of it or its history made older."""

MOST_CHANGES: Final = 200
"""The most changes of a document that are kept."""

MOST_CHARACTERS: Final = 128 * 1024
"""The most characters of the kept changes, all of which each change writes. The newest is kept at any size."""


@dataclass(frozen=True, slots=True)
class Change:
    """
    A change of one resource.

    :param version: the version of the document that it created
    :param task_id: the task; empty for the DAG or the deployment
    :param at: the time in ISO 8601
    :param by: the user
    :param was: changed key -> previous value; None if it had none
    :param became: changed key -> new value; None if it was deleted
    :param event: the event in the audit log; empty if it was not recorded
    :param more: members that only a newer version knows
    :param restored: the version that a rollback restored; None for other events, or if it was not recorded
    """

    version: int
    task_id: str
    at: str
    by: str
    was: Mapping[str, Value | None] = field(repr=False)
    became: Mapping[str, Value | None] = field(repr=False)
    event: str = ""
    more: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    restored: int | None = None


@dataclass(frozen=True, slots=True)
class History:
    """
    The kept changes of a document.

    :param changes: the changes, newest last
    :param more: members that only a newer version knows; a change keeps them
    """

    changes: Sequence[Change] = ()
    more: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def version(self) -> int:
        """The version of the last change; 0 if there is none."""
        return self.changes[-1].version if self.changes else 0


def difference(before: Mapping[str, Value], after: Mapping[str, Value]) -> list[str]:
    """Return the keys that differ, in order."""
    return sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))


def with_loss(history: History, document: Document) -> History:
    """
    Return ``history``; if ``document`` is older than its last change, it ends with that loss as another change.

    So versions go on, and none of them has two meanings. When and by whom it was made is unknown, and so is the value
    before it of a key whose changes are all forgotten.
    """
    if document.version >= history.version:
        return history
    return _lost(history, document, history.version + 1)


def with_gap(history: History, document: Document) -> History:
    """
    Return ``history``; if ``document`` has a later change than its last one, it ends with that loss as another change.

    So the values of today are not taken for those of a version after which changes are missing. An empty history is no
    loss: no version before the document's is taken for known.

    :param document: read at the same moment
    """
    newest = max(config.version for config in (document.own, *document.tasks.values()))
    return _lost(history, document, newest) if newest > history.version else history


def _lost(history: History, document: Document, version: int) -> History:
    held: dict[str, dict[str, Value | None]] = {}
    for change in history.changes:
        held.setdefault(change.task_id, {}).update(change.became)
    losses = [_loss(version, task_id, was, document) for task_id, was in held.items()]
    seen = [loss for loss in losses if loss.was] or losses[:1]  # at least one, since it limits what is recorded
    return replace(history, changes=[*history.changes, *seen])


def _loss(version: int, task_id: str, held: Mapping[str, Value | None], document: Document) -> Change:
    now = document.of(task_id).values
    was = {key: value for key, value in held.items() if value != now.get(key)}
    return Change(version, task_id, at="", by="", was=was, became={key: now.get(key) for key in was}, event=LOSS)


def as_of(version: int, now: Mapping[str, Value], changes: Sequence[Change]) -> dict[str, Value]:
    """
    Return the configuration of a resource at a version, by undoing later changes. At version 0, it was empty.

    :param version: a version of the document for which ``refuse_unrecorded`` raises nothing
    :param now: its current configuration
    :param changes: the changes of the resource, newest last
    """
    values = dict(now) if version else {}
    for change in reversed([change for change in changes if 0 < version < change.version]):
        values = {key: value for key, value in {**values, **change.was}.items() if value is not None}
    return values


def recorded(history: History, changes: Sequence[Change], version: int) -> range:
    """
    Return the versions, besides 0, for which all later changes of a resource are kept.

    Other changes of the oldest kept version can be forgotten, so the version before it is known only to a resource that
    it changed. What there was before a loss is not known.

    :param history: the history of the document
    :param changes: those changes in it that are of the resource
    :param version: the version of the document now
    """
    known = [*(change.version for change in history.changes[:1]), *(change.version - 1 for change in changes[:1])]
    lost = (change.version for change in history.changes if change.event == LOSS)
    return range(max(min(known, default=version), *lost, 0), version + 1)


def refuse_unrecorded(version: int, versions: range, *, name: str) -> None:
    """
    Refuse to restore a version that is not known.

    :param versions: the versions that are ``recorded``
    :param name: the name of the resource in messages
    :raises ConfigException: the version never existed, or later changes are no longer all kept
    """
    if version != 0 and version not in versions:
        raise ConfigException(f"{name}: version {printable(str(version))} is not recorded. {_listed(versions)}")


def before_last(changes: Sequence[Change], *, name: str) -> int:
    """
    Return the version before the last one of ``changes``.

    :param name: the name of the resource in messages
    :raises ConfigException: it is not known
    """
    if not changes:
        raise ConfigException(
            f"No changes of {name} are recorded, so there is nothing to roll back. To remove all that it has, name "
            f"version 0."
        )
    if changes[-1].event == LOSS:
        raise ConfigException(
            f"The last change of {name} is that its variable was deleted or replaced by an older one, or that of "
            f"its history was, which cannot be rolled back. Its history shows what it had: set that again."
        )
    return changes[-1].version - 1


def _listed(versions: range) -> str:
    first, last = versions[0], versions[-1]
    if last == 0:
        return "Only version 0 is recorded."
    if first <= 1:
        return f"The recorded versions are 0 to {last}."
    if first == last:
        return f"The recorded versions are 0 and {last}."
    return f"The recorded versions are 0, and {first} to {last}."


def write(history: History) -> str:
    """Return the text of the newest changes, as many as are kept."""
    texts = [json.dumps(_written(change)) for change in history.changes[-MOST_CHANGES:]]
    head = json.dumps({**history.more, "format": FORMAT}).removesuffix("}")
    return f'{head}, "changes": [{", ".join(_newest(texts))}]}}'


def _newest(texts: list[str]) -> list[str]:
    sizes = accumulate(len(text) for text in reversed(texts))
    kept = sum(size <= MOST_CHARACTERS for size in sizes)
    return texts[-max(kept, 1) :]


def read(text: str | None, *, name: str) -> History:
    """
    Return the history in ``text``; an empty one for None.

    :param name: the name under which it is stored
    :raises ConfigException: it cannot be read
    """
    return History() if text is None else read_json(text, _history, name=name, what="history")


def _written(change: Change) -> dict[str, Any]:
    return {
        **change.more,
        "version": change.version,
        "task": change.task_id,
        "at": change.at,
        "by": change.by,
        "event": change.event,
        **({} if change.restored is None else {"restored": change.restored}),
        "was": _values(change.was),
        "became": _values(change.became),
    }


def _values(values: Mapping[str, Value | None]) -> dict[str, Any]:
    return {key: None if value is None else written_value(value) for key, value in values.items()}


def _history(found: Mapping[str, Any]) -> History:
    return History([_change(change) for change in found["changes"]], unknown(found, "format", "changes"))


def _change(found: Mapping[str, Any]) -> Change:
    was, became = (
        {str(key): None if value is None else value_of(value) for key, value in found[part].items()}
        for part in ("was", "became")
    )
    return Change(
        int(found["version"]),
        str(found["task"]),
        at=str(found["at"]),
        by=str(found["by"]),
        was=was,
        became=became,
        event=str(found.get("event", "")),
        more=unknown(found, "version", "task", "at", "by", "event", "restored", "was", "became"),
        restored=None if found.get("restored") is None else int(found["restored"]),
    )
