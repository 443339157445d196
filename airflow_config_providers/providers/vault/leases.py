"""Leases of secrets that Vault issued for a time: held, renewed, and given back."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from airflow_config_providers.providers.vault.logins.login import seconds
from airflow_config_providers.providers.vault.renewal_rules import Renewal, when_to_renew
from airflow_config_providers.providers.vault.revocation import RevokeRequest

if TYPE_CHECKING:
    from airflow_config_providers.providers.vault.faults import VaultAnswer
    from airflow_config_providers.providers.vault.session import HeldToken, Session

_log = logging.getLogger(__name__)

_LOOKUP: Final = "sys/leases/lookup"
_RENEW: Final = "sys/leases/renew"


_LEFT: Final = 1 / 4
"""The part of its duration that a lease has at least; it is renewed before it has three tenths."""

_SECONDS_DENIED: Final = 3600.0
"""For how long Vault is not asked again about leases after it refused to answer; policies change."""

_LEAST: Final = 16
"""How many entries are kept, at least, before outdated ones are removed."""


@dataclass(slots=True, eq=False)
class Lease:
    """
    One lease.

    :param id: its name in Vault; anyone who knows it might be able to end it
    :param token: the token that it was leased with, and ends with
    :param duration: its first duration in seconds
    :param since: when it was issued or last renewed, by the session's clock
    :param current: seconds from then
    :param key: its key in the helper
    """

    id: str = field(repr=False)
    token: str = field(repr=False)
    duration: float
    since: float
    current: float
    key: int | None = None

    @property
    def expires(self) -> float:
        """When it ends, by the session's clock."""
        return self.since + self.current

    @property
    def good_until(self) -> float:
        """When it is replaced if someone needs it, by the session's clock; a lease that is renewed always has more."""
        return self.expires - self.duration * _LEFT

    def left(self, now: float) -> float:
        """Return the seconds that are left."""
        return max(0.0, self.expires - now)


