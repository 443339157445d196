"""The secrets that a provider has read: returned again for a while, and read anew in time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from airflow_config_providers.core.concurrency.shared_calls import SingleFlight
from airflow_config_providers.providers.vault.leases import Doubling, Lease, Leases
from airflow_config_providers.providers.vault.logins.login import seconds
from airflow_config_providers.providers.vault.paths import VaultPath
from airflow_config_providers.providers.vault.reader import VaultOutcome, VaultReader, Versions, reason_of_absence
from airflow_config_providers.providers.vault.renewal_rules import when_to_retry
from airflow_config_providers.providers.vault.session import SESSIONS, Sessions

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.session import Session
    from airflow_config_providers.providers.vault.settings import VaultSettings


_K = TypeVar("_K")
_V = TypeVar("_V")


class Swept(Generic[_K, _V]):
    """
    Entries of which only good ones are worth keeping. Thread-safe.

    Outdated entries are removed when there are enough for it, see ``Doubling``. Until then, ``get`` returns them too.

    :param is_good: whether an entry is not outdated; called with the lock held
    """

    def __init__(self, is_good: Callable[[_V], bool]) -> None:
        self._is_good = is_good
        self.forget()

    def forget(self) -> None:
        """In a forked child: begin with nothing, and with a lock that no thread of the parent holds."""
        self._lock = threading.Lock()
        self._kept: dict[_K, _V] = {}
        self._due = Doubling()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: _K) -> _V | None:
        """Return the entry under ``key``; None if there is none."""
        return self._kept.get(key)

    def keep(self, key: _K, entry: _V) -> None:
        """Keep ``entry`` under ``key``, even if it is outdated already."""
        with self._lock:
            if self._due.is_reached(len(self._kept)):
                self._kept = {k: kept for k, kept in self._kept.items() if self._is_good(kept)}
                self._due.sweep(len(self._kept))
            self._kept[key] = entry

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            self._kept.clear()


@dataclass(frozen=True, slots=True)
class CachedSecret:
    """
    A secret at a path, or the reason why there is none.

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
        left_of_token = session.seconds_left_of(self.lease.token)
        return max(0, int(left if left_of_token is None else min(left, left_of_token)) * 1000)


