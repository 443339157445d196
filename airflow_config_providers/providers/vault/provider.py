"""A provider that reads HashiCorp Vault, and servers that speak its API."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.core import document
from airflow_config_providers.core.data import ConfigData
from airflow_config_providers.core.provider import SecretIdProvider, configured
from airflow_config_providers.core.single_flight import SingleFlight
from airflow_config_providers.providers import airflow_secrets
from airflow_config_providers.providers.vault.leases import Lease, Leases
from airflow_config_providers.providers.vault.logins import approle
from airflow_config_providers.providers.vault.outcome import Outcome, reason_of_absence
from airflow_config_providers.providers.vault.parameters import read_settings
from airflow_config_providers.providers.vault.paths import VaultPath
from airflow_config_providers.providers.vault.reader import Reader
from airflow_config_providers.providers.vault.renewal_timer import seconds
from airflow_config_providers.providers.vault.sessions import SESSIONS, Sessions

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.session import Session
    from airflow_config_providers.providers.vault.settings import VaultSettings

_log = logging.getLogger(__name__)
_LEFT_OF_A_LEASE: Final = 1 / 3
"""A lease that is renewed after two thirds always has more."""


class VaultConfigProvider(SecretIdProvider):
    """
    ``${vault:secret/apps/db:password}``: the path is that of Vault's own command line, the key is one of the secret's.

    A key may lead into a nested value, as ``credentials.password``; a value that is not a string is returned as JSON.
    ``secret/apps/db?version=3`` is version 3. Below ``mount_point``, or below ``secret`` without one, the mount may
    be left out. A secret with a lease has the rest of it as its ttl.

    The parameters are those of ``parameters.read_settings``. Providers with equal parameters share one login.

    :param connections: returns Airflow's connection of an ID
    :param environ: the process's environment
    :param sessions: the logins of this process
    """

    def __init__(
        self,
        connections: Callable[[str], Any | None] = airflow_secrets.connection,
        environ: Mapping[str, str] = os.environ,
        *,
        sessions: Sessions = SESSIONS,
    ) -> None:
        self._connections = connections
        self._environ = environ
        self._sessions = sessions
        self._reads: Reads | None = None

    def configure(self, configs: Mapping[str, Any]) -> None:
        """
        Take the parameters; no request is made before the first ``get``.

        :raises ProviderDefinitionError: names all their problems
        """
        settings = read_settings(configs, connections=self._connections, environ=self._environ)
        self._reads = Reads(settings, self._sessions)

    def get(self, path: str, keys: Collection[str] | None = None) -> ConfigData:
        """
        Return the secret at ``path``; if there is none, there are no keys.

        :raises AccessDeniedError: Vault refuses, or the path is one of Vault's own
        :raises ProviderUnavailableError: Vault cannot answer now
        :raises ProviderLookupError: it cannot be read in this way
        :raises ConfigException: ``path`` is not a path
        """
        reads = configured(self._reads)
        place = VaultPath.parse(path)
        if keys is not None and not keys:
            return ConfigData({})
        read = reads.get(place)
        if read.absence:
            _log.warning("%s", read.absence)
            return ConfigData({}, absence=read.absence)
        return ConfigData(_texts(read.document, keys), read.ttl_in(reads.session))

    def require_allowed(self, configs: Mapping[str, Any], path: str, keys: Collection[str]) -> None:
        """
        Refuse what is not a path, and Vault's own paths.

        :raises AccessDeniedError: it is one of Vault's own
        :raises ConfigException: ``path`` is not a path
        """
        VaultPath.parse(path)

    def check(self) -> None:
        """
        Find out whether Vault answers and whether we can sign in, without reading a secret.

        :raises AccessDeniedError: the login is refused
        :raises ProviderUnavailableError: Vault cannot answer now
        """
        configured(self._reads).session.check()

    def wrapped_secret_id(self, role: str, *, mount_point: str = "", seconds: int = 300) -> str:
        """
        Return a new, wrapped secret ID of an AppRole, which someone else can unwrap once.

        :param role: its name
        :param mount_point: where the method is mounted; empty for ``approle``
        :param seconds: for which it can be unwrapped
        :raises AccessDeniedError: our login may not do this
        :raises ProviderLookupError: there is no such role, or Vault cannot be asked
        """
        return approle.wrapped_secret_id(
            configured(self._reads).session, role, mount_point=mount_point, seconds=seconds
        )

    def keep_leases(self, *, is_left: bool) -> None:
        """Let leases, and the login that they end with, expire by themselves; or give them back after all."""
        if self._reads is not None:
            self._reads.keep_leases(is_left=is_left)

    def close(self) -> None:
        """Give back leases and, if no other provider uses it, the login; raises nothing."""
        reads, self._reads = self._reads, None
        if reads is not None:
            reads.close()


def _texts(found: Mapping[str, Any], keys: Collection[str] | None) -> dict[str, str]:
    if keys is None:
        return document.read_all(found)
    values = {key: document.read_key(found, key) for key in keys}
    return {key: value for key, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Read:
    """
    The result of reading a path.

    :param at: when it was read, by the session's clock
    :param ttl: milliseconds at that time; None for none
    :param absence: why there was nothing; empty if there was something
    """

    document: Mapping[str, Any] = field(repr=False)
    at: float
    ttl: int | None = None
    lease: Lease | None = None
    absence: str = ""

    def ttl_in(self, session: Session) -> int | None:
        """Return the milliseconds that are left, in whole seconds as Vault counts. A lease ends with its token."""
        if self.lease is None:
            return self.ttl
        left = self.lease.current - int(session.clock() - self.lease.since)
        left_of_token = session.left_of(self.lease.token)
        return max(0, int(left if left_of_token is None else min(left, left_of_token)) * 1000)


class Reads:
    """
    The reads of one provider and the leases that came with them. Thread-safe; a forked child begins anew.

    A secret is returned again for ``cache_ttl`` milliseconds, and one with a lease for as long as the lease is good, so
    that user and password belong together. A missing or refused secret is asked for again.
    """

    def __init__(self, settings: VaultSettings, sessions: Sessions = SESSIONS) -> None:
        self._sessions = sessions
        self._flights = SingleFlight(patience=None, asks_again=True)
        self._kept: dict[VaultPath, Read] = {}
        self.session = sessions.join(settings, self)
        self._leases = Leases(self.session)
        self._reader = Reader(self.session)

    def forget(self) -> None:
        """In a forked child: leave everything of the parent to the parent."""
        self._flights = SingleFlight(patience=None, asks_again=True)
        self._kept = {}
        self._leases.forget()

    def get(self, path: VaultPath) -> Read:
        """Return the secret at ``path``. Threads that ask at the same time share one request."""
        kept = self._kept.get(path)
        if kept is not None and self._is_good(kept):
            return kept
        return self._flights.run(path, lambda: self._fresh(path))

    def keep_leases(self, *, is_left: bool) -> None:
        """As in the provider; without a lease, the login is given back in any case."""
        if not is_left or self._leases:
            self.session.keep_leases(is_left=is_left)

    def close(self) -> None:
        """Give back the leases and, if no other provider uses it, the login; raises nothing."""
        self._kept = {}
        is_last = self._sessions.leave(self.session, self)
        self._leases.give_back(session_ends=is_last)
        if is_last:
            self.session.close()

    def _fresh(self, path: VaultPath) -> Read:
        kept = self._kept.get(path)
        if kept is not None and self._is_good(kept):
            return kept
        outcome = self._reader.read(path)
        if not outcome.answer.is_good:
            reason = reason_of_absence(outcome, path, where=self.session.where)
            return Read({}, self.session.clock(), absence=reason)
        read = self._read(outcome)
        self._kept = {**{p: k for p, k in self._kept.items() if self._is_good(k)}, path: read}
        return read

    def _read(self, outcome: Outcome) -> Read:
        body, document, now = outcome.answer.body, outcome.document, self.session.clock()
        lease = self._leases.add(body, token=outcome.token, since=outcome.since)
        if lease is not None:
            self.session.learn_end_of(outcome.token)
        if lease is None and (outcome.mount is None or outcome.mount.kv_version == 1) and "ttl" in document:
            return Read(document, now, ttl=int(seconds(body.get("lease_duration")) * 1000) or None)
        return Read(document, now, lease=lease)

    def _is_good(self, kept: Read) -> bool:
        now, lease = self.session.clock(), kept.lease
        if lease is not None and not self.session.has(lease.token):
            return False
        if now - kept.at < self.session.settings.cache_ttl / 1000:
            return True
        return lease is not None and lease.left(now) >= lease.duration * _LEFT_OF_A_LEASE
