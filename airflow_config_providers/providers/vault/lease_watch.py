"""Notices in time that leases of subscribed values are about to end."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from airflow_config_providers.providers.vault.paths import VaultPath
from airflow_config_providers.providers.vault.renewals import when_to_retry

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.reads import Reads


class LeaseWatch:
    """
    Has a path read when the lease of its values must be replaced: it can be renewed no longer, or its login ends.

    It looks at what is known here, and asks Vault nothing. Thread-safe.

    :param reads: hold the leases
    """

    def __init__(self, reads: Reads) -> None:
        self._reads = reads
        self._paths: dict[str, VaultPath] = {}
        self._followed: dict[VaultPath, str] = {}
        self._touch: Callable[[str], None] = lambda path: None
        reads.when_leased = self._look_in_time

    def follow(self, paths: Collection[str], touch: Callable[[str], None]) -> None:
        """Call ``touch(path)`` when the lease of a path must be replaced."""
        known, self._touch = self._paths, touch
        self._paths = {text: known.get(text) or VaultPath.parse(text) for text in paths}
        if known.keys() - self._paths.keys():
            before, self._followed = self._followed, {path: text for text, path in self._paths.items()}
            for path in before.keys() - self._followed.keys():
                self._reads.session.renewals.drop((self, path))
        for text in self._paths.keys() - known.keys():  # the others are not parsed again, as there can be thousands
            self._followed[self._paths[text]] = text
            self._look_in_time(self._paths[text])

    def _look_in_time(self, path: VaultPath) -> None:
        lease = self._reads.lease(path)
        if path in self._followed and lease is not None:
            self._reads.session.renewals.add((self, path), self._reads.good_until(lease), lambda: self._look(path))

    def _look(self, path: VaultPath) -> float | None:
        """Return when to look again: the lease was renewed, or can still be if it cannot be replaced now."""
        lease, now = self._reads.lease(path), self._reads.session.clock()
        if lease is not None and self._reads.good_until(lease) > now:
            return self._reads.good_until(lease)
        self._touch(self._followed.get(path, ""))
        return None if lease is None else when_to_retry(now, lease.expires)
