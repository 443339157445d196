"""Whether a secret has a new version, found out without reading it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from airflow_config_providers.core.text import printable
from airflow_config_providers.providers.vault.paths import VaultPath, quoted

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.faults import VaultAnswer
    from airflow_config_providers.providers.vault.reader import VaultReader

_log = logging.getLogger(__name__)

_SECONDS_DENIED: Final = 3600.0
"""For how long the metadata of a path is not asked for again, after a policy denied it; policies change."""

Mark = tuple[int, str]
"""The number of a version, and when it was written; a secret that was deleted and written anew begins at 1 again."""


class Versions:
    """
    The versions of secrets in key-value engines of version 2, from their metadata. Thread-safe.

    :param reader: knows where a path leads
    """

    def __init__(self, reader: VaultReader) -> None:
        self._reader = reader
        self._session = reader.session
        self._denied_until: dict[VaultPath, float] = {}
        self._has_told = False

    def mark(self, path: VaultPath) -> Mark | None:
        """
        Return a mark of the version that a read of ``path`` would return.

        None if that is not known: in another engine, without a mount that is known, if the version was deleted or will
        be, or if the login may not read the metadata.

        :raises ProviderUnavailableError: Vault cannot answer now
        """
        known = self._reader.known(path)
        if known is None or known[1].kv_version != 2 or self._session.clock() < self._denied_until.get(path, 0.0):
            return None
        segments, mount = known
        address = mount.metadata_address(segments)
        answer = self._session.get(quoted(address), token=self._session.token(), mount=quoted(mount.segments))
        if answer.is_denied_by_policy:
            self._denied_until[path] = self._session.clock() + _SECONDS_DENIED
            self._tell_once("/".join(address), answer)
        return _mark(answer.body.get("data"), path.version) if answer.is_good else None

    def _tell_once(self, address: str, answer: VaultAnswer) -> None:
        if not self._has_told:
            self._has_told = True
            _log.info(
                "%s: subscriptions read values to look for changes, as the login may not read metadata (%s). To have "
                "only new versions read, let a policy read '%s'.",
                self._session.where,
                answer.shown,
                printable(address),
            )


def _mark(metadata: object, version: int | None) -> Mark | None:
    if not isinstance(metadata, Mapping) or not isinstance(metadata.get("versions"), Mapping):
        return None
    number = metadata.get("current_version") if version is None else version
    found = metadata["versions"].get(str(number))
    if not isinstance(found, Mapping) or found.get("deletion_time") or found.get("destroyed") is not False:
        return None
    return (int(str(number)), str(found.get("created_time")))