class SecretCache:
    """
    The secrets of one provider and the leases that came with them. Thread-safe; a forked child begins anew.

    A secret is returned again for ``cache_ttl`` milliseconds, and one with a lease for as long as the lease is good, so
    that user and password belong together. A missing or refused secret is asked for again.

    :ivar when_leased: called with the path when a secret with a lease was read
    """

    def __init__(self, settings: VaultSettings, sessions: Sessions = SESSIONS) -> None:
        self._sessions = sessions
        self._flights = SingleFlight(patience=None, asks_again=True)
        self._kept: Swept[VaultPath, CachedSecret] = Swept(self._is_good)
        self.session = sessions.join(settings, self)
        self.when_leased: Callable[[VaultPath], object] = lambda path: None
        self._leases = Leases(self.session)
        self._reader = VaultReader(self.session)
        self._versions = Versions(self._reader)

    def forget(self) -> None:
        """In a forked child: leave everything of the parent to the parent."""
        self._flights = SingleFlight(patience=None, asks_again=True)
        self._kept.forget()
        self._leases.forget()

    def get(self, path: VaultPath) -> CachedSecret:
        """Return the secret at ``path``. Threads that ask at the same time share one request."""
        kept = self._kept.get(path)
        if kept is not None and self._is_good(kept):
            return kept
        return self._flights.run(path, lambda: self._fresh(path, self._is_good))

    def poll(self, path: VaultPath, mark: Hashable | None) -> tuple[CachedSecret | None, Hashable | None]:
        """
        Return the secret at ``path`` as it is in Vault now, and a mark of its version; None if that is still ``mark``.

        A secret with a lease is returned again while the lease is good and Vault still has it.
        """
        kept = self._kept.get(path)
        if kept is not None and kept.lease and self._is_good_lease(kept) and self._leases.is_known(kept.lease):
            return kept, None
        new_mark = self._versions.mark(path)
        if new_mark is None:
            return self._flights.run(path, lambda: self._fresh(path, self._is_good_lease)), None
        if new_mark == mark:
            return None, mark
        return self._fetched(path), new_mark  # not another thread's answer, which can be older than the mark

    def lease(self, path: VaultPath) -> Lease | None:
        """Return the lease of the secret at ``path``; None if the secret has no lease, or is not in the cache."""
        kept = self._kept.get(path)
        return None if kept is None else kept.lease

    def good_until(self, lease: Lease) -> float:
        """Return when ``lease`` must be replaced, unless it is renewed before."""
        return min(lease.good_until, self.session.used_until(lease.token))

    def keep_leases(self, *, is_left: bool) -> None:
        """Do the same as the provider's; without a lease, the login is given back in any case."""
        if not is_left or self._leases:
            self.session.revocations.leave(is_left=is_left)

    def close(self) -> None:
        """Revoke the leases and, if no other provider uses it, the login. Raises nothing."""
        self._kept.clear()
        is_last = self._sessions.leave(self.session, self)
        until = self.session.revocations.end_of_waiting()
        self._leases.give_back(session_ends=is_last, until=until)
        if is_last:
            self.session.close(until=until)

    def _fresh(self, path: VaultPath, is_good: Callable[[CachedSecret], bool]) -> CachedSecret:
        """Return what another thread has read in the meantime, if it is good, or else ask."""
        kept = self._kept.get(path)
        return kept if kept is not None and is_good(kept) else self._fetched(path)

    def _fetched(self, path: VaultPath) -> CachedSecret:
        outcome = self._reader.read(path)
        if not outcome.answer.is_good:
            reason = reason_of_absence(outcome, path, where=self.session.where)
            return CachedSecret({}, self.session.clock(), absence=reason)
        read = self._read(outcome)
        self._kept.keep(path, read)
        if read.lease is not None:
            self.when_leased(path)
        return read

    def _read(self, outcome: VaultOutcome) -> CachedSecret:
        body, document, now = outcome.answer.body, outcome.document, self.session.clock()
        lease = self._leases.add(body, token=outcome.token, since=outcome.since)
        if lease is not None:
            self.session.learn_end_of(outcome.token)
        if lease is None and (outcome.mount is None or outcome.mount.kv_version == 1) and "ttl" in document:
            return CachedSecret(document, now, ttl=int(seconds(body.get("lease_duration")) * 1000) or None)
        return CachedSecret(document, now, lease=lease)

    def _is_good(self, kept: CachedSecret) -> bool:
        if kept.lease is not None:
            return self._is_good_lease(kept)
        return self.session.clock() - kept.at < self.session.settings.cache_ttl / 1000

    def _is_good_lease(self, kept: CachedSecret) -> bool:
        return kept.lease is not None and self.session.clock() < self.good_until(kept.lease)


class LeaseWatch:
    """
    Has a path read when the lease of its values must be replaced: it can be renewed no longer, or its login ends.

    It looks at what is known here, and asks Vault nothing. Thread-safe.

    :param cache: holds the leases
    """

    def __init__(self, cache: SecretCache) -> None:
        self._cache = cache
        self._paths: dict[str, VaultPath] = {}
        self._followed: dict[VaultPath, str] = {}
        self._touch: Callable[[str], None] = lambda path: None
        cache.when_leased = self._look_in_time

    def follow(self, paths: Collection[str], touch: Callable[[str], None]) -> None:
        """Call ``touch(path)`` when the lease of a path must be replaced."""
        known, self._touch = self._paths, touch
        self._paths = {text: known.get(text) or VaultPath.parse(text) for text in paths}
        if known.keys() - self._paths.keys():
            before, self._followed = self._followed, {path: text for text, path in self._paths.items()}
            for path in before.keys() - self._followed.keys():
                self._cache.session.renewals.drop((self, path))
        for text in self._paths.keys() - known.keys():  # the others are not parsed again, as there can be thousands
            self._followed[self._paths[text]] = text
            self._look_in_time(self._paths[text])

    def _look_in_time(self, path: VaultPath) -> None:
        lease = self._cache.lease(path)
        if path in self._followed and lease is not None:
            self._cache.session.plan_renewal((self, path), self._cache.good_until(lease), lambda: self._look(path))

    def _look(self, path: VaultPath) -> float | None:
        """Return when to look again: the lease was renewed, or can still be if it cannot be replaced now."""
        lease, now = self._cache.lease(path), self._cache.session.clock()
        if lease is not None and self._cache.good_until(lease) > now:
            return self._cache.good_until(lease)
        self._touch(self._followed.get(path, ""))
        return None if lease is None else when_to_retry(now, lease.expires)