class Leases:
    """
    The leases of one provider: renewed while it is open, given back when it is closed. Thread-safe.

    :param session: the session that reads them
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.forget()

    def forget(self) -> None:
        """In a forked child: leave them to the parent."""
        self._lock = threading.Lock()
        self._held: list[Lease] = []
        self._due = Doubling()
        self._is_closed = False
        self._no_lookup_before = -math.inf

    def __bool__(self) -> bool:
        return bool(self._ongoing(self._session.clock()))

    def add(self, body: Mapping[str, Any], *, token: HeldToken, since: float) -> Lease | None:
        """
        Keep the lease that came with an answer, and return it; None if there is none.

        :param since: when it was asked for, by the session's clock
        """
        id_, duration = body.get("lease_id"), seconds(body.get("lease_duration"))
        if not isinstance(id_, str) or not id_ or not duration:
            return None
        owed = RevokeRequest.of_lease(id_, token=token.text)  # after a kill, unless it ends with its token
        key = None if token.can_be_given_back else self._session.revocations.hold(owed)
        lease = Lease(id_, token.text, duration=duration, since=since, current=duration, key=key)
        with self._lock:
            is_closed, ended = self._is_closed, self._sweep(since)
            if not is_closed:
                self._held.append(lease)
        for one in ended:
            self._session.revocations.drop(one.key)
        if is_closed:  # while a thread was reading it
            if not self._session.has_given_back(token):
                self._session.give_back_lease(id_, token=token.text, key=key)
        elif body.get("renewable") is True:
            self._plan_renewal(lease)
        return lease

    def _sweep(self, now: float) -> list[Lease]:
        """
        Remove the leases that have ended, if there are enough leases for it, and return them.

        This is called with the lock held.
        """
        if not self._due.is_reached(len(self._held)):
            return []
        before, self._held = self._held, self._ongoing(now)
        self._due.sweep(len(self._held))
        return [lease for lease in before if not lease.left(now)]

    def _plan_renewal(self, lease: Lease) -> None:
        renewal, at = Renewal(self._session.where, "a lease"), when_to_renew(lease.since, lease.duration)
        self._session.plan_renewal(lease, at, lambda: self._renew(lease, renewal))
        if self._is_closed:  # perhaps after ``give_back`` has dropped it
            self._session.renewals.drop(lease)

    def give_back(self, *, session_ends: bool, until: float) -> None:
        """
        End them; raises nothing. If Vault cannot be asked for one, it is not asked for the others.

        :param until: how long to try while Vault has too many requests, by the session's clock
        :param session_ends: the login is given back afterwards, which ends the leases that go with it
        """
        with self._lock:
            held, self._held = self._ongoing(self._session.clock()), []
            self._is_closed = True
        for lease in held:
            self._session.renewals.drop(lease)
        open_ = [lease for lease in held if not (session_ends and self._session.ends_leases_of(lease.token))]
        for lease in open_:
            if not self._session.give_back_lease(lease.id, token=lease.token, key=lease.key, until=until):
                return

    def is_known(self, lease: Lease) -> bool:
        """
        Ask Vault whether it still has ``lease``, and return False if it was revoked; True if Vault may not be asked.

        :raises AccessDeniedError: the token has ended, and there is no other one
        :raises ProviderUnavailableError: Vault cannot answer now
        """
        if self._session.clock() < self._no_lookup_before:
            return True
        token = self._session.token()
        if token.text != lease.token:
            return False
        answer = self._session.transport.post(_LOOKUP, {"lease_id": lease.id}, token=token.text)
        if answer.is_denied:
            return not self._session.replaces(token, answer) and self._may_not_look_up(answer)
        if answer.says_lease_has_ended or _has_no_time_left(answer):
            self._end(lease)
            return False
        return True

    def _may_not_look_up(self, answer: VaultAnswer) -> bool:
        """Look up no lease for a while, log that, and return True: as far as is known, Vault has the lease."""
        self._no_lookup_before = self._session.clock() + _SECONDS_DENIED
        _log.info(
            "%s: the login may not look up leases (%s), so a lease that was revoked is noticed when it would be "
            "renewed. Let a policy update '%s'.",
            self._session.where,
            answer.shown,
            _LOOKUP,
        )
        return True

    def _end(self, lease: Lease) -> None:
        """Remember that Vault has ended ``lease``: it is neither used nor renewed nor given back."""
        lease.current = 0.0
        self._session.renewals.drop(lease)
        self._session.revocations.drop(lease.key)

    def _ongoing(self, now: float) -> list[Lease]:
        return [lease for lease in self._held if lease.left(now)]

    def _renew(self, lease: Lease, renewal: Renewal) -> float | None:
        now, former_end = self._session.clock(), lease.expires
        body = {"lease_id": lease.id, "increment": int(lease.duration)}
        answer = renewal.ask(lambda: self._session.transport.post(_RENEW, body, token=lease.token))
        duration = seconds(answer.body.get("lease_duration")) if answer and answer.is_good else 0.0
        if not duration:
            if answer and answer.says_lease_has_ended:
                self._end(lease)
            return renewal.failed(answer, now=self._session.clock(), expires=former_end)
        lease.since, lease.current = now, duration
        return renewal.done(now=now, ttl=duration, former_end=former_end)


def _has_no_time_left(answer: VaultAnswer) -> bool:
    """Return whether a lookup shows that a lease is about to be removed."""
    data = answer.data
    return isinstance(data, Mapping) and "ttl" in data and not seconds(data["ttl"])


class Doubling:
    """Says that a collection has as many entries as twice those that were left when it was last swept."""

    def __init__(self) -> None:
        self._most = _LEAST

    def is_reached(self, entries: int) -> bool:
        """Return whether so many entries are to be swept."""
        return entries >= self._most

    def sweep(self, left: int) -> None:
        """Take note that outdated entries were removed, and how many are left."""
        self._most = max(_LEAST, 2 * left)
