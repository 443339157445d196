"""Marks by which a process notices that dynamic configuration has changed, or is to be resolved again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from airflow_config_providers.core.alter import ConfigResource
from airflow_config_providers.dynamic.document import StoredConfig
from airflow_config_providers.dynamic.inheritance import Read, inherited, task_configs
from airflow_config_providers.dynamic.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class ChangeMark:
    """
    A value that differs after each change and each refresh of a resource, or of what it inherits from.

    :param versions: the versions of the last changes, strongest resource first, as in ``inherited``
    :param refreshed: the versions of the last refreshes, in the same order
    """

    versions: tuple[int, ...]
    refreshed: tuple[int, ...]

    @classmethod
    def of(cls, configs: Iterable[StoredConfig]) -> Self:
        """Return the mark of a resource. ``configs`` are what it has and inherits, strongest first."""
        versions, refreshed = zip(*((config.version, config.refreshed) for config in configs), strict=True)
        return cls(versions, refreshed)

    def weakest_change(self, since: ChangeMark) -> int:
        """Return the position of the weakest resource that was changed or refreshed ``since``; -1 if none was."""
        pairs = zip(self.versions, self.refreshed, since.versions, since.refreshed, strict=True)
        changed = [position for position, (v, r, v0, r0) in enumerate(pairs) if (v, r) != (v0, r0)]
        return max(changed, default=-1)


def change_mark(resource: ConfigResource, snapshot: Snapshot) -> ChangeMark:
    """
    Return the mark of ``resource`` in ``snapshot``.

    :raises ConfigException: stored configuration cannot be read
    """
    return ChangeMark.of(snapshot.config(one) for one in inherited(resource))


def task_mark(task: ConfigResource, read: Read) -> ChangeMark:
    """
    Return the mark of ``task``, with the reads that its configuration takes: one or two.

    :raises ProviderUnavailableError: the store is unavailable now
    :raises ConfigException: stored configuration cannot be read
    """
    return ChangeMark.of(task_configs(task, read).values())
